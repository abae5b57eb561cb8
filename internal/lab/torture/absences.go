package torture

import (
	"context"
	"math/rand/v2"
	"strconv"
	"sync"
	"time"

	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/responder"
)

// People who are away and stand in: members are in the group [insiders], the others are not.
const (
	members  = 4
	standIns = 3
)

// member returns a person of the group, and other one who is in none. Their names differ from run to run, because
// a given bus may remember who was away.
func member(run string, n int) ask.By {
	by := nobody("m", run, n)
	by.Groups = []string{insiders[len("group:"):]}
	return by
}

func other(run string, n int) ask.By { return nobody("s", run, n) }

func nobody(kind, run string, n int) ask.By {
	name := kind + strconv.Itoa(n) + "-" + run
	return ask.By{Principal: "os:" + name, Name: name, Proof: ask.ProofOS}
}

// absences lets people say who stands in for them, and end that, until ctx ends. Some who stand in say that they
// are away, too: that gives nobody a right.
func (d *driver) absences(ctx context.Context) {
	var all sync.WaitGroup
	for n := range uint64(3) { // the requests of one that waits for a broker do not hold up the others
		all.Go(func() {
			r := rand.New(rand.NewPCG(d.shape.seed, 1<<40+n)) //nolint:gosec // a seed is the point
			for until(ctx, time.Now().Add(30*time.Millisecond+span(r, 200*time.Millisecond))) {
				by, to := member(d.shape.run, r.IntN(members)), other(d.shape.run, r.IntN(standIns))
				switch r.IntN(6) {
				case 0, 1:
					by = other(d.shape.run, r.IntN(standIns))
				case 2:
					to = member(d.shape.run, r.IntN(members))
				}
				away := responder.Away{By: by, To: to.Principal, Tenant: pick(r, append([]string{""}, tenants...))}
				if r.IntN(3) > 0 {
					away.Until = time.Now().Add(time.Second + span(r, 9*time.Second))
				}
				d.away(ctx, pick(r, liveTypes), away)
			}
		})
	}
	all.Wait()
}

// away says who stands in for a person.
func (d *driver) away(ctx context.Context, typ string, a responder.Away) {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	e := Event{Began: d.h.now(), Who: typ, Op: OpAway, Away: &Away{Absent: a.By.Principal, By: a.To, Tenant: a.Tenant}}
	if !a.Until.IsZero() {
		e.Away.Until = a.Until.Sub(d.h.start)
	}
	_, err := d.people[typ].Away(ctx, a)
	e.Code, _ = codeOf(err)
	d.h.add(e)
}

// absent makes the ask one that only a group decides. Those of them who are away have stand-ins, who vote as
// well.
func (s *script) absent(r *rand.Rand, run string, when func() (time.Duration, bool)) {
	if s.ask.Approval != nil {
		s.ask.Approval.AnyOf[0].From = []string{insiders}
	} else {
		s.ask.Audience = []string{insiders}
	}
	if r.IntN(2) == 0 {
		s.ask.Exclude = []string{member(run, r.IntN(members)).Principal, other(run, r.IntN(standIns)).Principal}
	}
	for i := range s.acts {
		if a := &s.acts[i]; a.op == OpAnswer || a.op == OpDecline || a.op == OpUnvote {
			a.outsider = false
			if a.role, a.who = theMember, r.IntN(members); r.IntN(2) == 0 {
				a.role, a.who = theOther, r.IntN(standIns)
			}
		}
	}
	for range 2 + r.IntN(4) {
		a := act{op: OpAnswer, typ: pick(r, liveTypes), role: theOther, who: r.IntN(standIns), pick: pick(r, []string{"yes", "yes", "yes", "no"})}
		a.at, a.aimed = when()
		s.acts = append(s.acts, a)
	}
}
