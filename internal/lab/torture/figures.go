package torture

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/askbus/askbus/pkg/ask"
)

// Figures summarizes a run.
type Figures struct {
	Asks, Ended, Reused, Wanted int
	ByStatus                    map[ask.Status]int
	Answers, Races, Unknown     int
	Full                        int
	Kills, Stops, Ghosts        int
	Steps, Aways, ForOthers     int // steps of ladders, who was said to stand in, and votes and answers by such people
	Events, Stored              int
	Took                        time.Duration
	Ask, Answer, Notice         time.Duration // maximum
	Ask99, Answer99, Notice99   time.Duration
	Late                        time.Duration // of the server's timer, maximum
	Early                       int           // asks that expired before their deadlines
	Outage                      time.Duration // longest outage of a victim
	LedgerRead                  bool
	Seed                        uint64
}

// figure computes the figures of a history.
func figure(events []Event, lim Limits) Figures {
	f := Figures{ByStatus: map[ask.Status]int{}, Events: len(events), Took: lim.End}
	first := map[string]*Truth{} // by life
	tried := map[string]int{}    // attempts to end an ask, by life
	acked := map[string]bool{}
	var asks, answers, notices []time.Duration
	for i := range events {
		e := &events[i]
		if e.Truth != nil && first[e.Truth.Life] == nil {
			first[e.Truth.Life] = e.Truth
			f.ByStatus[e.Truth.Status]++
			f.count(e.Truth)
		}
		if e.Code == Unknown && e.Op != OpWait {
			f.Unknown++
		}
		switch e.Op {
		case OpAsk:
			if e.Code == OK && e.Who != "plain agent" {
				asks = append(asks, e.Told-e.Began)
				acked[e.Life] = true
			}
		case OpAnswer, OpDecline, OpWithdraw, OpAbort:
			f.Answers++
			tried[e.Life]++
			if e.Code == OK || e.Code == Lost {
				answers = append(answers, e.Told-e.Began)
			}
		case OpWait, OpEnded:
			if e.Code == OK && e.Truth != nil && e.Truth.At > e.Began || e.Op == OpEnded && e.Truth != nil {
				notices = append(notices, e.Told-e.Truth.At)
			}
		case OpStored:
			f.Stored++
		case OpAway:
			f.Aways++
		case OpGet, OpShown, OpPosted, OpUnvote, OpRetracted, OpGhost, OpFault, OpBegun, OpOver:
		}
	}
	for l := range acked {
		if tried[l] > 1 {
			f.Races++
		}
		if first[l] != nil {
			f.Ended++
		}
	}
	f.Asks = len(acked)
	f.Ask, f.Ask99 = longest(asks)
	f.Answer, f.Answer99 = longest(answers)
	f.Notice, f.Notice99 = longest(notices)
	return f
}

// count counts what an outcome has of ladders and stand-ins.
func (f *Figures) count(t *Truth) {
	if t.Ladder != nil {
		f.Steps += len(t.Ladder.Steps)
	}
	if t.Votes == nil && t.By != nil && t.By.For != "" {
		f.ForOthers++
	}
	if t.Votes != nil {
		for i := range t.Votes.Standing {
			if t.Votes.Standing[i].For != "" {
				f.ForOthers++
			}
		}
	}
}

func longest(d []time.Duration) (most, p99 time.Duration) {
	if len(d) == 0 {
		return 0, 0
	}
	slices.Sort(d)
	return d[len(d)-1], d[(len(d)-1)*99/100]
}

// fill adds figures that are not in the history.
func (f *Figures) fill(o Options, d *driver, c *chaos, led *reader) {
	f.Wanted, f.Seed, f.Reused, f.Full = o.Asks, o.Seed, int(d.reused.Load()), int(d.full.Load())
	f.Kills, f.Stops, f.Ghosts, f.Outage = c.kills, c.stops, c.ghosts, c.outage
	if led != nil {
		f.Late = led.late
	}
}

// String returns the closing line.
func (f *Figures) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d asks (%d raced, %d under used ids) of %d ended in %.1fs:", f.Ended, f.Races, f.Reused, f.Asks, f.Took.Seconds())
	for _, s := range []ask.Status{ask.StatusAnswered, ask.StatusCancelled, ask.StatusWithdrawn, ask.StatusExpired, ask.StatusAborted} {
		fmt.Fprintf(&b, " %s %d,", s, f.ByStatus[s])
	}
	fmt.Fprintf(&b, " %d tries to end one, %d replies lost, %d refused for room,", f.Answers, f.Unknown, f.Full)
	fmt.Fprintf(&b, " %d kills, %d stops, %d ghosts met, longest outage %s;", f.Kills, f.Stops, f.Ghosts, short(f.Outage))
	if f.Steps+f.ForOthers > 0 {
		fmt.Fprintf(&b, " %d steps, %d absences, %d votes and answers by stand-ins;", f.Steps, f.Aways, f.ForOthers)
	}
	fmt.Fprintf(&b, " longest (99 %%) ask %s (%s), answer %s (%s), notification %s (%s)", short(f.Ask), short(f.Ask99), short(f.Answer), short(f.Answer99), short(f.Notice), short(f.Notice99))
	if f.LedgerRead {
		fmt.Fprintf(&b, ", timer late %s; %d outcomes read from the ledger", short(f.Late), f.Stored)
	} else {
		b.WriteString("; the ledger was not read")
	}
	fmt.Fprintf(&b, "; %d ended early", f.Early)
	fmt.Fprintf(&b, "; %d events, seed %d", f.Events, f.Seed)
	if f.Asks < f.Wanted {
		fmt.Fprintf(&b, "; %d asks were not reached", f.Wanted-f.Asks)
	}
	return b.String()
}

func short(d time.Duration) string {
	if d >= time.Second {
		return d.Round(10 * time.Millisecond).String()
	}
	return d.Round(100 * time.Microsecond).String()
}

// broken returns how often each rule was violated.
func (res *Result) broken() []string {
	n := map[Rule]int{}
	for _, v := range res.Violations {
		n[v.Rule]++
	}
	var s []string
	for _, r := range slices.Sorted(maps.Keys(n)) {
		s = append(s, fmt.Sprintf("%s %d", r, n[r]))
	}
	return s
}

// report prints the violations, the shortest history of the first one, and the closing line.
func report(w io.Writer, res *Result) {
	for i, v := range res.Violations {
		if i == 10 {
			fmt.Fprintf(w, "… and %d more\n", len(res.Violations)-10)
			break
		}
		fmt.Fprintf(w, "VIOLATION %s: %s, %q: %s\n", v.Rule, v.Key, v.Life, v.Text)
	}
	seen := map[Rule]bool{}
	for _, v := range res.Violations {
		if seen[v.Rule] {
			continue
		}
		history := res.Shortest[len(seen)]
		seen[v.Rule] = true
		fmt.Fprintf(w, "the shortest history of the first %s, of %s:\n", v.Rule, v.Key)
		slices.SortStableFunc(history, func(a, b Event) int { return cmp.Compare(a.Told, b.Told) })
		for i := range history {
			fmt.Fprintln(w, "  "+history[i].String())
		}
	}
	verdict := "ok"
	if len(res.Violations) > 0 {
		verdict = fmt.Sprintf("%d VIOLATIONS (%s)", len(res.Violations), strings.Join(res.broken(), ", "))
	}
	fmt.Fprintf(w, "torture: %s: %s\n", verdict, res.Figures.String())
}
