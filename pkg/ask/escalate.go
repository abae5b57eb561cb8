package ask

import (
	"slices"
	"strconv"
	"time"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	jsonv1 "github.com/go-json-experiment/json/v1"
)

// Bounds of ladders.
const (
	MaxEscalations = 10               // steps of a ladder
	MaxRepeats     = 9                // times that a ladder begins again
	MaxSteps       = 50               // steps that one ask can take, with repetitions
	MaxVia         = 8                // surfaces of one step
	MinAfter       = 10 * time.Second // the shortest time before a step
)

// TypePagerDuty is the responder type that pages people: only steps that name it in
// Via lead there.
const TypePagerDuty = "pagerduty"

// Escalation is a step of an ask's ladder: what is done while nobody decides the
// ask. It changes who is told of the ask, and only with Widen who may decide it.
type Escalation struct {
	// After is how long the step waits after the one before, or after the ask
	// was asked. In JSON it is a string in Go syntax, such as "10m".
	After time.Duration `json:"after"`
	// Tell are the people who are told: "group:<name>", "schedule:<name>" or
	// principals. Empty: it is a reminder, to those who may decide the ask and
	// those whom earlier steps told.
	Tell []string `json:"tell,omitempty"`
	// Via are the responder types that tell them, such as "slack". Empty: each
	// that serves the ask, but [TypePagerDuty].
	Via []string `json:"via,omitempty"`
	// Widen adds Tell to the audience: these people may then decide the ask. It
	// changes nothing about whose votes an approval counts.
	Widen bool `json:"widen,omitempty"`
}

// Escalated is how far an ask has been escalated.
type Escalated struct {
	Steps []Step `json:"steps,omitempty"` // that were taken, in order
	Seen  []Seen `json:"seen,omitempty"`  // who looked, and so paused a step; at most one for each
}

// Step is a step of a ladder that was taken.
type Step struct {
	N       int       `json:"n"` // from 1, over all repetitions
	At      time.Time `json:"at"`
	Tell    []string  `json:"tell,omitempty"` // who was told
	Via     []string  `json:"via,omitempty"`
	Remind  bool      `json:"reminder,omitempty"` // those who may decide the ask were told as well
	Widened bool      `json:"widened,omitempty"`  // they may decide since then
	AsOf    time.Time `json:"as_of,omitzero"`     // a schedule in Tell could not be read since then: they were on call by what it said last
}

// Seen says that somebody looked at an ask before a step, which then waits once
// more for as long as it waits anyway.
type Seen struct {
	N  int       `json:"n"` // the step that waits
	At time.Time `json:"at"`
	By By        `json:"by"`
}

// Next is the next step of a ladder.
type Next struct {
	N      int
	At     time.Time // when it is due
	Tell   []string  // whom it tells
	Via    []string
	Remind bool // it tells those who may decide the ask as well
	Widen  bool
	Paused bool // somebody has looked: it waits as long again
}

// Last returns the last step that was taken, or nil. e may be nil.
func (e *Escalated) Last() *Step {
	if e == nil || len(e.Steps) == 0 {
		return nil
	}
	return &e.Steps[len(e.Steps)-1]
}

// At returns when the last step was taken or somebody looked; zero: never.
func (e *Escalated) At() (at time.Time) {
	if last := e.Last(); last != nil {
		at = last.At
	}
	if e != nil && len(e.Seen) > 0 && e.Seen[len(e.Seen)-1].At.After(at) {
		at = e.Seen[len(e.Seen)-1].At
	}
	return at
}

// NextStep returns the next step of an ask that was asked at this time, and
// whether there is one: the ladder may be at its end, or the deadline before it.
// A step counts from the one before as it was taken: after an outage people have
// as long as without it. With [Ask.EscalateHours] only open hours count; see
// [Ask.StepDue] for a step that was missed.
func (a *Ask) NextStep(asked time.Time, e *Escalated) (Next, bool) {
	n, from := 1, asked
	if last := e.Last(); last != nil {
		n, from = last.N+1, last.At
	}
	if len(a.Escalate) == 0 || n > a.steps() {
		return Next{}, false
	}
	step := &a.Escalate[(n-1)%len(a.Escalate)]
	next := Next{N: n, Tell: step.Tell, Via: step.Via, Widen: step.Widen}
	at, ok := a.OpenHours.add(from, step.After)
	if len(step.Tell) == 0 {
		next.Tell, next.Remind = e.told(), true
	}
	if e != nil && slices.ContainsFunc(e.Seen, func(s Seen) bool { return s.N == n }) {
		next.Paused = true
		if ok {
			at, ok = a.OpenHours.add(at, step.After)
		}
	}
	next.At = at
	return next, ok && (a.Deadline.IsZero() || at.Before(a.Deadline))
}

// steps returns how many steps the ask can take.
func (a *Ask) steps() int { return len(a.Escalate) * (1 + a.EscalateRepeat) }

// told returns everybody whom the steps so far told by name.
func (e *Escalated) told() (all []string) {
	if e == nil {
		return nil
	}
	for i := range e.Steps {
		for _, entry := range e.Steps[i].Tell {
			if !slices.Contains(all, entry) {
				all = append(all, entry)
			}
		}
	}
	return all
}

// Since returns the steps after the n-th which a responder type is to tell of.
func (e *Escalated) Since(n int, typ string) (owed []Step) {
	if e == nil {
		return nil
	}
	for _, s := range e.Steps {
		if s.N > n && Leads(s.Via, typ) {
			owed = append(owed, s)
		}
	}
	return owed
}

// Leads reports whether a step with this Via leads to a responder type: one that names a chat leads to all
// of its accounts (see [SurfaceKind]).
func Leads(via []string, typ string) bool {
	return len(via) == 0 && typ != TypePagerDuty || slices.Contains(via, typ) || slices.Contains(via, SurfaceKind(typ))
}

// Tells reports whether a step tells a person of an ask.
func (a *Ask) Tells(s *Step, by By) bool {
	return s.Remind && a.Allows(by) || len(s.Tell) > 0 && lists(s.Tell, by)
}

func (a *Ask) validateEscalate(f *faults) {
	switch n := len(a.Escalate); {
	case n == 0 && (a.EscalateRepeat != 0 || a.EscalateHours != ""):
		f.add("/escalate", FaultMissing, "ladder_steps")
		return
	case n > MaxEscalations:
		f.add("/escalate", FaultTooMany, n, "entries", MaxEscalations)
		return
	}
	switch {
	case a.EscalateRepeat < 0 || a.EscalateRepeat > MaxRepeats:
		f.add("/escalate_repeat", FaultOutOfRange, a.EscalateRepeat, 0, MaxRepeats)
	case a.steps() > MaxSteps:
		f.add("/escalate_repeat", FaultTooMany, a.steps(), "steps", MaxSteps)
	}
	if a.EscalateHours != "" && !ValidToken(a.EscalateHours) {
		f.add("/escalate_hours", FaultBadToken, clip(a.EscalateHours), MaxToken)
	}
	for i := range a.Escalate {
		a.validateStep(f, "/escalate/"+strconv.Itoa(i), &a.Escalate[i])
	}
}

func (a *Ask) validateStep(f *faults, at string, s *Escalation) {
	if s.After < MinAfter || s.After > MaxTimeout {
		f.add(at+"/after", FaultOutOfRange, s.After, MinAfter, "720h")
	}
	f.people(at+"/tell", s.Tell)
	if n := len(s.Via); n > MaxVia {
		f.add(at+"/via", FaultTooMany, n, "entries", MaxVia)
		return
	}
	for i, typ := range s.Via {
		if !ValidToken(typ) {
			f.add(at+"/via/"+strconv.Itoa(i), FaultBadToken, clip(typ), MaxToken)
		}
	}
	switch {
	case !s.Widen:
	case len(s.Tell) == 0:
		f.add(at+"/tell", FaultMissing, "tell")
	case len(a.Audience) == 0:
		f.add(at+"/widen", FaultWidensNothing)
	}
}

type (
	plainEscalation Escalation
	wireEscalation  struct {
		plainEscalation
		After duration `json:"after"`
	}
)

// MarshalJSON writes the step with its duration as a string.
func (s Escalation) MarshalJSON() ([]byte, error) {
	return marshal(wireEscalation{plainEscalation(s), duration(s.After)})
}

// UnmarshalJSON reads a step. It ignores unknown fields.
func (s *Escalation) UnmarshalJSON(data []byte) error { return jsonv1.Unmarshal(data, s) }

// UnmarshalJSONFrom reads a step within a document, whose reader says what
// happens with unknown fields.
func (s *Escalation) UnmarshalJSONFrom(from *jsontext.Decoder) error {
	var w wireEscalation
	if err := jsonv2.UnmarshalDecode(from, &w); err != nil {
		return err
	}
	*s = Escalation(w.plainEscalation)
	s.After = time.Duration(w.After)
	return nil
}
