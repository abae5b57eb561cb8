package torture

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/askbus/askbus/pkg/ask"
)

// Op is what a party did or learned.
type Op string

// The operations.
const (
	OpAsk       Op = "ask"       // an agent asks, or asks again
	OpWait      Op = "wait"      // an agent waits
	OpGet       Op = "get"       // an agent reads
	OpAnswer    Op = "answer"    // a person answers
	OpDecline   Op = "decline"   // a person declines the whole ask
	OpUnvote    Op = "unvote"    // a person takes a vote back
	OpAway      Op = "away"      // a person says who stands in, or ends that
	OpWithdraw  Op = "withdraw"  // the agent withdraws
	OpAbort     Op = "abort"     // an operator ends it
	OpShown     Op = "shown"     // a live screen learns of a pending ask
	OpEnded     Op = "ended"     // a live screen learns an outcome
	OpPosted    Op = "posted"    // a posting surface gets the question
	OpRetracted Op = "retracted" // a posting surface gets the outcome
	OpStored    Op = "stored"    // the ledger has this outcome at Seq
	OpGhost     Op = "ghost"     // the ledger still has the question of a stored outcome
	OpBegun     Op = "begun"     // a party process started script Seq
	OpOver      Op = "over"      // a party process finished script Seq
	OpFault     Op = "fault"     // a fault; Life describes it
)

// Code is the result of a call.
type Code string

// The codes. Only with [Unknown] it is open whether the call took effect.
const (
	OK        Code = "ok"
	Lost      Code = "lost"      // 409 or 410, with the stored outcome
	Reused    Code = "reused"    // 409: the id belongs to another question
	NotFound  Code = "not found" // 404
	Forbidden Code = "forbidden" // 403: not in the audience
	Invalid   Code = "invalid"   // 400
	Voted     Code = "voted"     // it is counted as a vote, and decides nothing yet
	Unchanged Code = "unchanged" // there was no vote to take back any more
	Full      Code = "full"      // 503: no room for a new ask
	Unknown   Code = "unknown"   // no reply in time
	GaveUp    Code = "gave up"   // the caller ended it on purpose
)

// Event is something that a party learned. Times count from the start of the run.
type Event struct {
	Began, Told time.Duration // of the call; equal for unsolicited events
	Who         string
	Op          Op
	Key         ask.Key
	Life        string // the question: ids are reused
	Code        Code
	Truth       *Truth // the outcome that it learned
	Mine        string // the sent answer id
	Outsider    bool   // the sender is not in the audience
	Deadline    time.Duration
	Seq         uint64        // sequence of the stored message
	Late        time.Duration // delay of a stored expiry after its deadline
	Ladder      *Ladder       // of an ask that is shown
	Away        *Away         // who stands in for whom
}

// Truth is an outcome as a party learned it.
type Truth struct {
	Life     string // the question in it
	Status   ask.Status
	AnswerID string
	Text     string // everything that must be equal for one outcome
	At       time.Duration
	GaveUp   bool // withdrawn because no agent waited
	Votes    *Votes
	By       *Seat   // who answered or cancelled; nil: nobody
	Ladder   *Ladder // nil: the ask has none
	Needs    Needs
}

// truthOf converts an outcome. start is the start of the run.
func truthOf(o *ask.Outcome, start time.Time) *Truth {
	t := &Truth{Status: o.Status, AnswerID: o.AnswerID, At: o.At.Sub(start), GaveUp: o.GaveUp(), Votes: votesOf(o, start)}
	if o.Ask != nil {
		t.Life, t.Needs = o.Ask.Title, needsOf(o.Ask)
	}
	t.Ladder = ladderOf(o.Ask, o.At.Add(-o.Waited), o.Escalated, start)
	if o.By != nil && (o.Status == ask.StatusAnswered || o.Status == ask.StatusCancelled) {
		t.By = seatOf(o.By, o.AnswerID, t.At)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s at %s", o.Status, o.At.UTC().Format("15:04:05.000000"))
	if o.By != nil {
		fmt.Fprintf(&b, " by %s on %s", o.By.Principal, o.By.Responder)
		if o.By.For != nil {
			fmt.Fprintf(&b, " for %s", o.By.For.Principal)
		}
	}
	for i := range o.Answers {
		a := &o.Answers[i]
		fmt.Fprintf(&b, " [%s: %s %s]", a.QuestionID, strings.Join(a.Selected, "+"), a.Notes)
	}
	for _, v := range []struct{ name, value string }{{"source", string(o.Source)}, {"reason", o.Reason}, {"answer", o.AnswerID}} {
		if v.value != "" {
			fmt.Fprintf(&b, " %s %s", v.name, v.value)
		}
	}
	if t.Ladder != nil {
		b.WriteString(t.Ladder.String())
	}
	for i := range o.Votes {
		v := &o.Votes[i]
		fmt.Fprintf(&b, " (%s %s %s %s", v.By.Principal, v.Choice, v.Option, v.AnswerID)
		if v.By.For != nil {
			fmt.Fprintf(&b, " for %s", v.By.For.Principal)
		}
		b.WriteString(")")
	}
	t.Text = b.String()
	return t
}

// String formats the event as a line of a history.
func (e *Event) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%9.3fs", e.Told.Seconds())
	if e.Began != e.Told {
		fmt.Fprintf(&b, " (took %.3fs)", (e.Told - e.Began).Seconds())
	}
	fmt.Fprintf(&b, "  %-10s %s", e.Who, e.Op)
	if e.Life != "" {
		fmt.Fprintf(&b, " %q", e.Life)
	}
	if e.Mine != "" {
		fmt.Fprintf(&b, " as %s", e.Mine)
	}
	if e.Outsider {
		b.WriteString(" (not in the audience)")
	}
	if e.Code != "" {
		fmt.Fprintf(&b, " -> %s", e.Code)
	}
	if e.Deadline != 0 {
		fmt.Fprintf(&b, ", deadline %.3fs", e.Deadline.Seconds())
	}
	if e.Seq != 0 {
		fmt.Fprintf(&b, " at sequence %d", e.Seq)
	}
	if e.Ladder != nil {
		b.WriteString(e.Ladder.String())
	}
	if a := e.Away; a != nil {
		b.WriteString(a.String())
	}
	if t := e.Truth; t != nil {
		fmt.Fprintf(&b, ": %q %s", t.Life, t.Text)
	}
	return b.String()
}

// history records what every party learns. It is safe for concurrent use.
type history struct {
	start time.Time

	mu     sync.Mutex
	events []Event
	truths map[string]*Truth // shared, because many parties learn the same outcome
	sink   func(*Event)      // also gets every event; may be nil
}

func newHistory(start time.Time) *history {
	return &history{start: start, truths: map[string]*Truth{}}
}

// now returns the time since the start of the run.
func (h *history) now() time.Duration { return time.Since(h.start) }

// add records an event, by default with the current time.
func (h *history) add(e Event) {
	if e.Told == 0 {
		e.Told = h.now()
	}
	if e.Began == 0 {
		e.Began = e.Told
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if e.Truth != nil {
		id := e.Truth.Life + "\x00" + e.Truth.Text
		if t, known := h.truths[id]; known {
			e.Truth = t
		} else {
			h.truths[id] = e.Truth
		}
	}
	h.events = append(h.events, e)
	if h.sink != nil {
		h.sink(&e)
	}
}

// truth converts an outcome to this run's time.
func (h *history) truth(o *ask.Outcome) *Truth {
	if o == nil {
		return nil
	}
	return truthOf(o, h.start)
}

// all returns the events so far.
func (h *history) all() []Event {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clip(h.events)
}
