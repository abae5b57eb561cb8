package torture_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/lab/torture"
	"github.com/askbus/askbus/pkg/ask"
)

// climbed is a ladder whose steps wait for 10 s, of an ask of second 1: taken at these seconds.
func climbed(seconds ...int) *torture.Ladder {
	l := &torture.Ladder{Asked: sec, After: []time.Duration{10 * sec}, Most: 3}
	for i, at := range seconds {
		l.Steps = append(l.Steps, torture.Step{N: i + 1, At: time.Duration(at) * sec})
	}
	return l
}

// shows is what a screen learns of a ladder at a second.
func shows(second int, l *torture.Ladder) torture.Event {
	return at(second, torture.OpShown, torture.OK, nil, func(e *torture.Event) { e.Ladder = l })
}

// ends is an answer at a second with a ladder.
func ends(second int, l *torture.Ladder) torture.Event {
	return at(second, torture.OpStored, "", &torture.Truth{Life: "q", Status: ask.StatusAnswered, Text: "answered", At: time.Duration(second) * sec, Ladder: l}, seq(7))
}

// TestCheckFindsWrongSteps: each clause of step-once, by a history made by hand.
func TestCheckFindsWrongSteps(t *testing.T) {
	t.Parallel()
	paused, skipped, four := climbed(21), climbed(11), climbed(11, 21, 31, 41)
	paused.Seen = []int{1}
	skipped.Steps[0].N = 2
	deadline := &torture.Truth{Life: "q", Status: ask.StatusExpired, Text: "expired", At: 40 * sec, Ladder: climbed(11, 28)}
	for _, tt := range []struct {
		name   string
		events []torture.Event
		want   string // a part of the violation; empty: none
	}{
		{"each in time", []torture.Event{shows(11, climbed(11)), shows(22, climbed(11, 22)), ends(30, climbed(11, 22))}, ""},
		{"one that waits, because somebody looks", []torture.Event{shows(21, paused), ends(30, paused)}, ""},
		{"an end before the first", []torture.Event{ends(9, climbed())}, ""},
		{"one that was due shortly before the end", []torture.Event{ends(15, climbed())}, ""},
		{"one that is lost with the question of the deadline", []torture.Event{shows(39, climbed(11, 28, 39)), at(40, torture.OpStored, "", deadline, seq(7))}, ""},
		{"one that may have been stored when the deadline was", []torture.Event{shows(40, climbed(11, 28, 38)), at(40, torture.OpStored, "", deadline, seq(7))}, ""},
		{"one that was stored before it", []torture.Event{shows(38, climbed(11, 28, 38)), at(40, torture.OpStored, "", deadline, seq(7))}, "is not in the outcome"},
		{"twice, by two brokers", []torture.Event{shows(11, climbed(11)), shows(13, climbed(13)), ends(14, climbed(13))}, "step 1 was taken twice, at 11.000s and at 13.000s"},
		{"out of order", []torture.Event{shows(11, skipped), ends(14, skipped)}, "not in order"},
		{"one too many", []torture.Event{ends(42, four)}, "not in order"},
		{"before its time", []torture.Event{shows(9, climbed(9)), ends(14, climbed(9))}, "before its time"},
		{"soon after one that was late", []torture.Event{ends(40, climbed(15, 21))}, "before its time"},
		{"dated right, but told before its time", []torture.Event{shows(9, climbed(11)), ends(14, climbed(11))}, "before its time"},
		{"after the end", []torture.Event{ends(14, climbed()), shows(18, climbed(18))}, "after the end"},
		{"after the end, in the outcome", []torture.Event{ends(14, climbed(18))}, "after the end"},
		{"told, and not in the outcome", []torture.Event{shows(11, climbed(11)), ends(14, climbed())}, "is not in the outcome"},
		{"left out", []torture.Event{ends(30, climbed(11))}, "step 2 was left out: it was due 9.0s before the end"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			asked := at(1, torture.OpAsk, torture.OK, nil, func(e *torture.Event) { e.Deadline = 40 * sec })
			lim := limits()
			lim.Screens, lim.Steps, lim.Posting = nil, 5*sec, nil
			found(t, torture.Check(append([]torture.Event{asked}, tt.events...), lim), torture.StepOnce, tt.want)
		})
	}
}

// found compares what the checker found with one violation, or none.
func found(t *testing.T, got []torture.Violation, rule torture.Rule, want string) {
	t.Helper()
	if want == "" && len(got) > 0 || want != "" && (len(got) != 1 || got[0].Rule != rule || !strings.Contains(got[0].Text, want)) {
		t.Errorf("found %+v, want %q", got, want)
	}
}

// TestCheckFindsWrongVoters: each clause of one-vote and stand-in.
func TestCheckFindsWrongVoters(t *testing.T) {
	t.Parallel()
	says := func(second int, code torture.Code, until int, absent, by, tenant string) torture.Event {
		e := at(second, torture.OpAway, code, nil, func(e *torture.Event) {
			e.Away = &torture.Away{Absent: absent, By: by, Tenant: tenant, Until: time.Duration(until) * sec}
		})
		e.Key, e.Life = ask.Key{}, ""
		return e
	}
	mei := torture.Seat{By: "os:mei", Member: true, ID: "v1", At: 4 * sec}
	jo := torture.Seat{By: "os:jo", For: "os:mei", Member: true, ID: "v1", At: 4 * sec}
	away := says(2, torture.OK, 60, "os:mei", "os:jo", "")
	late := says(2, torture.Invalid, 6, "os:mei", "os:jo", "")
	late.Told = 7 * sec
	over := jo
	over.At = 9 * sec
	chain, stranger := jo, mei
	chain.Chain, stranger.Member = true, false
	tom := torture.Seat{By: "os:tom", Member: true, ID: "v2", At: 4 * sec}
	for _, tt := range []struct {
		name   string
		seats  []torture.Seat
		before []torture.Event
		want   string
	}{
		{"two people", []torture.Seat{mei, tom}, nil, ""},
		{"a stand-in", []torture.Seat{jo, tom}, []torture.Event{away}, ""},
		{"a stand-in of this tenant", []torture.Seat{jo, tom}, []torture.Event{says(2, torture.OK, 60, "os:mei", "os:jo", "acme")}, ""},
		{"nobody knows whether it was carried out", []torture.Seat{jo, tom}, []torture.Event{says(2, torture.Unknown, 60, "os:mei", "os:jo", "")}, ""},
		{"one person twice", []torture.Seat{mei, mei}, nil, "two votes"},
		{"one who is away, and the stand-in", []torture.Seat{mei, jo}, []torture.Event{away}, "two votes"},
		{"nobody had said so", []torture.Seat{jo, tom}, nil, "nobody had said so"},
		{"of another tenant", []torture.Seat{jo, tom}, []torture.Event{says(2, torture.OK, 60, "os:mei", "os:jo", "zen")}, "nobody had said so"},
		{"it was refused", []torture.Seat{jo, tom}, []torture.Event{says(2, torture.Forbidden, 60, "os:mei", "os:jo", "")}, "nobody had said so"},
		{"another attempt was refused before", []torture.Seat{jo, tom}, []torture.Event{at(1, torture.OpAnswer, torture.Forbidden, nil, mine("v1")), away}, ""},
		{"the vote had counted before", []torture.Seat{jo, tom}, []torture.Event{at(1, torture.OpAnswer, torture.Voted, nil, mine("v1"), func(e *torture.Event) { e.Life = "" }), away}, "nobody had said so"},
		{"it was refused before its time was over", []torture.Seat{jo, tom}, []torture.Event{says(2, torture.Invalid, 60, "os:mei", "os:jo", "")}, "nobody had said so"},
		{"it was said again when its time was over", []torture.Seat{jo, tom}, []torture.Event{late}, ""},
		{"its time was over", []torture.Seat{over, tom}, []torture.Event{says(2, torture.OK, 7, "os:mei", "os:jo", "")}, "it was over"},
		{"its person had ended it", []torture.Seat{over, tom}, []torture.Event{away, says(7, torture.OK, 0, "os:mei", "os:jo", "")}, "it was over"},
		{"its person may have ended it", []torture.Seat{over, tom}, []torture.Event{away, says(7, torture.Unknown, 0, "os:mei", "os:jo", "")}, ""},
		{"it was ended and said again", []torture.Seat{over, tom}, []torture.Event{away, says(7, torture.OK, 0, "os:mei", "os:jo", ""), says(8, torture.OK, 60, "os:mei", "os:jo", "")}, ""},
		{"only those for whom they stand in said so", []torture.Seat{{By: "os:kim", For: "os:mei", Member: true, At: 4 * sec}, tom}, []torture.Event{away, says(2, torture.OK, 60, "os:jo", "os:kim", "")}, "nobody had said so"},
		{"a stand-in of a stand-in", []torture.Seat{chain, tom}, []torture.Event{away}, "a stand-in of a stand-in"},
		{"nobody of the group", []torture.Seat{stranger, tom}, nil, "not in the group"},
		{"somebody excluded", []torture.Seat{{By: "os:eve", Member: true}, tom}, nil, "excludes"},
		{"for somebody excluded", []torture.Seat{{By: "os:jo", For: "os:eve", Member: true}, tom}, []torture.Event{says(2, torture.OK, 60, "os:eve", "os:jo", "")}, "excludes"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			truth := &torture.Truth{
				Life: "q", Status: ask.StatusAnswered, Text: "answered [go: yes v1]", At: 10 * sec, Needs: torture.Needs{Group: true, Exclude: []string{"os:eve"}},
				Votes: &torture.Votes{Need: 2, Deny: 1, Cast: map[string]string{"os:a": "yes", "os:b": "yes"}, Standing: tt.seats},
			}
			want := torture.StandIn
			if strings.HasPrefix(tt.want, "two") {
				want = torture.OneVote
			}
			events := slices.Concat(tt.before, []torture.Event{
				at(1, torture.OpAsk, torture.OK, nil, func(e *torture.Event) { e.Deadline = 40 * sec }), at(5, torture.OpAnswer, torture.Voted, nil, mine("v0"), func(e *torture.Event) { e.Life = "" }), at(10, torture.OpStored, "", truth, seq(7)),
			})
			lim := limits()
			lim.Screens, lim.Posting = nil, nil
			found(t, torture.Check(events, lim), want, tt.want)
		})
	}
}
