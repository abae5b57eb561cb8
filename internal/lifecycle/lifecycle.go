// Package lifecycle decides what to do for one ask: what to write and what to
// reply, given what the ledger holds and a command.
//
// It is pure: time is an argument, nothing is read or written. The states are
// few:
//
//	            Store                 Resolve (answer, cancel, withdraw,
//	(unknown) ---------> pending ------abort, expire)------> resolved
//
// Safety: a resolved ask never changes; a refused command writes nothing; a
// command that is carried out twice ends in the same reply, which is what makes
// a crash between a write and its reply harmless. It leaves carrying out, and
// deciding again after a lost race, to the broker; what a valid ask or answer
// is, to pkg/ask.
package lifecycle

import (
	"fmt"
	"strings"
	"time"

	"github.com/askbus/askbus/pkg/ask"
)

// Overdue is how long after its deadline a pending ask counts as forgotten by
// the server's timer, so that whoever meets it writes its will.
const Overdue = 2 * time.Second

// Held is what the ledger holds of one ask. The zero value is an unknown ask.
type Held struct {
	Pending  *Question    // the question, if it is there
	Resolved *ask.Outcome // the first outcome, which is the truth
	Digest   string       // of the question, pending or resolved
}

// Question is a pending ask.
type Question struct {
	Ask     *ask.Ask
	Will    ask.Outcome // what holds if the deadline comes first
	AskedAt time.Time
}

// Command is what somebody wants of an ask: one of [Ask], [Reply], [Decline],
// [Withdraw], [Abort] and [Look].
//
//sumtype:decl
type Command interface{ command() }

type (
	// Ask stores a new ask, or finds it stored already.
	Ask struct {
		Ask    ask.Ask // normalized and valid
		Digest string
	}
	// Reply answers an ask.
	Reply struct{ Reply ask.Reply }
	// Decline cancels a whole ask in a person's name.
	Decline struct {
		Reply  ask.Reply // AnswerID and By
		Reason string
	}
	// Withdraw takes an ask back in its agent's name.
	Withdraw struct{ Reason string }
	// Abort ends an ask in an operator's name.
	Abort struct{ Reason string }
	// Look only reads; an overdue ask is expired on the way.
	Look struct{}
)

func (Ask) command()      {}
func (Reply) command()    {}
func (Decline) command()  {}
func (Withdraw) command() {}
func (Abort) command()    {}
func (Look) command()     {}

// Plan is what to do: one of [Store], [Resolve] and [Tell].
//
//sumtype:decl
type Plan interface{ plan() }

type (
	// Store writes the question; then the ask is pending.
	Store struct {
		Question Question
		Digest   string
	}
	// Resolve writes the outcome. Then decide again: the reply follows from
	// what the ledger then holds.
	Resolve struct{ Outcome ask.Outcome }
	// Tell writes nothing: the reply is what the ledger holds.
	Tell struct{}
)

func (Store) plan()   {}
func (Resolve) plan() {}
func (Tell) plan()    {}

// Decide says what to write and what to reply for one command. It is called
// again with what the ledger then holds after every write and whenever a write
// lost its race. Errors are [*ask.Error] values for the caller of the command.
func Decide(h Held, c Command, now time.Time) (Plan, error) {
	if h.Resolved == nil && h.Pending != nil && now.After(h.Pending.Ask.Deadline.Add(Overdue)) {
		return Resolve{h.Pending.Will}, nil
	}
	switch c := c.(type) {
	case Ask:
		return decideAsk(h, c, now)
	case Reply:
		return decideReply(h, c, now)
	case Decline:
		return decideDecline(h, c, now)
	case Withdraw:
		return decideEnd(h, ask.StatusWithdrawn, c.Reason, now)
	case Abort:
		return decideEnd(h, ask.StatusAborted, c.Reason, now)
	case Look:
		if h.Pending == nil && h.Resolved == nil {
			return nil, notFound()
		}
		return Tell{}, nil
	}
	panic(fmt.Sprintf("lifecycle: unknown command %T", c))
}

func decideAsk(h Held, c Ask, now time.Time) (Plan, error) {
	if h.Pending == nil && h.Resolved == nil {
		return Store{NewQuestion(c.Ask, now), c.Digest}, nil
	}
	if h.Digest != c.Digest {
		return nil, ask.Refuse(409, ask.CodeIDReused,
			"ask id %q is in use for another question; give this one an id of its own", c.Ask.ID)
	}
	return Tell{}, nil
}

// NewQuestion is an ask as it is stored: with its deadline, and its will.
func NewQuestion(a ask.Ask, now time.Time) Question {
	now = now.UTC()
	a.Deadline, a.Timeout = a.Due(now), 0
	will := ask.Outcome{
		AskID: a.ID, Tenant: a.Tenant, Session: a.Session, Status: ask.StatusExpired,
		At: a.Deadline, Waited: a.Deadline.Sub(now), Ask: &a,
	}
	if a.AtDeadline == ask.AtDeadlineDefault {
		will.Source, will.Answers = ask.SourceDefault, a.Defaults()
	}
	return Question{Ask: &a, Will: will, AskedAt: now}
}

func decideReply(h Held, c Reply, now time.Time) (Plan, error) {
	q, plan, err := decidable(h, c.Reply)
	if q == nil {
		return plan, err
	}
	answers, cancelled, err := q.Ask.Check(c.Reply)
	if err != nil {
		return nil, err
	}
	o := end(q, ask.StatusAnswered, now)
	o.AnswerID, o.By, o.Answers, o.Response, o.Source = c.Reply.AnswerID, &c.Reply.By, answers, c.Reply.Response, ask.SourceHuman
	if cancelled != nil {
		o.Status, o.CancelledBy, o.Source = ask.StatusCancelled, cancelled, ""
		for _, ans := range c.Reply.Answers {
			if ans.QuestionID == cancelled.QuestionID {
				o.Reason = ans.Notes // why, in the person's words
			}
		}
	}
	return Resolve{o}, nil
}

func decideDecline(h Held, c Decline, now time.Time) (Plan, error) {
	q, plan, err := decidable(h, c.Reply)
	if q == nil {
		return plan, err
	}
	o := end(q, ask.StatusCancelled, now)
	o.AnswerID, o.By, o.Reason = c.Reply.AnswerID, &c.Reply.By, c.Reason
	return Resolve{o}, nil
}

// decidable returns the question when r may still decide it, else what to say.
func decidable(h Held, r ask.Reply) (*Question, Plan, error) {
	switch {
	case h.Resolved != nil && own(h.Resolved, r):
		return nil, Tell{}, nil // our own earlier try won
	case h.Resolved != nil:
		return nil, nil, resolved(h.Resolved)
	case h.Pending == nil:
		return nil, nil, notFound()
	case len(h.Pending.Ask.Audience) > 0 && !r.By.ProvesPrincipal():
		return nil, nil, ask.Refuse(403, ask.CodeForbidden, "the dialog of an agent's own host does not prove who answers, so it may not decide this ask: its audience is %s", strings.Join(h.Pending.Ask.Audience, ", "))
	case !h.Pending.Ask.Allows(r.By):
		return nil, nil, ask.Refuse(403, ask.CodeForbidden, "%s may not decide this ask: its audience is %s", r.By.Principal, strings.Join(h.Pending.Ask.Audience, ", "))
	}
	return h.Pending, nil, nil
}

// own reports whether o came from this very reply.
func own(o *ask.Outcome, r ask.Reply) bool {
	return o.By != nil && o.AnswerID == r.AnswerID && o.By.Principal == r.By.Principal && o.By.Responder == r.By.Responder
}

func decideEnd(h Held, status ask.Status, reason string, now time.Time) (Plan, error) {
	switch {
	case h.Resolved != nil && h.Resolved.Status == status:
		return Tell{}, nil
	case h.Resolved != nil:
		return nil, resolved(h.Resolved)
	case h.Pending == nil:
		return nil, notFound()
	}
	o := end(h.Pending, status, now)
	o.Reason = reason
	return Resolve{o}, nil
}

// end is the outcome that a question has now, but for who and why.
func end(q *Question, status ask.Status, now time.Time) ask.Outcome {
	return ask.Outcome{
		AskID: q.Ask.ID, Tenant: q.Ask.Tenant, Session: q.Ask.Session, Status: status,
		At: now.UTC(), Waited: max(0, now.Sub(q.AskedAt)), Ask: q.Ask,
	}
}

func notFound() error {
	return ask.Refuse(404, ask.CodeNotFound, "no such ask in this session; it was never asked, or its outcome is past its retention")
}

func resolved(o *ask.Outcome) error {
	e := ask.Refuse(409, ask.CodeResolved, "already %s", Sentence(o))
	if o.Status == ask.StatusExpired {
		e.Status, e.Code = 410, ask.CodeExpired
	}
	e.Outcome = o
	return e
}

// Sentence says how an ask ended: "answered by Mei on slack at 10:02:03 UTC".
func Sentence(o *ask.Outcome) string {
	s := string(o.Status)
	if o.By != nil {
		name := o.By.Name
		if name == "" {
			name = o.By.Principal
		}
		s += " by " + name
		if o.By.Responder != "" {
			s += " on " + o.By.Responder
		}
	}
	return s + " at " + o.At.UTC().Format("15:04:05 UTC")
}
