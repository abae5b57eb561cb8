package dialect

import (
	"cmp"
	"strconv"
	"strings"
	"time"

	"github.com/askbus/askbus/pkg/ask"
)

// row is a row of the outcome table (dialects.md).
type row int

const (
	rowAnswered  row = iota
	rowResponse      // answered with one free response only
	rowCancelled     // cancelled by an option
	rowDeclined      // cancelled as a whole
	rowWithdrawn
	rowAborted
	rowExpired
	rowDefault // expired, with declared defaults
)

func rowOf(o *ask.Outcome) row {
	switch o.Status {
	case ask.StatusAnswered:
		if o.Response != "" && len(valued(o.Answers)) == 0 {
			return rowResponse
		}
		return rowAnswered
	case ask.StatusCancelled:
		if o.CancelledBy != nil {
			return rowCancelled
		}
		return rowDeclined
	case ask.StatusWithdrawn:
		return rowWithdrawn
	case ask.StatusExpired:
		if o.Source == ask.SourceDefault && len(valued(o.Answers)) > 0 {
			return rowDefault
		}
		return rowExpired
	case ask.StatusAborted:
	}
	return rowAborted
}

// decided reports whether the row carries answers.
func (r row) decided() bool {
	return r == rowAnswered || r == rowResponse || r == rowCancelled || r == rowDefault
}

// beside says what a model must read in addition to the answers: that they
// cancel the ask, or are not a person's. Without answers it says why.
func beside(a *ask.Ask, o *ask.Outcome) string {
	if r := rowOf(o); o.Source != ask.SourcePolicy && (r == rowAnswered || r == rowResponse) {
		return ""
	}
	return sentence(a, o)
}

// valued returns the answers that have a value.
func valued(answers []ask.Answer) []ask.Answer {
	var some []ask.Answer
	for _, ans := range answers {
		if !ans.Empty() {
			some = append(some, ans)
		}
	}
	return some
}

// chosen returns the answers of an outcome, including a cancelling option.
func chosen(o *ask.Outcome) []ask.Answer {
	if c := o.CancelledBy; c != nil {
		return []ask.Answer{{QuestionID: c.QuestionID, Selected: []string{c.OptionID}}}
	}
	return o.Answers
}

// answerTo returns the answer with a value to this question, or nil.
func answerTo(o *ask.Outcome, q *ask.Question) *ask.Answer {
	for _, ans := range chosen(o) {
		if ans.QuestionID == q.ID && !ans.Empty() {
			return &ans
		}
	}
	return nil
}

// sentence says how the ask ended, for a model to read. Unlike
// [ask.Outcome.Ending], which people read, it says what was not decided.
func sentence(a *ask.Ask, o *ask.Outcome) string {
	switch rowOf(o) {
	case rowAnswered, rowResponse:
		if together := voted(a, o); together != "" {
			return together
		}
		return say(a, "answered by %s", who(a, o))
	case rowCancelled:
		return say(a, "cancelled by %s: the chosen option %q cancels the whole ask; nothing else was decided", who(a, o), cancelLabel(a, o))
	case rowDeclined:
		return say(a, "declined: %s (by %s); no decision was made", cmp.Or(o.Reason, say(a, "no reason was given")), strings.TrimSpace(who(a, o)))
	case rowWithdrawn:
		return say(a, "withdrawn before anybody answered%s; no decision was made", because(a, o))
	case rowExpired:
		return say(a, "nobody answered by %s; no decision was made", due(a, o))
	case rowDefault:
		return say(a, "nobody answered by %s; these are the defaults that the ask declared, not a human's answer", due(a, o))
	case rowAborted:
	}
	return say(a, "aborted before anybody answered%s; no decision was made", because(a, o))
}

// voted says whose votes decided an ask, or that one person did alone; empty: it needed
// none.
func voted(a *ask.Ask, o *ask.Outcome) string {
	decided := cmp.Or(o.Ask, a)
	if decided.Approval == nil { // that of a policy is in the outcome only
		return ""
	}
	told := *o
	told.Ask = decided
	switch told.Alone() {
	case ask.ChoiceApprove:
		return say(a, "approved by %s alone (break-glass): %s", who(a, o), o.BreakGlass.Reason)
	case ask.ChoiceDeny:
		return say(a, "denied by %s alone (break-glass): %s", who(a, o), o.BreakGlass.Reason)
	case ask.ChoiceWithdrawn, ask.ChoiceRevoked:
	}
	t := decided.Tally(o.Votes, o.At)
	if t.Decision == "" {
		return ""
	}
	return t.Words(a.Language())
}

func because(a *ask.Ask, o *ask.Outcome) string {
	if o.Reason == "" {
		return ""
	}
	return say(a, ": %s", o.Reason)
}

// who names the person who acted, and where.
func who(a *ask.Ask, o *ask.Outcome) string {
	if o.Source == ask.SourcePolicy {
		return say(a, "a policy, not a human")
	}
	if o.By == nil {
		return say(a, "somebody")
	}
	if a.Language() == "zh" && o.By.Responder != "" {
		by := ask.By{Name: o.By.Name, Principal: o.By.Principal}
		return say(a, "%s (%s)", by.Words(), ask.SurfaceWordsIn("zh", o.By.Responder))
	}
	return o.By.Words()
}

func due(a *ask.Ask, o *ask.Outcome) string {
	at := a.Deadline
	if at.IsZero() {
		at = o.At
	}
	return at.UTC().Format(time.RFC3339)
}

func cancelLabel(a *ask.Ask, o *ask.Outcome) string {
	if option := o.CancelledBy.Option(a); option != nil {
		return option.Label
	}
	return o.CancelledBy.OptionID
}

// asides says what a shape with bare answers cannot hold: notes, a response in
// addition to answers, and labels that its separator would make ambiguous.
func asides(a *ask.Ask, o *ask.Outcome, separator string) string {
	var lines []string
	for i := range a.Questions {
		q := &a.Questions[i]
		ans := o.Answer(q.ID)
		if ans == nil {
			continue
		}
		if separator != "" && blurs(q, *ans, separator) {
			lines = append(lines, say(a, "The answers to %q, each in quotes: %s.", clip(q.Text), quoted(q.Labels(*ans))))
		}
		if ans.Notes != "" {
			lines = append(lines, say(a, "A note on %q: %s", clip(q.Text), ans.Notes))
		}
	}
	if o.Response != "" && rowOf(o) == rowAnswered {
		lines = append(lines, say(a, "And for the whole ask: %s", o.Response))
	}
	return strings.Join(lines, "\n")
}

// remarks returns the asides, preceded by how the ask ended if the answers
// alone would mislead.
func remarks(a *ask.Ask, o *ask.Outcome, separator string) string {
	aside := asides(a, o, separator)
	return strings.TrimSpace(beside(a, o) + "\n" + aside)
}

// Report says in words how an ask ended and what was answered, for a model to
// read: one line for the end, and one for each question.
func Report(a *ask.Ask, o *ask.Outcome) string {
	lines := []string{sentence(a, o)}
	if o.Response != "" {
		lines = append(lines, say(a, "Their reply to the whole ask: %s", o.Response))
	}
	if r := rowOf(o); !r.decided() || r == rowResponse {
		return strings.Join(lines, "\n")
	}
	for i := range a.Questions {
		q := &a.Questions[i]
		ans, given := answerTo(o, q), o.Answer(q.ID)
		if ans == nil {
			lines = append(lines, "- not answered: "+strconv.Quote(q.Text))
		} else {
			lines = append(lines, `- "`+escaped(q.Text)+`"="`+escaped(q.Words(*ans))+`"`)
		}
		if ans != nil && blurs(q, *ans, ",") {
			lines = append(lines, "  each in quotes: "+quoted(q.Labels(*ans)))
		}
		if given != nil && given.Notes != "" {
			lines = append(lines, "  user notes: "+given.Notes)
		}
	}
	return strings.Join(lines, "\n")
}

// escaped escapes what would end the quotes around a text.
func escaped(s string) string { return strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s) }

// blurs reports whether the joined labels could be taken for others.
func blurs(q *ask.Question, ans ask.Answer, separator string) bool {
	return q.Multiple && strings.Contains(strings.Join(q.Labels(ans), ""), strings.TrimSpace(separator))
}

func quoted(labels []string) string {
	quotes := make([]string, len(labels))
	for i, label := range labels {
		quotes[i] = strconv.Quote(label)
	}
	return strings.Join(quotes, ", ")
}

// hint tells a waiting agent what to do.
func (p Pending) hint(a *ask.Ask) string {
	if p.Hint != "" {
		return p.Hint
	}
	s := say(a, "nobody has answered yet; the ask stays open, so ask for the answer of %q again later", a.ID)
	if p.Location != "" {
		s += say(a, ", at the Location that came with this") // without the address, which may hold a token
	}
	return s
}
