package web

import (
	"cmp"
	"crypto/rand"
	"html/template"
	"slices"
	"strings"
	"time"

	"github.com/askbus/askbus/pkg/ask"
)

// page is what the layout draws: the list of what waits, and one ask in focus.
type page struct {
	Title   string
	Me      string
	Problem string // a sentence above everything, such as that the bus is gone
	Waiting int    // what this person may decide
	List    []entry
	More    int // how many more wait than are listed
	Ended   []foldedView
	Done    *foldedView // what this person has just done
	Ask     *askView    // nil: nothing waits
	Now     string
}

// entry is one line of the list.
type entry struct {
	Key     string
	Path    string
	Heading string
	Dir     string
	Agent   string
	Session string
	Waits   moment
	Ends    *moment // when it is near
	Urgent  bool
	Foreign bool // this person may not decide it
	Current bool
}

// foldedView is an ended ask in one line.
type foldedView struct {
	Path    string
	Heading string
	Status  string
	Gist    string
	Who     string
	Where   string
	At      moment
}

// askView is one ask in focus.
type askView struct {
	Key, Path string
	Seq       uint64
	Title     string // shown above several questions, or beside one
	Agent     string
	For       string // the agents above it
	Session   string
	Tenant    string // when it is worth saying
	Urgent    string
	Waits     moment
	Ends      *moment
	AtEnd     string // what happens at the deadline
	Defaults  []outcomeLine
	Audience  string
	ReadOnly  string // why this person cannot answer
	Receipts  []receiptView
	Context   template.HTML
	Questions []questionView

	AnswerID     string
	Response     string
	OpenResponse bool
	Reason       string
	Problem      string // why the form came back
	Kept         bool   // the form holds what was typed, so a draft must not replace it
	Verdict      *verdict
	Closed       bool // the form is still shown, but it is too late
}

// receiptView is a place where this ask was shown too.
type receiptView struct {
	Surface string
	Link    string
	Words   string
}

// verdict is how an ask ended.
type verdict struct {
	foldedView
	Lead   string
	Lines  []outcomeLine
	Reason string
	Reply  string
	Mine   bool
	// Detailed is set when the lines say more than the gist does.
	Detailed bool
}

// outcomeLine is one question and what was answered.
type outcomeLine struct{ Question, Answer, Note string }

func askPath(k ask.Key) string { return "/ask/" + k.String() }

// newPage draws the frame around an ask.
func (s *Server) newPage(me ask.By, focus *ask.Key) (page, snapshot) {
	now, snap := s.opts.Now(), s.board.snapshot()
	p := page{Me: cmp.Or(me.Name, me.Principal), Now: stamp(now)}
	for i := range snap.pending {
		if snap.pending[i].Ask.Allows(me) {
			p.Waiting++
		}
	}
	for i := range snap.pending[:min(len(snap.pending), maxListed)] {
		p.List = append(p.List, newEntry(&snap.pending[i], me, focus, now))
	}
	p.More = len(snap.pending) - len(p.List)
	for i := range snap.ended[:min(len(snap.ended), 5)] {
		r := &snap.ended[i]
		if now.Sub(r.Outcome.At) < time.Hour {
			p.Ended = append(p.Ended, folded(r, me, now))
		}
	}
	switch {
	case snap.offline:
		p.Problem = "The connection to the bus is gone. What you see may be old; answers cannot be stored until it is back."
	case !snap.synced:
		p.Problem = "Connecting to the bus. What waits will appear here."
	case snap.more:
		p.Problem = "More asks wait than this inbox follows at once; the oldest are shown first."
	}
	return p, snap
}

func newEntry(r *ask.Record, me ask.By, focus *ask.Key, now time.Time) entry {
	a := &r.Ask
	k := a.Key()
	e := entry{
		Key: k.String(), Path: askPath(k), Heading: clip(a.Heading(), 160), Dir: direction(a.Heading()), Agent: clip(agentName(a), 40), Session: clip(a.Session, 40),
		Waits: since(r.AskedAt, now), Urgent: urgent(a) != "", Foreign: !a.Allows(me), Current: focus != nil && *focus == k,
	}
	if left := a.Deadline.Sub(now); !a.Deadline.IsZero() && left < 24*time.Hour {
		m := untilOf(a.Deadline, now)
		e.Ends = &m
	}
	return e
}

func agentName(a *ask.Ask) string { return cmp.Or(a.Agent.Name, a.Agent.ID, "an agent") }

func urgent(a *ask.Ask) string {
	switch a.Priority {
	case ask.PriorityUrgent:
		return "urgent"
	case ask.PriorityHigh:
		return "high priority"
	case ask.PriorityNormal, ask.PriorityLow:
	}
	return ""
}

func folded(r *ask.Record, me ask.By, now time.Time) foldedView {
	o := r.Outcome
	f := foldedView{
		Path: askPath(r.Ask.Key()), Heading: clip(r.Ask.Heading(), 160), Status: string(o.Status),
		Gist: gist(&r.Ask, o), Who: who(o.By, me), At: agoOf(o.At, now),
	}
	if f.Who != "you" && o.By != nil && o.By.Responder != "" {
		f.Where = surface(o.By.Responder)
	}
	return f
}

// newAsk draws one ask for a person, with what that person has typed.
func (s *Server) newAsk(r *ask.Record, me ask.By, form typed, faults []ask.Fault) *askView {
	now, a := s.opts.Now(), &r.Ask
	k := a.Key()
	v := &askView{
		Key: k.String(), Path: askPath(k), Seq: r.Seq, Title: a.Title, Agent: agentName(a), For: a.Agent.Parent,
		Session: a.Session, Urgent: urgent(a), Waits: since(r.AskedAt, now), Audience: audience(a.Audience),
		Context: s.md.html(a.Context), AnswerID: rand.Text(), Kept: form.values != nil,
		Response: form.get(fieldResponse), Reason: form.get(fieldReason),
	}
	if a.Tenant != ask.DefaultTenant {
		v.Tenant = a.Tenant
	}
	if len(a.Questions) == 1 && v.Title == a.Questions[0].Text {
		v.Title = ""
	}
	v.atDeadline(a, now)
	v.receipts(r)
	known := 0
	for i := range a.Questions {
		q := s.newQuestion(&a.Questions[i], i, form, faults)
		if !q.Unknown {
			known++
		}
		v.Questions = append(v.Questions, q)
	}
	v.OpenResponse = v.Response != "" || known < len(v.Questions)
	if !a.Allows(me) {
		v.ReadOnly = "Only " + v.Audience + " may decide this."
	}
	if r.State == ask.StateResolved && r.Outcome != nil {
		v.Verdict = newVerdict(r, me, now)
		v.Closed = form.values != nil
	}
	return v
}

func (v *askView) atDeadline(a *ask.Ask, now time.Time) {
	if a.Deadline.IsZero() {
		return
	}
	m := untilOf(a.Deadline, now)
	v.Ends = &m
	if a.AtDeadline != ask.AtDeadlineDefault {
		v.AtEnd = "If nobody answers by then, it expires and the agent is told so. Nothing is decided."
		return
	}
	v.AtEnd = "If nobody answers by then, these defaults hold, marked as nobody’s answer:"
	for _, ans := range a.Defaults() {
		q := a.Question(ans.QuestionID)
		if words := said(q, &ans); words != "" {
			line := outcomeLine{Question: q.Text, Answer: words}
			if q.Header != "" {
				line.Question = q.Header + ":"
			}
			v.Defaults = append(v.Defaults, line)
		}
	}
}

func (v *askView) receipts(r *ask.Record) {
	for _, receipt := range r.Receipts {
		if receipt.Type == "web" || receipt.Seq != 0 && r.Seq != 0 && receipt.Seq != r.Seq {
			continue
		}
		rv := receiptView{Surface: surface(receipt.Type)}
		switch receipt.State {
		case ask.ReceiptPosted:
		case ask.ReceiptPosting:
			rv.Words = "on its way"
		case ask.ReceiptFailed:
			rv.Words = "could not be shown there"
		}
		if strings.HasPrefix(receipt.Where, "https://") || strings.HasPrefix(receipt.Where, "http://") {
			rv.Link = receipt.Where
		} else if rv.Words == "" {
			rv.Words = receipt.Where
		}
		v.Receipts = append(v.Receipts, rv)
	}
	slices.SortFunc(v.Receipts, func(x, y receiptView) int { return cmp.Compare(x.Surface, y.Surface) })
}

func newVerdict(r *ask.Record, me ask.By, now time.Time) *verdict {
	a, o := &r.Ask, r.Outcome
	v := &verdict{foldedView: folded(r, me, now), Reason: o.Reason, Reply: o.Response}
	v.At, v.Mine = clock(o.At, now), v.Who == "you"
	switch o.Status {
	case ask.StatusAnswered:
		v.Lead = "Already answered"
	case ask.StatusCancelled:
		v.Lead = "Declined"
	case ask.StatusWithdrawn:
		v.Lead = "Taken back by the agent"
	case ask.StatusExpired:
		v.Lead = "Expired"
	case ask.StatusAborted:
		v.Lead = "Ended by an operator"
	}
	for i := range a.Questions {
		q := &a.Questions[i]
		line := outcomeLine{Question: q.Text, Answer: said(q, o.Answer(q.ID))}
		if ans := o.Answer(q.ID); ans != nil {
			line.Note = ans.Notes
		}
		if c := o.CancelledBy; c != nil && c.QuestionID == q.ID && q.Option(c.OptionID) != nil {
			line.Answer = q.Option(c.OptionID).Label
		}
		if line.Answer == "" {
			line.Answer = "no answer"
		}
		v.Detailed = v.Detailed || line.Note != "" || len(a.Questions) > 1 && (len(o.Answers) > 0 || o.CancelledBy != nil)
		v.Lines = append(v.Lines, line)
	}
	says := o.Status == ask.StatusAnswered || o.Status == ask.StatusExpired || o.CancelledBy != nil
	if v.Detailed || !says {
		v.Gist = "" // the lead or the lines say it already
	}
	return v
}
