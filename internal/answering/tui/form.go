package tui

import (
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/card"
)

// typing is the field that has the keyboard.
type typing int

const (
	typingNothing typing = iota
	typingValue          // the answer: a text, a number, a date or Other
	typingNote
	typingReply
	typingReason
	typingAlone // why one person decides alone
	typingFind  // an option in a long list
)

// field is the unfinished answer to one question.
type field struct {
	cursor int      // the option under the cursor; the last one may be Other
	chosen []string // ids of options
	other  bool     // Other is chosen
	value  editor   // the typed answer or Other
	note   editor
	find   editor // of a long list of options
	fault  string
}

// form is the unfinished answer to an ask. It survives updates and reconnects.
type form struct {
	rec    ask.Record
	fields []field
	step   int
	review bool
	typing typing
	reply  editor
	reason editor
	alone  editor // the reason of break-glass

	context   bool // the context is shown in full
	sending   bool
	answerID  string // of the sent answer, for retries
	end       *ask.Outcome
	overtaken bool // it ended while somebody typed: what they go on typing is for it, and acts on nothing else
	touched   bool
	sentHere  bool // this form's answer ended the ask
	message   string
	scroll    int
	fresh     bool   // a digit has just brought up this question
	destroys  string // the destructive options that Enter found; the confirm key sends them
	breaking  bool   // the reason of break-glass is complete; the confirm key sends it
	kept      []byte // the draft as it is stored; nil: it is not
	file      string // where
}

func newForm(rec ask.Record, context bool) *form {
	f := &form{rec: rec, end: rec.Outcome, context: context, reply: editor{many: true}, reason: editor{many: true}, alone: editor{many: true}}
	f.fields = make([]field, len(rec.Ask.Questions))
	for i := range f.fields {
		f.fields[i].note.many = true
		f.fields[i].value.many = rec.Ask.Questions[i].Kind == ask.KindText
	}
	return f
}

// inherit takes over what was typed and not sent for an earlier ask of the same questions, and reports whether there is any.
func (f *form) inherit(old *form) bool {
	if old == nil || old.sentHere || f.end != nil || len(old.begun()) == 0 || len(old.fields) != len(f.fields) {
		return false
	}
	for i := range f.fields {
		if q, was := &f.rec.Ask.Questions[i], &old.rec.Ask.Questions[i]; q.ID == was.ID && q.Kind == was.Kind {
			f.fields[i].value.set(old.fields[i].value.String())
			f.fields[i].note.set(old.fields[i].note.String())
		}
	}
	f.reply.set(old.reply.String())
	f.reason.set(old.reason.String())
	f.alone.set(old.alone.String())
	f.touched = true
	return true
}

// begun returns the typed texts, field by field.
func (f *form) begun() []string {
	var texts []string
	take := func(e *editor) {
		if !e.empty() {
			texts = append(texts, trimmed(e))
		}
	}
	for i := range f.fields {
		take(&f.fields[i].value)
		take(&f.fields[i].note)
	}
	take(&f.reply)
	take(&f.reason)
	take(&f.alone)
	return texts
}

// grab focuses the answer's field if the answer can only be typed. Moving to an ask does not call
// it, so that keys for the list are not typed into the field.
func (f *form) grab() {
	if f.end == nil && !f.review && f.typing == typingNothing && typed(f.question()) {
		f.typing = typingValue
	}
}

func (f *form) question() *ask.Question { return &f.rec.Ask.Questions[f.step] }
func (f *form) field() *field           { return &f.fields[f.step] }

// optionCount returns the number of rows: the options and Other.
func optionCount(v *card.Question) int {
	n := len(v.Options)
	if v.Other != nil {
		n++
	}
	return n
}

// typed reports whether a question's answer can only be typed.
func typed(q *ask.Question) bool {
	return q.Kind == ask.KindText || q.Kind == ask.KindNumber || q.Kind == ask.KindDate || q.Kind == ask.KindChoice && len(q.Options) == 0
}

// enter moves to a question of the ask that is being answered.
func (f *form) enter(step int) {
	f.step, f.review, f.typing, f.scroll = step, false, typingNothing, 0
	f.grab()
}

// advance moves to the next question without an answer, if there is one after this one.
func (f *form) advance(lang string) {
	for i := f.step + 1; i < len(f.fields) && !f.cancels(); i++ {
		if ans, _ := f.answer(i, lang); ans.Empty() {
			f.enter(i)
			f.fresh = true
			return
		}
	}
}

// fits reports whether the filter shows the i-th row.
func (fl *field) fits(v *card.Question, i int) bool {
	if fl.find.empty() {
		return true
	}
	return i < len(v.Options) && strings.Contains(strings.ToLower(v.Options[i].Label), strings.ToLower(trimmed(&fl.find)))
}

// choose chooses the i-th option, or toggles it if several are allowed.
func (f *form) choose(v *card.Question, i int) {
	fl := f.field()
	fl.cursor, fl.fault, f.touched, f.destroys, f.breaking = i, "", true, "", false
	if i >= len(v.Options) {
		if v.Multiple && fl.other {
			fl.other = false
			return
		}
		if !v.Multiple {
			fl.chosen = nil
		}
		fl.other, f.typing = true, typingValue
		return
	}
	id := v.Options[i].ID
	at := slices.Index(fl.chosen, id)
	switch {
	case !v.Multiple:
		fl.chosen, fl.other = []string{id}, false
	case at >= 0:
		fl.chosen = slices.Delete(fl.chosen, at, at+1)
	default:
		fl.chosen = append(fl.chosen, id)
	}
}

// answer returns the answer of a field, or why it is invalid.
func (f *form) answer(i int, lang string) (ask.Answer, string) {
	q, fl := &f.rec.Ask.Questions[i], &f.fields[i]
	ans := ask.Answer{QuestionID: q.ID}
	switch q.Kind {
	case ask.KindChoice:
		for j := range q.Options { // in the order of the question
			if slices.Contains(fl.chosen, q.Options[j].ID) {
				ans.Selected = append(ans.Selected, q.Options[j].ID)
			}
		}
		if fl.other || len(q.Options) == 0 {
			ans.Other = trimmed(&fl.value)
		}
	case ask.KindBoolean:
		if len(fl.chosen) == 1 {
			yes, err := strconv.ParseBool(fl.chosen[0])
			if err == nil {
				ans.Boolean = &yes
			}
		}
	case ask.KindText, ask.KindNumber, ask.KindDate:
		if !fl.value.empty() {
			read, err := q.ParseReply(fl.value.String())
			if wrong, ok := errors.AsType[*ask.ReplyError](err); ok {
				return ans, ask.CleanLine(wrong.In(lang))
			}
			ans = read
		}
	default: // an unknown kind: only a reply to the whole ask is possible
	}
	ans.Skipped = q.Optional && ans.Empty()
	ans.Notes = trimmed(&fl.note)
	return ans, ""
}

// draft returns everything that would be sent.
func (f *form) draft(view *card.Card) *card.Draft {
	d := view.Draft()
	for i := range f.fields {
		ans, _ := f.answer(i, view.Lang)
		d.Set(ans)
	}
	return d
}

// check returns the reply and whether it can be sent. It marks faults and shows the first question
// with one.
func (f *form) check(view *card.Card) (ask.Reply, bool) {
	reply := ask.Reply{Answers: make([]ask.Answer, len(f.fields))}
	first := -1
	for i := range f.fields {
		ans, fault := f.answer(i, view.Lang)
		reply.Answers[i], f.fields[i].fault = ans, fault
		if fault != "" && first < 0 {
			first = i
		}
	}
	if first < 0 {
		if _, _, err := f.rec.Ask.Check(reply); err != nil {
			if refused, ok := errors.AsType[*ask.Error](err); ok {
				first = f.mark(view, refused.Faults)
			}
		}
	}
	if first >= 0 {
		f.enter(first)
		return reply, false
	}
	return reply, true
}

// mark sets the faults of the fields and returns the first question with one.
func (f *form) mark(view *card.Card, faults []ask.Fault) (first int) {
	first = len(f.fields)
	again := view.Faults(faults)
	for _, a := range again {
		if a.Question == nil {
			f.message = a.Why
			continue
		}
		i := a.Question.Number - 1
		f.fields[i].fault = a.Why
		first = min(first, i)
	}
	if first == len(f.fields) {
		first = 0
	}
	if f.message == "" && len(f.fields) > 1 {
		f.message = view.NotSent(again)
	}
	return first
}

// cancels reports whether the question's answer ends the whole ask, so that no further questions
// are asked.
func (f *form) cancels() bool {
	return slices.ContainsFunc(f.field().chosen, func(id string) bool {
		o := f.question().Option(id)
		return o != nil && o.Cancels
	})
}

// editor returns the text field that has the keyboard, or nil.
func (f *form) editor() *editor {
	switch f.typing {
	case typingValue:
		return &f.field().value
	case typingNote:
		return &f.field().note
	case typingReply:
		return &f.reply
	case typingReason:
		return &f.reason
	case typingAlone:
		return &f.alone
	case typingFind:
		return &f.field().find
	case typingNothing:
	}
	return nil
}
