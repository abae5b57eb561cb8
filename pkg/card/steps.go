package card

import (
	"errors"
	"fmt"
	"slices"

	"github.com/askbus/askbus/pkg/ask"
)

// Steps is a reply that a person gives one question after the other, such as with the buttons of a message.
// It is a value: its methods return the next one. The fields are all that it holds, so that a surface can
// store it where a restart does not lose it.
type Steps struct {
	Answers []ask.Answer `json:"answers,omitempty"` // to the first questions of the ask, in their order
	Chosen  []string     `json:"chosen,omitempty"`  // options of the next question so far, if it takes several
	Held    *ask.Answer  `json:"held,omitempty"`    // a destructive answer to the next question, until [DoConfirm]
}

// Next returns the question to answer next, or nil if the reply is complete: every question has an answer, or
// an option was chosen that ends the whole ask.
func (s Steps) Next(c *Card) *Question {
	if len(s.Answers) >= len(c.Questions) {
		return nil
	}
	if _, by, err := c.ask.Check(ask.Reply{Answers: s.Answers}); err == nil && by != nil {
		return nil
	}
	return &c.Questions[len(s.Answers)]
}

// Do is what a [Button] does.
type Do int

// What buttons do.
const (
	DoNothing  Do = iota // the button is not of the next question
	DoChoose             // answers with an option, or gains or loses it if the question takes several
	DoContinue           // answers with the options chosen so far, or skips the question
	DoType               // asks for words, for [Steps.Type]
	DoDecline            // declines the whole ask
	DoTakeBack           // takes the person's vote back
	DoConfirm            // gives the destructive answer that is held, or drops it
)

// Button is a button of a question.
type Button struct {
	Do          Do
	Label       string
	Data        string // for [Steps.Press], at most 10 bytes
	Recommended bool
}

// maxButtons bounds the options that are buttons; of a question with more, none is.
const maxButtons = 40

// Buttons returns the buttons of the next question.
func (s Steps) Buttons(c *Card) (all []Button) {
	q := s.Next(c)
	if q == nil {
		return nil
	}
	add := func(do Do, option int, label string, recommended bool) {
		all = append(all, Button{do, label, fmt.Sprintf("%d:%d:%d", do, q.Number-1, option), recommended})
	}
	if s.Held != nil {
		add(DoConfirm, 0, c.Say("Yes: %s", c.Destructive([]ask.Answer{*s.Held})), false)
		add(DoConfirm, 1, c.Say("Back"), false)
		return all
	}
	options := q.Options
	if len(options) > maxButtons || q.Unknown {
		options = nil
	}
	for i := range options {
		if options[i].Withheld {
			continue
		}
		label := options[i].Label
		switch {
		case q.Multiple && slices.Contains(s.Chosen, options[i].ID):
			label = "☑ " + label
		case q.Multiple:
			label = "☐ " + label
		}
		add(DoChoose, i, label, options[i].Recommended)
	}
	if q.Multiple && len(options) > 0 && c.Withheld == "" {
		add(DoContinue, 0, c.Say("Send"), false)
	}
	switch {
	case c.Withheld != "":
	case len(options) == 0:
		add(DoType, 0, c.Say("Answer…"), false)
	case q.Other != nil:
		add(DoType, 0, c.Say("Other…"), false)
	}
	if q.Optional && c.Withheld == "" {
		add(DoContinue, 1, c.Say("Skip"), false)
	}
	add(DoDecline, 0, c.Say("Decline"), false)
	if c.Approval != nil && c.Approval.TakeBack != "" {
		add(DoTakeBack, 0, c.Approval.TakeBack, false)
	}
	return all
}

// Press carries out a button of a question by its data, which may be anything. With [DoNothing] the button is of
// a later question than the next, such as after a restart: show the next. A button of an earlier question
// answers that one again.
func (s Steps) Press(c *Card, data string) (Steps, Do) {
	var do Do
	var n, option int
	if _, err := fmt.Sscanf(data, "%d:%d:%d", &do, &n, &option); err != nil {
		return s, DoNothing
	}
	s, ok := s.Back(n)
	if !ok {
		return s, DoNothing
	}
	q := s.Next(c)
	if q == nil {
		return s, DoNothing
	}
	switch do {
	case DoChoose:
		if option < 0 || option >= len(q.Options) {
			return s, DoNothing
		}
		return s.choose(q, q.Options[option].ID), do
	case DoContinue:
		if option > 0 {
			s.Chosen = nil
		}
		return s.give(q, ask.Answer{QuestionID: q.ID, Selected: s.Chosen, Skipped: len(s.Chosen) == 0 && q.Optional}), do
	case DoConfirm:
		if s.Held == nil || option > 0 {
			return Steps{Answers: s.Answers}, do
		}
		return s.Answer(*s.Held), do
	case DoType, DoDecline, DoTakeBack:
		return s, do
	case DoNothing:
	}
	return s, DoNothing
}

func (s Steps) choose(q *Question, id string) Steps {
	switch {
	case q.Kind == ask.KindBoolean:
		return s.Answer(ask.Answer{QuestionID: q.ID, Boolean: new(id == Yes)})
	case !q.Multiple:
		return s.give(q, ask.Answer{QuestionID: q.ID, Selected: []string{id}})
	}
	chosen := slices.DeleteFunc(slices.Clone(s.Chosen), func(one string) bool { return one == id })
	if len(chosen) == len(s.Chosen) {
		chosen = append(chosen, id)
	}
	return Steps{Answers: s.Answers, Chosen: chosen}
}

// give answers the next question, or holds an answer with a destructive option until it is confirmed.
func (s Steps) give(q *Question, ans ask.Answer) Steps {
	if slices.ContainsFunc(q.Options, func(o Option) bool { return o.Destructive && slices.Contains(ans.Selected, o.ID) }) {
		return Steps{Answers: s.Answers, Chosen: s.Chosen, Held: &ans}
	}
	return s.Answer(ans)
}

// Answer answers the next question.
func (s Steps) Answer(ans ask.Answer) Steps {
	return Steps{Answers: append(slices.Clip(s.Answers), ans)}
}

// Type answers the next question with typed words, by the rules of [ask.Question.ParseReply]. The error says in
// the card's language what the words lack.
func (s Steps) Type(c *Card, words string) (Steps, error) {
	q := s.Next(c)
	if q == nil {
		return s, nil
	}
	ans, err := c.ask.Questions[q.Number-1].ParseReply(words)
	if e, ok := errors.AsType[*ask.ReplyError](err); ok {
		return s, errors.New(e.In(c.Lang))
	}
	if err != nil {
		return s, err
	}
	ans.QuestionID = q.ID
	return s.give(q, ans), nil
}

// Lacks returns what a complete reply lacks, such as the reason of a vote, which [Steps.Note] then adds; "" if nothing.
func (s Steps) Lacks(c *Card) string {
	n := len(s.Answers) - 1
	if n < 0 || c.Approval == nil || s.Answers[n].Notes != "" || !c.ask.Approves(&s.Answers[n]) {
		return ""
	}
	return c.Approval.Reason
}

// Note adds a note to the last answer.
func (s Steps) Note(words string) Steps {
	all := slices.Clone(s.Answers)
	if n := len(all) - 1; n >= 0 {
		all[n].Notes = words
	}
	return Steps{Answers: all}
}

// Back returns the steps before the answer to question n, from 0, and whether there are as many.
func (s Steps) Back(n int) (Steps, bool) {
	switch {
	case n == len(s.Answers):
		return s, true
	case n < 0 || n > len(s.Answers):
		return s, false
	}
	return Steps{Answers: s.Answers[:n]}, true
}

// Review returns the answers so far.
func (s Steps) Review(c *Card) []Line {
	d := c.Draft()
	for _, ans := range s.Answers {
		d.Set(ans)
	}
	lines := d.Review()
	return lines[:min(len(s.Answers), len(lines))]
}
