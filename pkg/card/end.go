package card

import (
	"cmp"
	"strings"
	"time"

	"github.com/askbus/askbus/pkg/ask"
)

// End describes how an ask ended.
type End struct {
	Key      ask.Key
	Heading  string
	Status   ask.Status
	Lead     string // "Already answered", "Declined"; "Approved" or "Denied" by votes
	Who      string // "you", or a name; empty: nobody acted, or several people
	Mine     bool
	Where    string // "on Slack"
	At       Moment
	Ago      Moment
	Summary  string // the outcome in a few words
	Sentence string // "answered by Mei on Slack at 10:02"
	First    string // for a late answer: "Mei is first: PostgreSQL, on Slack, 3 s ago"; empty if several people decided
	Lines    []Line
	Detailed bool // the lines have more than the summary
	Answers  bool // there are answers, by a person or by default
	Reply    string
	Reason   string
	Alone    string // "Mei decided alone (break-glass): INC-77"; empty: nobody did

	words *catalogue
}

// NewEnd returns how an ask ended, or nil while it is pending.
func NewEnd(r *ask.Record, v Viewer, now time.Time) *End {
	if r.Outcome == nil {
		return nil
	}
	return newEnd(r, v, now)
}

func newEnd(r *ask.Record, v Viewer, now time.Time) *End {
	a, o, w := &r.Ask, r.Outcome, v.words()
	e := &End{
		Key: a.Key(), Heading: Heading(a), Status: o.Status, Who: v.who(o.By), Mine: v.is(o.By),
		At: v.When(o.At, now, Clock), Ago: v.When(o.At, now, Ago), Summary: summary(a, o, w), Reply: text(o.Response), Reason: text(o.Reason), words: w,
	}
	told := *o
	told.Ask = a // the stored outcome has no copy of its ask
	e.Sentence = line(w.ending(&told, v.By.Principal, e.At.Words))
	e.Answers = len(o.Answers) > 0
	if o.By != nil && o.By.Responder != "" {
		e.Where = line(w.place(o.By.Responder))
	}
	if a.Approval == nil && !e.Mine && e.Who != "" && e.Where != "" {
		e.First = fill(w.first, e.Who, e.Summary, e.Where, e.Ago.Words)
	}
	switch o.Status {
	case ask.StatusAnswered:
		if e.Lead = w.answered; a.Approval != nil {
			e.Lead, e.Who = w.decidedBy(cmp.Or(told.Alone(), a.Tally(o.Votes, o.At).Decision)), ""
		}
	case ask.StatusCancelled:
		e.Lead = w.declined
	case ask.StatusWithdrawn:
		if e.Lead = w.withdrawn; o.GaveUp() {
			e.Lead = w.gaveUp
		}
	case ask.StatusExpired:
		e.Lead = w.expired
	case ask.StatusAborted:
		e.Lead = w.aborted
	}
	if e.Alone = w.aloneWords(o, v.who(o.By)); e.Alone != "" {
		e.Who, e.Where, e.Reason = "", "", ""
	}
	e.lines(a, o, w)
	return e
}

func (e *End) lines(a *ask.Ask, o *ask.Outcome, w *catalogue) {
	for i := range a.Questions {
		q := &a.Questions[i]
		l := Line{Question: text(q.Text), Answer: said(q, o.Answer(q.ID), w)}
		if ans := o.Answer(q.ID); ans != nil && (a.Approval == nil || o.BreakGlass != nil) { // that of a vote is shown with the vote
			l.Note, l.Files = text(ans.Notes), newFiles(a.Key(), ans.Files)
		}
		if label := cancelLabel(a, o); label != "" && o.CancelledBy.QuestionID == q.ID {
			l.Answer = label
		}
		if l.Answer == "" {
			l.Answer = w.nothing
		}
		e.Detailed = e.Detailed || l.Note != "" || l.Files != nil || len(a.Questions) > 1 && (len(o.Answers) > 0 || o.CancelledBy != nil)
		e.Lines = append(e.Lines, l)
	}
}

// Telling returns the text after the lead: the summary, unless the lead or the lines contain it.
func (e *End) Telling() string {
	switch {
	case e.Detailed:
	case e.Status == ask.StatusAnswered, e.Status == ask.StatusExpired:
		return e.Summary
	case e.Status == ask.StatusCancelled && e.Summary != e.Lead:
		return e.Summary
	}
	return ""
}

// cancelLabel returns the option that ended the ask, or "".
func cancelLabel(a *ask.Ask, o *ask.Outcome) string {
	option := o.CancelledBy.Option(a)
	if option == nil {
		return ""
	}
	label, _ := option.Caption()
	return line(label)
}

// summary summarizes an outcome.
func summary(a *ask.Ask, o *ask.Outcome, w *catalogue) string {
	switch o.Status {
	case ask.StatusCancelled:
		if label := cancelLabel(a, o); label != "" {
			return label
		}
		return w.summaryDeclined
	case ask.StatusWithdrawn:
		if o.GaveUp() {
			return w.summaryGaveUp
		}
		return w.summaryWithdrawn
	case ask.StatusAborted:
		return w.summaryAborted
	case ask.StatusExpired:
		if len(o.Answers) == 0 && a.Approval != nil {
			t := a.Tally(o.Votes, o.At)
			return w.Say("Not enough votes: %s", line(t.Words(w.Tag)))
		}
		if len(o.Answers) == 0 {
			return w.summaryNobody
		}
	case ask.StatusAnswered:
	}
	var parts []string
	for i := range a.Questions {
		q := &a.Questions[i]
		words := said(q, o.Answer(q.ID), w)
		if words == "" {
			continue
		}
		if q.Header != "" && len(a.Questions) > 1 {
			words = line(q.Header) + w.colon + words
		}
		parts = append(parts, line(words))
	}
	if o.Response != "" {
		parts = append(parts, fill(w.quoted, line(o.Response)))
	}
	all := strings.Join(parts, w.dot)
	switch {
	case len(parts) == 0:
		return w.summaryAnswered
	case o.Status == ask.StatusExpired:
		return fill(w.summaryDefault, ask.Clip(all, 160))
	}
	return ask.Clip(all, 200)
}

// Earlier is a person's earlier answer to the same question text. Defaults do not count.
type Earlier struct {
	Words string
	Who   string
	At    Moment
}

// NewEarlier returns a person's answer to the question in an ended ask, if any.
func NewEarlier(r *ask.Record, question string, v Viewer, now time.Time) (Earlier, bool) {
	if r.Outcome == nil || r.Outcome.Status != ask.StatusAnswered {
		return Earlier{}, false
	}
	for i := range r.Ask.Questions {
		q := &r.Ask.Questions[i]
		if words := said(q, r.Outcome.Answer(q.ID), v.words()); q.Text == question && words != "" {
			return Earlier{Words: ask.Clip(line(words), 120), Who: v.who(r.Outcome.By), At: v.When(r.Outcome.At, now, Ago)}, true
		}
	}
	return Earlier{}, false
}
