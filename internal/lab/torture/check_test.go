package torture_test

import (
	"slices"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/lab/torture"
	"github.com/askbus/askbus/pkg/ask"
)

const sec = time.Second

var (
	key     = ask.Key{Tenant: "acme", Session: "s1", ID: "a1"}
	yes     = &torture.Truth{Life: "q", Status: ask.StatusAnswered, AnswerID: "m1", Text: "answered yes", At: 2 * sec}
	no      = &torture.Truth{Life: "q", Status: ask.StatusAnswered, AnswerID: "m2", Text: "answered no", At: 2 * sec}
	expired = &torture.Truth{Life: "q", Status: ask.StatusExpired, Text: "expired", At: 5 * sec}
	taken   = &torture.Truth{Life: "q", Status: ask.StatusWithdrawn, Text: "withdrawn", At: 2 * sec}
	unread  = &torture.Truth{Life: "q", Status: ask.StatusAnswered, AnswerID: "m3", Text: "answered late", At: 72 * sec}
	// An expiry with a vote that was stored while the timer fired.
	overtook = &torture.Truth{Life: "q", Status: ask.StatusExpired, Text: "expired with a vote", At: 5 * sec}
	other    = &torture.Truth{Life: "nobody's", Status: ask.StatusAborted, Text: "aborted", At: 2 * sec}
)

// at returns an event of the ask "q" at a second.
func at(second int, op torture.Op, code torture.Code, truth *torture.Truth, change ...func(*torture.Event)) torture.Event {
	t := time.Duration(second) * time.Second
	e := torture.Event{Began: t, Told: t, Who: string(op), Op: op, Key: key, Life: "q", Code: code, Truth: truth}
	if op == torture.OpAsk && code == torture.OK {
		e.Deadline = 5 * sec
	}
	for _, f := range change {
		f(&e)
	}
	return e
}

func mine(id string) func(*torture.Event)   { return func(e *torture.Event) { e.Mine = id } }
func seq(n uint64) func(*torture.Event)     { return func(e *torture.Event) { e.Seq = n } }
func life(name string) func(*torture.Event) { return func(e *torture.Event) { e.Life = name } }
func who(name string) func(*torture.Event)  { return func(e *torture.Event) { e.Who = name } }
func late(d time.Duration) func(*torture.Event) {
	return func(e *torture.Event) { e.Late = d }
}
func outsider(e *torture.Event) { e.Outsider = true }

// voted is an approval by m1, of two that are needed; the persons said this last.
func voted(one, other string) *torture.Truth {
	v := &torture.Votes{Need: 2, Deny: 2, Cast: map[string]string{"os:p1": one, "os:p2": other}, Given: map[string][]string{"os:p1": {"v1", "v2", "m1"}, "os:p2": {"v3"}}}
	return &torture.Truth{Life: "q", Status: ask.StatusAnswered, AnswerID: "m1", Text: "answered [go: yes m1]", At: 3 * sec, Votes: v}
}

func TestCheckFindsEachBrokenPromise(t *testing.T) {
	t.Parallel()
	asked := at(1, torture.OpAsk, torture.OK, nil)
	for _, tt := range []struct {
		name   string
		events []torture.Event
		want   []torture.Rule
	}{
		{"an answer that everybody learns", []torture.Event{
			asked, at(2, torture.OpAnswer, torture.OK, yes, mine("m1")), at(2, torture.OpStored, "", yes, seq(7)),
			at(3, torture.OpWait, torture.OK, yes), at(3, torture.OpAnswer, torture.Lost, yes, mine("m2")),
		}, nil},
		{"votes of which all are told", []torture.Event{
			asked, at(2, torture.OpAnswer, torture.Voted, nil, mine("v1")), at(2, torture.OpUnvote, torture.Voted, nil, mine("v2")), at(3, torture.OpAnswer, torture.OK, voted("yes", "yes"), mine("m1")), at(3, torture.OpStored, "", voted("yes", "yes"), seq(7)),
		}, nil},
		{"a vote that is taken back twice", []torture.Event{
			asked, at(2, torture.OpUnvote, torture.Voted, nil, mine("v2")), at(2, torture.OpUnvote, torture.Unchanged, nil, mine("v9")), at(3, torture.OpStored, "", voted("yes", "yes"), seq(7)),
		}, nil},
		{"a vote that is taken back, and stands", []torture.Event{
			asked, at(2, torture.OpUnvote, torture.Voted, nil, mine("v2")), at(2, torture.OpUnvote, torture.Voted, nil, mine("v9")), at(3, torture.OpStored, "", voted("yes", "yes"), seq(7)),
		}, []torture.Rule{torture.VoteKept}},
		{"a vote that is taken back by nobody", []torture.Event{
			asked, at(2, torture.OpUnvote, torture.Voted, nil, mine("v9")), at(3, torture.OpStored, "", voted("yes", "yes"), seq(7)),
		}, []torture.Rule{torture.VoteKept}},
		{"a vote that is lost", []torture.Event{
			asked, at(2, torture.OpAnswer, torture.Voted, nil, mine("v9")), at(3, torture.OpStored, "", voted("yes", "yes"), seq(7)),
		}, []torture.Rule{torture.VoteKept}},
		{"one vote where two are needed", []torture.Event{asked, at(3, torture.OpStored, "", voted("yes", "no"), seq(7))}, []torture.Rule{torture.PolicyReached}},
		{"a vote that was taken back", []torture.Event{asked, at(3, torture.OpStored, "", voted("yes", ""), seq(7))}, []torture.Rule{torture.PolicyReached}},
		{"an ask that is given up at once", []torture.Event{
			asked, at(2, torture.OpStored, "", &torture.Truth{Life: "q", Status: ask.StatusWithdrawn, Text: "given up", At: 2 * sec, GaveUp: true}, seq(7)),
		}, []torture.Rule{torture.GivesUp}},
		{"a late expiry after an answer is not an outcome", []torture.Event{
			asked, at(2, torture.OpStored, "", yes, seq(7)), at(6, torture.OpStored, "", expired, seq(8)), at(6, torture.OpWait, torture.OK, yes),
		}, nil},
		{"two parties learn different outcomes", []torture.Event{
			asked, at(2, torture.OpWait, torture.OK, yes), at(3, torture.OpGet, torture.OK, no),
		}, []torture.Rule{torture.OneOutcome}},
		{"two outcomes are stored", []torture.Event{
			asked, at(2, torture.OpStored, "", yes, seq(7)), at(3, torture.OpStored, "", no, seq(8)), at(3, torture.OpWait, torture.OK, yes),
		}, []torture.Rule{torture.OneOutcome}},
		{"an answer is stored beside an expiry", []torture.Event{
			asked, at(5, torture.OpStored, "", expired, seq(7)), at(5, torture.OpStored, "", yes, seq(8)), at(6, torture.OpWait, torture.OK, expired),
		}, []torture.Rule{torture.OneOutcome}},
		{"a party learns the last outcome, not the first", []torture.Event{
			asked, at(6, torture.OpStored, "", expired, seq(8)), at(2, torture.OpStored, "", yes, seq(7)), at(6, torture.OpWait, torture.OK, expired),
		}, []torture.Rule{torture.FirstWins}},
		{"a party learns an outcome that is not stored", []torture.Event{
			asked, at(2, torture.OpStored, "", yes, seq(7)), at(3, torture.OpWait, torture.OK, no),
		}, []torture.Rule{torture.ToldAsStored}},
		{"an outcome of an unknown question", []torture.Event{
			asked, at(2, torture.OpGet, torture.OK, other), at(5, torture.OpWait, torture.OK, expired),
		}, []torture.Rule{torture.ToldAsStored}},
		{"an outcome of a killed party's script", []torture.Event{
			at(1, torture.OpBegun, "", nil), at(5, torture.OpEnded, torture.OK, expired), at(5, torture.OpStored, "", expired, seq(8)),
		}, nil},
		{"an outcome of a script that nobody started", []torture.Event{
			at(1, torture.OpBegun, "", nil), at(5, torture.OpEnded, torture.OK, other),
		}, []torture.Rule{torture.ToldAsStored}},
		{"a timer later than the margin counts as first when the first is gone", []torture.Event{
			asked, at(2, torture.OpAnswer, torture.OK, yes, mine("m1")), at(2, torture.OpStored, "", yes, seq(7)),
			at(40, torture.OpStored, "", expired, seq(8), late(35*sec)), at(50, torture.OpGet, torture.OK, expired),
		}, nil},
		{"a timer within the margin does not", []torture.Event{
			asked, at(2, torture.OpAnswer, torture.OK, yes, mine("m1")), at(2, torture.OpStored, "", yes, seq(7)),
			at(9, torture.OpStored, "", expired, seq(8), late(4*sec)), at(10, torture.OpGet, torture.OK, expired),
		}, []torture.Rule{torture.FirstWins, torture.OneOutcome, torture.AnswerKept}},
		{"the expiry of a vote that came beside the timer counts as first when the first is gone", []torture.Event{
			asked, at(5, torture.OpStored, "", expired, seq(7)), at(6, torture.OpStored, "", overtook, seq(8)), at(7, torture.OpWait, torture.OK, expired), at(15, torture.OpEnded, torture.OK, overtook),
		}, nil},
		{"while the first is there it does not", []torture.Event{
			asked, at(5, torture.OpStored, "", expired, seq(7)), at(6, torture.OpStored, "", overtook, seq(8)), at(7, torture.OpWait, torture.OK, expired), at(14, torture.OpEnded, torture.OK, overtook),
		}, []torture.Rule{torture.FirstWins, torture.OneOutcome}},
		{"the first that was stored was gone before it was read", []torture.Event{
			asked, at(72, torture.OpWait, torture.OK, unread), at(75, torture.OpStored, "", &torture.Truth{Life: "q", Status: ask.StatusExpired, Text: "expired", At: 73 * sec}, seq(8)),
		}, nil},
		{"an ask expires long before its deadline", []torture.Event{
			asked, at(3, torture.OpWait, torture.OK, expired), at(3, torture.OpStored, "", expired, seq(8)),
		}, []torture.Rule{torture.InTime}},
		{"an acknowledged ask is unknown", []torture.Event{
			asked, at(2, torture.OpGet, torture.NotFound, nil), at(5, torture.OpWait, torture.OK, expired),
		}, []torture.Rule{torture.AskKept}},
		{"past its retention it may be", []torture.Event{
			asked, at(5, torture.OpWait, torture.OK, expired), at(16, torture.OpGet, torture.NotFound, nil),
		}, nil},
		{"another question takes the id of a pending one", []torture.Event{
			asked, at(2, torture.OpAsk, torture.OK, nil, life("r")), at(5, torture.OpWait, torture.OK, expired),
		}, []torture.Rule{torture.AskKept, torture.Ends}},
		{"an acknowledged answer does not hold", []torture.Event{
			asked, at(2, torture.OpAnswer, torture.OK, yes, mine("m1")), at(5, torture.OpWait, torture.OK, expired),
		}, []torture.Rule{torture.OneOutcome, torture.AnswerKept}},
		{"a loser learns that it won", []torture.Event{
			asked, at(2, torture.OpAnswer, torture.OK, yes, mine("m9")), at(3, torture.OpWait, torture.OK, yes),
		}, []torture.Rule{torture.AnswerKept}},
		{"a withdrawal is acknowledged with an answer", []torture.Event{
			asked, at(2, torture.OpWithdraw, torture.OK, yes), at(3, torture.OpWithdraw, torture.Lost, yes),
		}, []torture.Rule{torture.AnswerKept}},
		{"a withdrawal that holds", []torture.Event{
			asked, at(2, torture.OpWithdraw, torture.OK, taken), at(3, torture.OpWait, torture.OK, taken),
		}, nil},
		{"somebody outside the audience decides", []torture.Event{
			asked, at(2, torture.OpAnswer, torture.Unknown, nil, mine("m1"), outsider), at(3, torture.OpWait, torture.OK, yes),
		}, []torture.Rule{torture.Audience}},
		{"a question remains after its outcome", []torture.Event{
			asked, at(2, torture.OpStored, "", yes, seq(7)), at(9, torture.OpGhost, "", nil, seq(6)),
		}, []torture.Rule{torture.NoGhost}},
		{"an ask never ends", []torture.Event{asked, at(6, torture.OpGet, torture.OK, nil)}, []torture.Rule{torture.Ends}},
		{"an agent still waits", []torture.Event{
			asked, at(2, torture.OpAnswer, torture.OK, yes, mine("m1")),
			at(60, torture.OpWait, torture.Unknown, nil, func(e *torture.Event) { e.Began = sec }),
		}, []torture.Rule{torture.AgentLearns}},
		{"an agent that gave up need not know", []torture.Event{
			asked, at(2, torture.OpAnswer, torture.OK, yes, mine("m1")), at(60, torture.OpWait, torture.GaveUp, nil),
		}, nil},
		{"a screen still shows an ended ask", []torture.Event{
			asked, at(1, torture.OpShown, torture.OK, nil, who("screen")), at(2, torture.OpAnswer, torture.OK, yes, mine("m1")),
		}, []torture.Rule{torture.SurfaceLearns}},
		{"a screen learns in time", []torture.Event{
			asked, at(1, torture.OpShown, torture.OK, nil, who("screen")), at(2, torture.OpAnswer, torture.OK, yes, mine("m1")),
			at(3, torture.OpEnded, torture.OK, yes, who("screen")),
		}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var got []torture.Rule
			for _, v := range torture.Check(tt.events, limits()) {
				got = append(got, v.Rule)
			}
			if !slices.Equal(got, tt.want) {
				t.Fatalf("rules %v, want %v", got, tt.want)
			}
		})
	}
}

func limits() torture.Limits {
	return torture.Limits{
		Margin: 30 * sec, Unread: []torture.Span{{From: 71 * sec, To: 85 * sec}},
		Retention: 10 * sec, Ends: 10 * sec, Learns: 10 * sec, Posts: 10 * sec, End: 90 * sec, Screens: map[string]string{"screen": ""},
	}
}

func TestUndisturbedScreensAndPostingSurfacesHearEverything(t *testing.T) {
	t.Parallel()
	lim := limits()
	lim.Undisturbed, lim.Posting = true, []string{"mail"}
	history := []torture.Event{at(1, torture.OpAsk, torture.OK, nil), at(2, torture.OpAnswer, torture.OK, yes, mine("m1"))}
	if got := torture.Check(history, lim); len(got) != 2 || got[0].Rule != torture.SurfaceLearns || got[1].Rule != torture.SurfaceLearns {
		t.Fatalf("got %v, want the screen's and the posting surface's", got)
	}
	history = append(history, at(3, torture.OpEnded, torture.OK, yes, who("screen")), at(3, torture.OpRetracted, torture.OK, yes, who("mail")))
	if got := torture.Check(history, lim); len(got) != 0 {
		t.Fatalf("got %v", got)
	}
}

func TestShrinkLeavesWhatBreaksThePromise(t *testing.T) {
	t.Parallel()
	var events []torture.Event
	for i := range 200 {
		k := ask.Key{Tenant: "acme", Session: "s1", ID: string(rune('A' + i%26))}
		events = append(events, at(1, torture.OpGet, torture.OK, nil, func(e *torture.Event) { e.Key = k }))
	}
	events = append(events, at(1, torture.OpAsk, torture.OK, nil), at(1, torture.OpShown, torture.OK, nil), at(2, torture.OpAnswer, torture.OK, yes, mine("m1")))
	for range 30 {
		events = append(events, at(3, torture.OpGet, torture.OK, yes))
	}
	events = append(events, at(4, torture.OpWait, torture.OK, no))
	found := torture.Check(events, limits())
	if len(found) == 0 {
		t.Fatal("nothing found")
	}
	got := torture.Shrink(events, found[0], limits(), time.Now().Add(time.Minute))
	if len(got) != 3 || got[0].Op != torture.OpAsk || got[2].Op != torture.OpWait {
		t.Fatalf("%d events: %v", len(got), got)
	}
}
