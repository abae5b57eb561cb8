package slack

import (
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/askbus/askbus/internal/answering/chat"

	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/card"
	slackapi "github.com/slack-go/slack"
)

// controls returns the interactive elements of a card: the options of a single choice, otherwise a
// button that opens the modal.
func controls(a asked) []slackapi.Block {
	at := chat.Ref{Key: a.Card.Key, Life: a.Life}
	var blocks []slackapi.Block
	more := a.Card.Say("Answer…")
	if len(a.Card.Questions) == 1 {
		q := &a.Card.Questions[0]
		if chosen := smallChoices(a.Card, q, at); chosen != nil {
			blocks = append(blocks, chosen)
			more = a.Card.Say("Add a note…")
			switch {
			case q.Other != nil:
				more = a.Card.Say("Other…")
			case a.Card.Approval != nil:
				more = a.Card.Approval.Note + "…"
			}
		}
	}
	row := []slackapi.BlockElement{}
	if canModal(a.Card) {
		row = append(row, button(actionAnswer, more, at.String()))
	}
	row = append(row, button(actionDecline, a.Card.Say("Decline…"), at.String()))
	if a.Card.Approval != nil && a.Card.Approval.TakeBack != "" {
		row = append(row, button(actionUnvote, a.Card.Approval.TakeBack, at.String()))
	}
	if a.Link != "" {
		open := button(actionOpen, a.Card.Say("Open in browser"), "")
		open.URL = a.Link
		row = append(row, open)
	}
	return append(blocks, slackapi.NewActionBlock(at.Question()+"/more", row...))
}

// maxChoices bounds the bytes of the options' elements: the question's text needs the rest.
const maxChoices = 7000

// smallChoices returns the options with labels as short as necessary, or nil if only the modal has
// room for them.
func smallChoices(c *card.Card, q *card.Question, at chat.Ref) slackapi.Block {
	for _, most := range []int{maxOptionText, 28} {
		chosen := choices(c, q, at, most)
		if chosen == nil || size([]slackapi.Block{chosen}) <= maxChoices {
			return chosen
		}
	}
	return nil
}

// choices returns the options of the only question as elements, or nil if they do not fit.
func choices(c *card.Card, q *card.Question, at chat.Ref, most int) slackapi.Block {
	switch {
	case q.Unknown || len(q.Options) == 0:
		return nil
	case c.Withheld != "":
		return choiceButtons(c, q, at)
	case q.Multiple && len(q.Options) <= maxChecks:
		return slackapi.NewActionBlock(at.Question(), slackapi.NewCheckboxGroupsBlockElement(actionCheck, options(q, most, false)...), confirmed(c, q.Options, button(actionSend, c.Say("Send"), at.String())))
	case q.Multiple && len(q.Options) <= maxSelect:
		list := slackapi.NewOptionsMultiSelectBlockElement(slackapi.MultiOptTypeStatic, plain(c.Say("Choose…"), 150), actionCheck, options(q, most, false)...)
		return slackapi.NewActionBlock(at.Question(), list, confirmed(c, q.Options, button(actionSend, c.Say("Send"), at.String())))
	case q.Multiple || len(q.Options) > maxSelect:
		return nil
	case len(q.Options) > maxButtons:
		list := slackapi.NewOptionsSelectBlockElement(slackapi.OptTypeStatic, plain(c.Say("Choose…"), 150), actionSelect, options(q, most, false)...)
		if destroys(q.Options) {
			list.Confirm = confirmation(c, "")
		}
		return slackapi.NewActionBlock(at.Question(), list)
	}
	return choiceButtons(c, q, at)
}

// choiceButtons returns the options that can be chosen as buttons, or nil if there is none, or too many.
func choiceButtons(c *card.Card, q *card.Question, at chat.Ref) slackapi.Block {
	var row []slackapi.BlockElement
	numbers := numbered(q)
	for i := range q.Options {
		o := &q.Options[i]
		if o.Withheld {
			continue
		}
		label := card.InlinePlain(o.Label)
		if numbers {
			label = strconv.Itoa(i + 1)
		}
		one := at
		one.Option = o.ID
		b := button(actionChoose+":"+strconv.Itoa(i), label, one.String())
		b.AccessibilityLabel = clip(card.InlinePlain(o.Label), maxButton)
		if o.Recommended {
			b.Style = slackapi.StylePrimary
		}
		row = append(row, confirmed(c, q.Options[i:i+1], b))
	}
	if len(row) == 0 || len(row) > maxButtons {
		return nil
	}
	return slackapi.NewActionBlock(at.Question(), row...)
}

// destroys reports whether one of the options is destructive.
func destroys(options []card.Option) bool {
	return slices.ContainsFunc(options, func(o card.Option) bool { return o.Destructive })
}

// confirmed makes a button ask again if it may choose a destructive option.
func confirmed(c *card.Card, options []card.Option, b *slackapi.ButtonBlockElement) *slackapi.ButtonBlockElement {
	if !destroys(options) {
		return b
	}
	label := ""
	if len(options) == 1 {
		label = card.InlinePlain(options[0].Label)
	}
	b.Style, b.Confirm = slackapi.StyleDanger, confirmation(c, label)
	return b
}

// confirmation is the dialog in which a person confirms a destructive option; label is empty if it may be another one.
func confirmation(c *card.Card, label string) *slackapi.ConfirmationBlockObject {
	words := c.Say("An option here is destructive. Send your choice?")
	if label != "" {
		words = c.Say("“%s” is destructive. Choose it?", clip(label, 200))
	}
	dialog := slackapi.NewConfirmationBlockObject(plain(c.Say("Are you sure?"), 100), plain(words, 300), plain(c.Say("Yes"), 30), plain(c.Say("Back"), 30))
	dialog.Style = slackapi.StyleDanger
	return dialog
}

func button(action, label, value string) *slackapi.ButtonBlockElement {
	return slackapi.NewButtonBlockElement(action, value, plain(label, maxButton))
}

// options returns a question's options for a select, radio buttons or checkboxes. An option's value
// is its number, because an id may be too long. A card already shows the descriptions; a modal
// shows them with the options.
func options(q *card.Question, most int, described bool) []*slackapi.OptionBlockObject {
	list := make([]*slackapi.OptionBlockObject, len(q.Options))
	numbers := numbered(q)
	for i := range q.Options {
		o := &q.Options[i]
		label := card.InlinePlain(o.Label)
		if numbers || len(q.Options) > maxButtons {
			label = strconv.Itoa(i+1) + ". " + label
		}
		for _, mark := range o.Marks {
			label = clip(label, most-utf8.RuneCountInString(mark)-3) + " (" + mark + ")"
		}
		var description *slackapi.TextBlockObject
		if o.Description != "" && described {
			description = plain(chat.OneLine(card.InlinePlain(o.Description)), maxOptionText)
		}
		list[i] = slackapi.NewOptionBlockObject(strconv.Itoa(i), plain(label, most), description)
	}
	return list
}

// canModal reports whether the ask fits into the modal.
func canModal(c *card.Card) bool {
	unfit := func(q card.Question) bool { return q.Unknown || len(q.Options) > maxSelect }
	return c.Withheld == "" && !slices.ContainsFunc(c.Questions, unfit) && len(c.Questions) > 0 && c.Questions[0].Kind != ask.Kind("")
}
