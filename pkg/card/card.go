package card

import (
	"cmp"
	"sort"
	"strings"
	"time"

	"github.com/askbus/askbus/internal/process/lang"
	"github.com/askbus/askbus/pkg/ask"
)

// Card is an ask as one person sees it at one time. Its fields are in the order of display.
type Card struct {
	Key  ask.Key
	Life string // see [ask.Record]
	Seq  uint64
	Lang string // of the card's own texts, not of the agent's

	Asker    Asker
	Priority Priority
	Waits    Moment
	Ends     *Moment // nil: ended, or no declared deadline
	Held     string  // "the agent waits", if pending only while it waits
	Title    string  // empty if it only repeats the question
	Several  string  // "4 questions, answered together"
	Context  *Preview
	Files    []File // evidence
	End      *End   // nil while it is pending

	Approval *Approval // nil unless several people decide
	Ladder   *Ladder   // nil unless it is pending and has one

	BreakGlass *BreakGlass // nil unless this person may decide it alone

	Permits  bool   // its outcome is for one call: nobody gives it who cannot see all of it
	Withheld string // why nothing that permits it can be chosen here; empty: all can

	May       May
	Attention []string // "Mei is answering"
	Questions []Question
	HowTo     string // how to reply to several questions at once

	AtEnd    string // what the deadline does
	Defaults []Line
	Audience string // who may decide, if restricted
	ForThem  string // the same as a sentence, with the required proof
	Places   []Place
	Link     string

	ask   *ask.Ask
	me    string // the viewer's principal
	words *lang.Language
}

// Asker is who asks, for whom, and on what.
type Asker struct {
	Agent      string
	For        string // the agents above it
	Repository string
	Branch     string
	Link       string // URL with details; http or https
	Host       string // of the link
	Session    string // display name
	Tenant     string // if not the default
}

// Work describes the agent's work in a few words: "acme/payments, branch main".
func (a *Asker) Work(tag string) string {
	w := lang.Of(tag)
	switch {
	case a.Branch == "":
		return a.Repository
	case a.Repository == "":
		return w.Say("branch %s", a.Branch)
	}
	return a.Repository + w.Say(", ") + w.Say("branch %s", a.Branch)
}

// Priority is an ask's priority.
type Priority struct {
	Level ask.Priority
	Words string  // empty: normal
	Left  *Moment // of an urgent ask with a deadline
}

// Urgent reports whether the priority is urgent.
func (p Priority) Urgent() bool { return p.Level == ask.PriorityUrgent }

// Line is a question in short, with its answer.
type Line struct {
	Question string
	Answer   string
	Note     string
	Files    []File
}

// Place is another surface that shows the ask.
type Place struct {
	Where string // "on Slack"
	Link  string
	Words string // such as a failure to show it there
}

// New makes the card of an ask for a person. Others are the other people who look at it.
func New(r *ask.Record, v Viewer, now time.Time, others ...Attention) *Card {
	a, w := &r.Ask, v.words()
	c := &Card{
		Key: a.Key(), Life: r.Life, Seq: r.Seq, Lang: w.Tag, Asker: newAsker(a, w), Priority: priority(a, w), Waits: v.When(r.AskedAt, now, v.live(Since)),
		Title: line(a.Title), Permits: a.Permits(), May: v.May(r), Audience: audience(a, w), ask: a, me: v.By.Principal, words: w,
	}
	if strings.TrimSpace(a.Context) != "" {
		c.Context = Markdown(called(a))
	}
	c.Files = newFiles(c.Key, a.Files)
	switch n := len(a.Questions); {
	case n == 1 && c.Title == line(a.Questions[0].Text):
		c.Title = ""
	case n > 1:
		c.Several = w.Say("%d questions, answered together", n)
	}
	for i := range a.Questions {
		c.Questions = append(c.Questions, newQuestion(a, i, w))
	}
	if len(c.Questions) > 1 {
		c.HowTo = w.Say("Answer with one line a question, such as %s=…", c.Questions[0].Name())
	}
	if c.Audience != "" {
		c.ForThem = w.Say("For %s to decide.", c.Audience)
	}
	if needs := ask.Needs(w.Tag, a.MinProof); needs != "" {
		c.ForThem = strings.TrimSpace(c.ForThem + " " + w.Say("It %s.", needs))
	}
	if a.ExcludeAsker {
		c.ForThem = strings.TrimSpace(c.ForThem + " " + w.Say("The asker may not decide this."))
	}
	c.BreakGlass = newBreakGlass(r, v)
	if _, as := v.as(r); as.For != nil {
		c.ForThem = strings.TrimSpace(c.ForThem + " " + w.Say("You stand in for %s.", line(as.For.Called(w.Tag))))
		v.By = as
	}
	c.Approval, c.Ladder = newApproval(r, v, c.May.Answer, now), newLadder(r, v, now)
	c.places(r, v)
	if v.Inbox != "" && c.Key.Valid() {
		c.Link = strings.TrimRight(v.Inbox, "/") + "/ask/" + c.Key.String()
	}
	if r.Outcome != nil {
		c.End = newEnd(r, v, now)
		return c
	}
	c.atDeadline(r, v, now)
	c.Attention = v.Others(others...)
	return c
}

func newAsker(a *ask.Ask, w *lang.Language) Asker {
	asker := Asker{
		Agent: cmp.Or(line(a.Agent.Name), line(a.Agent.ID), w.Say("an agent")), For: line(a.Agent.Parent),
		Repository: line(a.Agent.Repository), Branch: line(a.Agent.Branch), Session: sessionName(line(a.Session)),
	}
	if ask.ValidLink(a.Agent.Link) {
		asker.Link, asker.Host = a.Agent.Link, linkHost(a.Agent.Link)
	}
	if a.Tenant != ask.DefaultTenant {
		asker.Tenant = line(a.Tenant)
	}
	return asker
}

func priority(a *ask.Ask, w *lang.Language) Priority {
	p := Priority{Level: a.Priority}
	switch a.Priority {
	case ask.PriorityUrgent:
		p.Words = w.Say("urgent")
	case ask.PriorityHigh:
		p.Words = w.Say("high priority")
	case ask.PriorityNormal, ask.PriorityLow:
	}
	return p
}

// until adds how much time an urgent ask has left.
func (p Priority) until(at time.Time, v Viewer, now time.Time) Priority {
	if p.Urgent() {
		p.Left = new(v.When(at, now, Left))
	}
	return p
}

func (c *Card) atDeadline(r *ask.Record, v Viewer, now time.Time) {
	if r.Ask.WhileWaiting {
		c.Held = c.words.Say("the agent waits")
	}
	at, declared := r.Deadline()
	if !declared {
		return
	}
	c.Ends = new(v.When(at, now, v.live(Until)))
	c.Priority = c.Priority.until(at, v, now)
	if r.Ask.AtDeadline != ask.AtDeadlineDefault {
		c.AtEnd = c.words.Say("If nobody answers in time, it expires and the agent is told so. Nothing is decided.")
		return
	}
	c.AtEnd = c.words.Say("If nobody answers in time, these defaults apply, marked as nobody’s answer:")
	for _, ans := range r.Ask.Defaults() {
		q := r.Ask.Question(ans.QuestionID)
		if words := said(q, &ans, c.words); words != "" {
			c.Defaults = append(c.Defaults, Line{Question: short(q, c.words), Answer: words})
		}
	}
}

// short returns a question in a word, for lists of answers.
func short(q *ask.Question, w *lang.Language) string {
	if q.Header != "" {
		return strings.TrimSpace(line(q.Header) + w.Say(": "))
	}
	return text(q.Text)
}

func (c *Card) places(r *ask.Record, v Viewer) {
	for _, receipt := range r.Receipts {
		if receipt.Type == v.Surface {
			continue
		}
		p := Place{Where: line(ask.SurfaceWordsIn(c.words.Tag, receipt.Type))}
		switch receipt.State {
		case ask.ReceiptPosted:
		case ask.ReceiptPosting:
			p.Words = c.words.Say("on its way")
		case ask.ReceiptFailed:
			p.Words = c.words.Say("could not be shown there")
		}
		for _, at := range receipt.Places { // the first one with a link
			if where := line(at.Where); p.Link == "" && (strings.HasPrefix(where, "https://") || strings.HasPrefix(where, "http://")) {
				p.Link = where
			}
		}
		if p.Link == "" && p.Words == "" {
			p.Words = line(receipt.Words())
		}
		c.Places = append(c.Places, p)
	}
	sort.Slice(c.Places, func(i, j int) bool { return c.Places[i].Where < c.Places[j].Where })
}

// Row is a line of the list of waiting asks.
type Row struct {
	Key      ask.Key
	Heading  string
	Dir      string
	Asker    Asker
	Priority Priority
	Waits    Moment
	Ends     *Moment // if it is near
	Votes    string  // of an ask that several people decide: "1 of 2 approvals"
	Foreign  bool    // this person may not decide it
}

// NewRow makes the row of a pending ask.
func NewRow(r *ask.Record, v Viewer, now time.Time) Row {
	a, w := &r.Ask, v.words()
	row := Row{
		Key: a.Key(), Heading: Heading(a), Dir: direction(a.Heading()), Asker: newAsker(a, w), Priority: priority(a, w),
		Waits: v.When(r.AskedAt, now, Since), Foreign: !v.May(r).Answer,
	}
	if a.Approval != nil {
		t := a.Tally(r.Votes, now)
		row.Votes = t.Count(w.Tag)
	}
	row.Asker.Agent, row.Asker.Session = ask.Clip(row.Asker.Agent, 40), ask.Clip(row.Asker.Session, 40)
	if at, declared := r.Deadline(); declared && at.Sub(now) < 24*time.Hour {
		row.Ends = new(v.When(at, now, Until))
		row.Priority = row.Priority.until(at, v, now)
	}
	return row
}

// Heading returns the one-line name of an ask.
func Heading(a *ask.Ask) string { return ask.Clip(InlinePlain(line(a.Heading())), 160) }
