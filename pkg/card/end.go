package card

import (
	"cmp"
	"strings"
	"time"

	"github.com/askbus/askbus/internal/process/lang"
	"github.com/askbus/askbus/pkg/ask"
)

// End describes how an ask ended.
type End struct {
	Key      ask.Key
	Heading  string
	Status   ask.Status
	Who      string // "you", or a name; empty: nobody acted, or several people
	Mine     bool
	AnswerID string // of the answer that ended it; empty: none did
	Where    string // "on Slack"
	At       Moment
	Ago      Moment
	Summary  string // the outcome in a few words
	Sentence string // "Mei chose PostgreSQL at 10:02 on Slack"; see [End.Tell]
	Brief    string // "Mei chose PostgreSQL"; see [End.TellShort]
	Lines    []Line
	Detailed bool // the lines have more than the summary
	Answers  bool // there are answers, by a person or by default
	Reply    string
	Reason   string
	Alone    string // "Mei decided alone (break-glass): INC-77"; empty: nobody did
	Denied   bool   // the answer is one that denies what needed approval

	kind   ending
	denied bool   // by who decided alone
	what   string // what was said, in the sentence
	votes  string // how they stood
	words  *lang.Language
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
		Key: a.Key(), Heading: Heading(a), Status: o.Status, Who: v.who(o.By), Mine: v.is(o.By), AnswerID: o.AnswerID,
		At: v.When(o.At, now, Clock), Ago: v.When(o.At, now, Ago), Summary: summary(a, o, w), Reply: text(o.Response), Reason: text(o.Reason), words: w,
	}
	e.Answers = len(o.Answers) > 0
	if o.By != nil && o.By.Responder != "" {
		e.Where = line(ask.SurfaceWordsIn(w.Tag, o.By.Responder))
	}
	if a.Approval != nil {
		e.Who, e.Mine = "", false
		t := a.Tally(o.Votes, o.At)
		e.votes = line(t.Words(w.Tag))
		e.Denied = o.Status == ask.StatusAnswered && len(o.Answers) > 0 && !a.Approves(&o.Answers[0])
	}
	if e.kind = endingOf(a, o); a.Approval == nil || len(a.Questions) == 1 && a.Questions[0].Kind == ask.KindChoice {
		e.what = spoken(a, o, w)
	}
	if e.kind == endDefault && e.what == "" { // nothing is the default
		e.kind = endExpired
	}
	if e.Alone = aloneWords(w, o, v.who(o.By)); e.Alone != "" {
		told := *o
		told.Ask = a // the stored outcome has no copy of its ask
		e.kind, e.denied = endAlone, told.Alone() == ask.ChoiceDeny
		e.Who, e.Where, e.Reason, e.Mine = "", "", "", false
	}
	plain := func(_ Part, s string) string { return s }
	e.Sentence, e.Brief = e.Tell(plain), e.TellShort(plain)
	e.lines(a, o, w)
	return e
}

func (e *End) lines(a *ask.Ask, o *ask.Outcome, w *lang.Language) {
	for i := range a.Questions {
		q := &a.Questions[i]
		l := Line{Question: text(q.Text), Answer: said(q, o.Answer(q.ID), w)}
		if ans := o.Answer(q.ID); ans != nil && (a.Approval == nil || o.BreakGlass != nil) { // that of a vote is shown with the vote
			l.Note, l.Files = text(ans.Notes), newFiles(a.Key(), ans.Files)
		}
		if label := cancelLabel(a, o); label != "" && o.CancelledBy.QuestionID == q.ID {
			l.Answer = label
		}
		l.Answer = cmp.Or(l.Answer, w.Say("no answer"))
		e.Detailed = e.Detailed || l.Note != "" || l.Files != nil || len(a.Questions) > 1 && (len(o.Answers) > 0 || o.CancelledBy != nil)
		e.Lines = append(e.Lines, l)
	}
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
func summary(a *ask.Ask, o *ask.Outcome, w *lang.Language) string {
	switch o.Status {
	case ask.StatusCancelled:
		if label := cancelLabel(a, o); label != "" {
			return label
		}
		return w.Say("Declined")
	case ask.StatusWithdrawn:
		if o.GaveUp() {
			return w.Say("Withdrawn: the agent no longer waits")
		}
		return w.Say("Withdrawn by the agent")
	case ask.StatusAborted:
		return w.Say("Withdrawn by an operator")
	case ask.StatusExpired:
		if len(o.Answers) == 0 && a.Approval != nil {
			t := a.Tally(o.Votes, o.At)
			return w.Say("Not enough votes: %s", line(t.Words(w.Tag)))
		}
		if len(o.Answers) == 0 {
			return w.Say("Nobody answered in time")
		}
	case ask.StatusAnswered:
	}
	all := spoken(a, o, w)
	switch {
	case all == "":
		return w.Say("Answered")
	case o.Status == ask.StatusExpired:
		return w.Say("Nobody answered; default: %s", ask.Clip(all, 160))
	}
	return all
}

// spoken says in a few words what was answered, or which option ended the ask.
func spoken(a *ask.Ask, o *ask.Outcome, w *lang.Language) string {
	if label := cancelLabel(a, o); label != "" {
		return label
	}
	var parts []string
	for i := range a.Questions {
		q := &a.Questions[i]
		words := said(q, o.Answer(q.ID), w)
		if words == "" {
			continue
		}
		if q.Header != "" && len(a.Questions) > 1 {
			words = line(q.Header) + w.Say(": ") + words
		}
		parts = append(parts, line(words))
	}
	if o.Response != "" {
		parts = append(parts, w.Say("“%s”", line(o.Response)))
	}
	return ask.Clip(strings.Join(parts, w.Say(" · ")), 200)
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
