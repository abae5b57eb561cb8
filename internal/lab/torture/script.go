package torture

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"time"

	"github.com/askbus/askbus/pkg/ask"
)

// The participants.
var (
	tenants   = []string{"acme", "zen"}          //nolint:gochecknoglobals // a table
	liveTypes = []string{"web", "tui", "elicit"} //nolint:gochecknoglobals // a table
)

const (
	postingType = "mail"
	sessions    = 8 // of each tenant
	insiders    = "group:deciders"
)

// act is one action on an ask.
type act struct {
	op       Op
	at       time.Duration // after the acknowledgement, or relative to the deadline if aimed
	aimed    bool
	typ      string // the surface
	who      int    // which person
	role     role   // of the person
	outsider bool
	pick     string // the chosen option; an unknown one is refused
}

// role says which people an act is of.
type role int

const (
	anybody   role = iota
	theMember      // see [member]
	theOther       // see [other]
)

// script is the life of one ask. It follows from the seed and the index.
type script struct {
	index   int
	session int
	ask     ask.Ask // its ID may be replaced by a reused one
	reuse   bool    // reuse an id whose outcome has expired
	raw     bool    // ask with Askbus-Wait in a plain request
	twice   bool    // ask twice at the same moment
	acts    []act
	late    []act // after the end, within the retention
}

// life returns the name of the script's question.
func (s *script) life() string { return s.ask.Title }

// lifeName returns a name that is unique among all runs: a given bus may remember earlier ones.
func (sh shape) lifeName(index int) string { return fmt.Sprintf("ask %d of %s", index, sh.run) }

// shape parameterizes a run's scripts.
type shape struct {
	run     string // names the run
	seed    uint64
	longest time.Duration // maximum timeout
	long    int           // percentage of asks with a far deadline
	votes   int           // percentage of asks that several people decide
	ladders int           // percentage of asks with a ladder
	life    time.Duration // by how much those may outlive their first step
}

// write returns the script of an index.
func (sh shape) write(index int) script {
	r := rand.New(rand.NewPCG(sh.seed, uint64(index))) //nolint:gosec // a seed is the point
	chance := func(percent int) bool { return r.IntN(100) < percent }
	s := script{
		index: index, session: r.IntN(sessions * len(tenants)), reuse: chance(25), raw: chance(10), twice: chance(15),
		ask: ask.Ask{
			ID: fmt.Sprintf("a%d-%s", index, sh.run), Title: sh.lifeName(index), Timeout: time.Second + span(r, 2*time.Second),
			Questions: []ask.Question{{
				ID: "go", Kind: ask.KindChoice, Text: "Shall we?", NoOther: true,
				Options: []ask.Option{{ID: "yes", Label: "Yes"}, {ID: "no", Label: "No"}, {ID: "stop", Label: "Stop", Cancels: true}},
			}},
		},
	}
	if chance(sh.long) {
		s.ask.Timeout = 20 * time.Second
	}
	s.ask.Timeout = min(s.ask.Timeout, max(time.Second, sh.longest))
	if chance(30) {
		s.ask.AtDeadline = ask.AtDeadlineDefault
		s.ask.Questions[0].Default = &ask.Answer{Selected: []string{"no"}}
	}
	closed := chance(25)
	if closed {
		s.ask.Audience = []string{insiders}
	}
	aimed := chance(60) && s.ask.Timeout < 10*time.Second
	when := func() (time.Duration, bool) {
		if aimed {
			// The server's timer fires up to 250 ms late.
			return span(r, 300*time.Millisecond) - 40*time.Millisecond, true
		}
		return span(r, min(s.ask.Timeout, 2*time.Second)), false
	}
	for range 1 + r.IntN(4) {
		a := act{op: OpAnswer, typ: pick(r, liveTypes), who: r.IntN(20), pick: pick(r, []string{"yes", "yes", "no", "stop"})}
		a.at, a.aimed = when()
		switch {
		case chance(8):
			a.pick = "maybe" // unknown: refused, and the ask stays open
		case chance(10):
			a.op = OpDecline
		}
		a.outsider = closed && chance(50)
		s.acts = append(s.acts, a)
	}
	for _, extra := range []struct {
		op      Op
		percent int
	}{{OpWithdraw, 20}, {OpAbort, 10}, {OpAsk, 30}, {OpGet, 20}, {OpWait, 20}} {
		if chance(extra.percent) {
			a := act{op: extra.op}
			a.at, a.aimed = when()
			s.acts = append(s.acts, a)
		}
	}
	if chance(10) { // another question under the same id
		s.acts = append(s.acts, act{op: OpAsk, at: span(r, time.Second), outsider: true})
	}
	if chance(8) { // a wait that its caller ends
		s.acts = append(s.acts, act{op: OpWait, at: 0, outsider: true, who: r.IntN(900)})
	}
	slices.SortStableFunc(s.acts, func(a, b act) int { return cmp.Compare(a.at, b.at) })
	for _, a := range []act{{op: OpAnswer, typ: pick(r, liveTypes), who: r.IntN(20), pick: "yes"}, {op: OpAsk}, {op: OpGet}, {op: OpWait}} {
		if chance(25) || a.op == OpGet && chance(60) {
			a.at = span(r, 2*time.Second)
			s.late = append(s.late, a)
		}
	}
	s.ask.WhileWaiting = chance(20) // late, so that older seeds keep their meaning
	if chance(sh.votes) {
		s.vote(r, when)
	}
	if sh.votes > 0 && chance(map[bool]int{true: 50, false: 5}[s.ask.Approval != nil]) {
		s.absent(r, sh.run, when)
	}
	if sh.life > 0 && chance(sh.ladders) {
		s.escalate(r, sh.life)
	}
	slices.SortStableFunc(s.acts, func(a, b act) int { return cmp.Compare(a.at, b.at) })
	return s
}

// vote makes the ask one that several people decide, who vote, move and take back.
func (s *script) vote(r *rand.Rand, when func() (time.Duration, bool)) {
	s.ask.Approval = &ask.Approval{
		AnyOf: []ask.Alternative{{Need: 2 + r.IntN(2)}}, Deny: &ask.Denial{Need: 1 + r.IntN(2)}, ApproveOptions: []string{"yes"}, DenyOptions: []string{"no", "stop"},
	}
	for range 3 + r.IntN(6) {
		a := act{op: OpAnswer, typ: pick(r, liveTypes), who: r.IntN(6), pick: pick(r, []string{"yes", "yes", "yes", "no"})}
		if r.IntN(100) < 25 {
			a.op = OpUnvote
		}
		a.at, a.aimed = when()
		s.acts = append(s.acts, a)
	}
}

func pick[T any](r *rand.Rand, from []T) T { return from[r.IntN(len(from))] }

// home returns the tenant and session of a script.
func (s *script) home() (tenant, session string) {
	return tenants[s.session%len(tenants)], "s" + strconv.Itoa(s.session/len(tenants))
}

// person returns the acting person.
func (a *act) person(run string) ask.By {
	switch a.role {
	case theMember:
		return member(run, a.who)
	case theOther:
		return other(run, a.who)
	case anybody:
	}
	by := ask.By{Principal: "os:p" + strconv.Itoa(a.who), Name: "P" + strconv.Itoa(a.who), Proof: "torture"}
	if !a.outsider {
		by.Groups = []string{"deciders"}
	}
	return by
}

// span returns a random part of d.
func span(r *rand.Rand, d time.Duration) time.Duration { return time.Duration(r.Int64N(int64(d))) }
