package slack

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/askbus/askbus/internal/answering/chat"
	"github.com/askbus/askbus/internal/process/lang"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/card"
	slackapi "github.com/slack-go/slack"
)

// Callback ids of modals.
const (
	callbackAnswer  = "answer"
	callbackDecline = "decline"
)

// fieldValue is the action id of every field of a modal. Their block ids are the names of [chat.Fields].
const fieldValue = "value"

// modalRef is the private metadata of a modal: the ask, and the card from which it was opened.
type modalRef struct {
	Target  string `json:"t"`
	Channel string `json:"c,omitempty"`
	TS      string `json:"m,omitempty"`
	Thread  string `json:"h,omitempty"`
}

func (m modalRef) String() string {
	data, _ := json.Marshal(m) // strings always marshal
	return string(data)
}

func parseModalRef(s string) (modalRef, chat.Ref, bool) {
	var m modalRef
	if json.Unmarshal([]byte(s), &m) != nil {
		return m, chat.Ref{}, false
	}
	t, ok := chat.ParseRef(m.Target)
	return m, t, ok
}

func (m modalRef) message() message { return message{Channel: m.Channel, ID: m.TS, Thread: m.Thread} }

// answerModal returns the form with every question of an ask.
func answerModal(a asked, from modalRef) slackapi.ModalViewRequest {
	var blocks []slackapi.Block
	c := a.Card
	if from.TS == "" { // of the Home tab: nothing else shows what it is about
		blocks, _ = said(a)
	} else if c.Title != "" {
		blocks = append(blocks, slackapi.NewSectionBlock(mrkdwn("*"+escape(c.Title)+"*", maxSection), nil, nil))
	}
	for i := range c.Questions {
		blocks = append(blocks, questionFields(c, &c.Questions[i], a.Chosen)...)
	}
	if chat.Destroys(c) {
		tick := slackapi.NewOptionBlockObject("yes", plain(c.Say("Yes, I choose a destructive option"), maxOptionText), nil)
		sure := slackapi.NewInputBlock(chat.FieldSure, plain(c.Say("Are you sure?"), 2000), plain(c.Say("Only needed for an option that is marked destructive."), 2000), slackapi.NewCheckboxGroupsBlockElement(fieldValue, tick))
		sure.Optional = true
		blocks = append(blocks, sure)
	}
	send := c.Say("Send")
	if c.Approval != nil {
		send = c.Approval.Send
	}
	return modal(c, callbackAnswer, c.Say("Answer"), send, fitView(blocks), from)
}

// questionFields returns a question's inputs: the answer, an Other text, a note.
func questionFields(c *card.Card, q *card.Question, chosen string) []slackapi.Block {
	only := len(c.Questions) == 1
	n := strconv.Itoa(q.Number - 1)
	label := card.InlinePlain(q.Text)
	if q.Step != "" {
		label = q.Step + " · " + label
	}
	element := field(c, q, chosen)
	if element == nil {
		return nil
	}
	input := slackapi.NewInputBlock(chat.FieldAnswer+n, plain(label, 2000), nil, element)
	if q.Hint != "" {
		input.Hint = plain(q.Hint, 2000)
	}
	input.Optional = q.Optional || q.Other != nil && !otherListed(q)
	blocks := []slackapi.Block{input}
	if q.Other != nil {
		other := slackapi.NewPlainTextInputBlockElement(nil, fieldValue)
		other.MaxLength = 3000
		b := slackapi.NewInputBlock(chat.FieldOther+n, plain(q.Other.Label, 2000), plain(c.Say("An answer of your own instead of the options, or beside them where several may be chosen."), 2000), other)
		b.Optional = true
		blocks = append(blocks, b)
	}
	if only || q.Kind == ask.KindChoice {
		note := slackapi.NewPlainTextInputBlockElement(nil, fieldValue)
		note.MaxLength, note.Multiline = 3000, true
		b := slackapi.NewInputBlock(chat.FieldNote+n, plain(c.Say("Note"), 2000), nil, note)
		b.Optional = true
		if c.Approval != nil {
			b.Label = plain(c.Approval.Note, 2000)
			if c.Approval.Reason != "" {
				b.Hint = plain(c.Approval.Reason, 2000)
			}
		}
		blocks = append(blocks, b)
	}
	return blocks
}

// otherListed reports whether the form lists an answer of one's own as an option, so that the question needs no
// "(optional)" when it is required.
func otherListed(q *card.Question) bool {
	return q.Other != nil && !q.Optional && len(q.Options) > 0 && len(q.Options) < maxSelect
}

// field returns the input element of a question's answer.
func field(c *card.Card, q *card.Question, chosen string) slackapi.BlockElement {
	switch q.Kind {
	case ask.KindChoice, ask.KindBoolean:
		list := options(q, maxOptionText, true)
		if otherListed(q) {
			list = append(list, slackapi.NewOptionBlockObject(chat.ChosenOther, plain(c.Say("Other…"), maxOptionText), nil))
		}
		var begun *slackapi.OptionBlockObject
		if at := slices.IndexFunc(q.Options, func(o card.Option) bool { return o.ID == chosen }); chosen != "" && at >= 0 {
			begun = list[at]
		}
		switch {
		case len(list) == 0:
			return textField(q)
		case q.Multiple && len(list) <= maxChecks:
			return slackapi.NewCheckboxGroupsBlockElement(fieldValue, list...)
		case q.Multiple:
			return slackapi.NewOptionsMultiSelectBlockElement(slackapi.MultiOptTypeStatic, plain(c.Say("Choose…"), 150), fieldValue, list...)
		case len(list) <= maxChecks:
			radio := slackapi.NewRadioButtonsBlockElement(fieldValue, list...)
			radio.InitialOption = begun
			return radio
		}
		one := slackapi.NewOptionsSelectBlockElement(slackapi.OptTypeStatic, plain(c.Say("Choose…"), 150), fieldValue, list...)
		one.InitialOption = begun
		return one
	case ask.KindText:
		return textField(q)
	case ask.KindNumber:
		return slackapi.NewNumberInputBlockElement(placeholder(q), fieldValue, !q.Limits.Integer)
	case ask.KindDate:
		return slackapi.NewDatePickerBlockElement(fieldValue)
	}
	return nil
}

// textField has only Slack's own limit: we report violations of the question's limits in our words.
func textField(q *card.Question) slackapi.BlockElement {
	text := slackapi.NewPlainTextInputBlockElement(placeholder(q), fieldValue)
	text.Multiline, text.MaxLength = q.Long, 3000
	return text
}

func placeholder(q *card.Question) *slackapi.TextBlockObject {
	if q.Placeholder == "" {
		return nil
	}
	return plain(q.Placeholder, 150)
}

// declineModal asks for the reason.
func declineModal(a asked, from modalRef) slackapi.ModalViewRequest {
	reason := slackapi.NewPlainTextInputBlockElement(nil, fieldValue)
	reason.Multiline, reason.MaxLength = true, 3000
	input := slackapi.NewInputBlock(chat.FieldReason, plain(a.Card.Say("Why? The agent is told."), 2000), nil, reason)
	input.Optional = true
	blocks := []slackapi.Block{
		slackapi.NewSectionBlock(plain(card.Heading(&a.Record.Ask), maxSection), nil, nil),
		input,
	}
	return modal(a.Card, callbackDecline, a.Card.Say("Decline"), a.Card.Say("Decline"), blocks, from)
}

// noteModal shows a message.
func noteModal(l *lang.Language, title, text string) slackapi.ModalViewRequest {
	v := modal(l, "", title, "", []slackapi.Block{slackapi.NewSectionBlock(plain(text, maxSection), nil, nil)}, modalRef{})
	v.PrivateMetadata = ""
	return v
}

// speaker formats messages in a language: a card does, and so does a language.
type speaker interface {
	Say(text string, args ...any) string
}

func modal(l speaker, callback, title, submit string, blocks []slackapi.Block, from modalRef) slackapi.ModalViewRequest {
	v := slackapi.ModalViewRequest{
		Type: slackapi.VTModal, CallbackID: callback, Title: plain(title, 24), Close: plain(l.Say("Close"), 24),
		PrivateMetadata: from.String(), Blocks: slackapi.Blocks{BlockSet: blocks},
	}
	if submit != "" {
		v.Submit = plain(submit, 24)
	}
	return v
}

// values are the fields of a modal or a message, by block and action.
type values map[string]map[string]value

// value is the value of an element.
type value struct {
	Value           string   `json:"value"`
	SelectedDate    string   `json:"selected_date"`
	SelectedOption  *option  `json:"selected_option"`
	SelectedOptions []option `json:"selected_options"`
}

type option struct {
	Value string `json:"value"`
}

// text returns the value of an element as [chat.Fields] has it.
func (v *value) text() string {
	list := v.SelectedOptions
	if v.SelectedOption != nil {
		list = append(list, *v.SelectedOption)
	}
	numbers := make([]string, len(list))
	for i := range list {
		numbers[i] = list[i].Value
	}
	return v.Value + v.SelectedDate + strings.Join(numbers, ",") // an element has one of them
}

// fields returns what was filled in. The tick that confirms a destructive option has a value of its own.
func (vs values) fields() chat.Fields {
	f := chat.Fields{}
	for block, elements := range vs {
		v := elements[fieldValue]
		f[block] = v.text()
	}
	if f[chat.FieldSure] != "" {
		f[chat.FieldSure] = "true"
	}
	return f
}

// fieldFaults maps the broker's faults to the fields.
func fieldFaults(a *ask.Ask, c *card.Card, faults []ask.Fault) map[string]string {
	errs := map[string]string{}
	for _, again := range c.Faults(faults) {
		n := 0
		if again.Question != nil {
			n = again.Question.Number - 1
		}
		key := chat.FieldAnswer + strconv.Itoa(n)
		if c.Approval != nil {
			key = chat.FieldNote + strconv.Itoa(n) // the reason of a vote
		}
		if n < len(a.Questions) && errs[key] == "" {
			errs[key] = clip(again.Why, 2000)
		}
	}
	return errs
}
