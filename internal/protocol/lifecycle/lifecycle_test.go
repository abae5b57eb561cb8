package lifecycle_test

import (
	"errors"
	"reflect"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/protocol/lifecycle"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/google/go-cmp/cmp"
)

var now = time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC)

func question() ask.Ask {
	a := ask.Ask{
		ID: "a1", Tenant: "acme", Session: "s1", Timeout: time.Hour, Audience: []string{"os:mei", "group:ops"},
		Questions: []ask.Question{{ID: "db", Text: "?", Options: []ask.Option{{ID: "pg", Label: "P"}, {ID: "stop", Label: "S", Cancels: true}}}},
	}
	a.Normalize()
	return a
}

func reply(answerID, option string) ask.Reply {
	return ask.Reply{
		AnswerID: answerID, Answers: []ask.Answer{{QuestionID: "db", Selected: []string{option}}},
		By: ask.By{Principal: "os:mei", Responder: "web"},
	}
}

// world is a ledger of one ask, to which effects are applied.
type world struct {
	held   lifecycle.State
	events []lifecycle.Event // stored events, in order
	now    time.Time
}

// do carries out a command like the broker: it decides again after a write.
func (w *world) do(t testing.TB, c lifecycle.Command) (lifecycle.State, error) {
	t.Helper()
	for range 3 {
		effect, err := lifecycle.Decide(w.held, c, w.now)
		if err != nil {
			if effect != nil {
				t.Fatalf("%T: refused with an effect: %v and %v", c, effect, err)
			}
			return lifecycle.State{}, err
		}
		switch e := effect.(type) {
		case lifecycle.Tell:
			return w.held, nil
		case lifecycle.Store:
			if w.held.Known() {
				t.Fatalf("%T stores over what is held", c)
			}
			w.store(lifecycle.Asked(e))
		case lifecycle.Rewrite:
			if !w.held.Pending() {
				t.Fatalf("%T rewrites what is not pending", c)
			}
			w.store(e.Event)
		case lifecycle.Resolve:
			if !w.held.Pending() {
				t.Fatalf("%T resolves what is not pending", c)
			}
			w.store(lifecycle.Ended{Outcome: e.Outcome})
		}
	}
	t.Fatalf("%T does not come to an end", c)
	return lifecycle.State{}, nil
}

func (w *world) store(e lifecycle.Event) {
	w.events = append(w.events, e)
	w.held = lifecycle.Apply(w.held, e)
}

// asking returns the command that asks [question].
func asking(digest string) lifecycle.Ask {
	s := lifecycle.New(question(), now)
	s.Digests = []string{digest}
	return lifecycle.Ask{State: s}
}

func pending(t testing.TB) *world {
	t.Helper()
	w := &world{now: now}
	if _, err := w.do(t, asking("d")); err != nil {
		t.Fatal(err)
	}
	return w
}

func ended(t testing.TB, c lifecycle.Command) *world {
	t.Helper()
	w := pending(t)
	if _, err := w.do(t, c); err != nil {
		t.Fatal(err)
	}
	return w
}

func expired(t testing.TB) *world {
	t.Helper()
	w := pending(t)
	w.now = now.Add(time.Hour + lifecycle.Overdue + 1)
	if _, err := w.do(t, lifecycle.Look{}); err != nil {
		t.Fatal(err)
	}
	return w
}

func TestDecide(t *testing.T) {
	t.Parallel()
	unknown := func(testing.TB) *world { return &world{now: now} }
	answered := func(t testing.TB) *world {
		t.Helper()
		return ended(t, lifecycle.Reply{Reply: reply("w1", "pg")})
	}
	withdrawn := func(t testing.TB) *world {
		t.Helper()
		return ended(t, lifecycle.Withdraw{Reason: "moot"})
	}
	aborted := func(t testing.TB) *world {
		t.Helper()
		return ended(t, lifecycle.Abort{Reason: "halt"})
	}
	stranger := reply("w1", "pg")
	stranger.By.Principal = "os:joe"
	member := reply("w1", "pg")
	member.By = ask.By{Principal: "os:joe", Groups: []string{"ops"}, Responder: "web"}
	for _, v := range []struct {
		name    string
		world   func(testing.TB) *world
		command lifecycle.Command
		state   ask.Status // "" means pending
		code    string     // of a refusal
		check   func(o *ask.Outcome) bool
	}{
		{"a new ask is stored", unknown, asking("d"), "", "", nil},
		{"the same ask again is pending", pending, asking("d"), "", "", nil},
		{"the same ask after its end is told the end", answered, asking("d"), ask.StatusAnswered, "", nil},
		{"another ask under the same id is refused", pending, asking("e"), "", ask.CodeIDReused, nil},
		{"another ask under the id of an ended one is refused", answered, asking("e"), "", ask.CodeIDReused, nil},

		{"the first answer wins", pending, lifecycle.Reply{Reply: reply("w1", "pg")}, ask.StatusAnswered, "", func(o *ask.Outcome) bool {
			return o.Source == ask.SourceHuman && o.AnswerID == "w1" && o.By.Principal == "os:mei" && o.CancelledBy == nil && o.Answers[0].Selected[0] == "pg"
		}},
		{"a member of a group in the audience answers", pending, lifecycle.Reply{Reply: member}, ask.StatusAnswered, "", nil},
		{"a stranger is refused", pending, lifecycle.Reply{Reply: stranger}, "", ask.CodeForbidden, nil},
		{"a stranger may not decline either", pending, lifecycle.Decline{Reply: stranger}, "", ask.CodeForbidden, nil},
		{"the same answer again is told that it won", answered, lifecycle.Reply{Reply: reply("w1", "pg")}, ask.StatusAnswered, "", nil},
		{"another answer loses", answered, lifecycle.Reply{Reply: reply("w2", "pg")}, "", ask.CodeResolved, nil},
		{"a wrong answer is refused", pending, lifecycle.Reply{Reply: reply("w1", "oracle")}, "", ask.CodeInvalid, nil},
		{"a wrong answer after the end is told the end", answered, lifecycle.Reply{Reply: reply("w2", "oracle")}, "", ask.CodeResolved, nil},
		{"an option that cancels cancels", pending, lifecycle.Reply{Reply: reply("w1", "stop")}, ask.StatusCancelled, "", func(o *ask.Outcome) bool {
			return o.Source == "" && *o.CancelledBy == ask.CancelledBy{QuestionID: "db", OptionID: "stop"} && len(o.Answers) == 0
		}},
		{"an answer to nothing is refused", unknown, lifecycle.Reply{Reply: reply("w1", "pg")}, "", ask.CodeNotFound, nil},
		{"an answer after the deadline is told of it", expired, lifecycle.Reply{Reply: reply("w1", "pg")}, "", ask.CodeExpired, nil},

		{"a decline cancels", pending, lifecycle.Decline{Reply: reply("w1", ""), Reason: "no"}, ask.StatusCancelled, "", func(o *ask.Outcome) bool {
			return o.Reason == "no" && o.AnswerID == "w1" && o.CancelledBy == nil && o.Source == ""
		}},
		{"the same decline again is the same reply", func(t testing.TB) *world {
			t.Helper()
			return ended(t, lifecycle.Decline{Reply: reply("w1", "")})
		}, lifecycle.Decline{Reply: reply("w1", "")}, ask.StatusCancelled, "", nil},
		{"a decline after an answer loses", answered, lifecycle.Decline{Reply: reply("w3", "")}, "", ask.CodeResolved, nil},
		{"a decline of nothing is refused", unknown, lifecycle.Decline{Reply: reply("w1", "")}, "", ask.CodeNotFound, nil},

		{"a withdrawal ends it", pending, lifecycle.Withdraw{Reason: "moot"}, ask.StatusWithdrawn, "", func(o *ask.Outcome) bool { return o.Reason == "moot" && o.By == nil }},
		{"withdrawing again is the same reply", withdrawn, lifecycle.Withdraw{Reason: "other"}, ask.StatusWithdrawn, "", func(o *ask.Outcome) bool { return o.Reason == "moot" }},
		{"withdrawing what is answered loses", answered, lifecycle.Withdraw{}, "", ask.CodeResolved, nil},
		{"withdrawing what is aborted loses", aborted, lifecycle.Withdraw{}, "", ask.CodeResolved, nil},
		{"withdrawing what has expired is told so", expired, lifecycle.Withdraw{}, "", ask.CodeExpired, nil},
		{"withdrawing nothing is refused", unknown, lifecycle.Withdraw{}, "", ask.CodeNotFound, nil},

		{"an abort ends it", pending, lifecycle.Abort{Reason: "halt"}, ask.StatusAborted, "", func(o *ask.Outcome) bool { return o.Reason == "halt" }},
		{"aborting again is the same reply", aborted, lifecycle.Abort{}, ask.StatusAborted, "", nil},
		{"aborting what is withdrawn loses", withdrawn, lifecycle.Abort{}, "", ask.CodeResolved, nil},
		{"aborting nothing is refused", unknown, lifecycle.Abort{}, "", ask.CodeNotFound, nil},

		{"a look at nothing is refused", unknown, lifecycle.Look{}, "", ask.CodeNotFound, nil},
		{"a look at what is pending", pending, lifecycle.Look{}, "", "", nil},
		{"a look at what has ended", answered, lifecycle.Look{}, ask.StatusAnswered, "", nil},
	} {
		t.Run(v.name, func(t *testing.T) {
			t.Parallel()
			w := v.world(t)
			before := w.held
			got, err := w.do(t, v.command)
			if v.code != "" {
				e, ok := errors.AsType[*ask.Error](err)
				if !ok || e.Code != v.code {
					t.Fatalf("got %+v, %v; want a refusal %s", got, err, v.code)
				}
				if !reflect.DeepEqual(before, w.held) {
					t.Error("a refused command wrote something")
				}
				if (e.Code == ask.CodeResolved || e.Code == ask.CodeExpired) != (e.Outcome != nil) {
					t.Errorf("%s comes with the outcome %v", e.Code, e.Outcome)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if v.state == "" {
				if !got.Pending() {
					t.Fatalf("held %+v", got)
				}
				return
			}
			if got.End == nil || got.End.Status != v.state || v.check != nil && !v.check(got.End) {
				t.Fatalf("held %+v", got.End)
			}
			if o := got.End; o.AskID != "a1" || o.Tenant != "acme" || o.Session != "s1" || o.Ask == nil {
				t.Errorf("the outcome does not say of what: %+v", o)
			}
		})
	}
}

func TestTheDeadlineIsWrittenInAdvance(t *testing.T) {
	t.Parallel()
	a := question()
	a.Questions = append(a.Questions, ask.Question{ID: "why", Kind: ask.KindText, Text: "?", Optional: true})
	a.AtDeadline = ask.AtDeadlineDefault
	a.Questions[0].Default = &ask.Answer{Selected: []string{"pg"}}
	q := lifecycle.New(a, now)
	if !q.Ask.Deadline.Equal(now.Add(time.Hour)) || q.Ask.Timeout != 0 || !q.AskedAt.Equal(now) {
		t.Errorf("stored %+v", q)
	}
	want := ask.Outcome{
		AskID: "a1", Tenant: "acme", Session: "s1", Status: ask.StatusExpired, Source: ask.SourceDefault,
		Answers: []ask.Answer{{QuestionID: "db", Selected: []string{"pg"}}, {QuestionID: "why", Skipped: true}},
		At:      now.Add(time.Hour), Waited: time.Hour,
	}
	if diff := cmp.Diff(want, q.Will); diff != "" {
		t.Errorf("will (-want +got):\n%s", diff)
	}
	a.AtDeadline = ask.AtDeadlineExpire
	if will := lifecycle.New(a, now).Will; will.Source != "" || will.Answers != nil {
		t.Errorf("silence was turned into a decision: %+v", will)
	}
}

func TestEveryCommandMeetsTheDeadlineTwoSecondsLate(t *testing.T) {
	t.Parallel()
	for _, c := range commands() {
		w := pending(t)
		w.now = w.held.Deadline.Add(lifecycle.Overdue)
		if effect, err := lifecycle.Decide(w.held, lifecycle.Look{}, w.now); err != nil || effect != (lifecycle.Tell{}) {
			t.Errorf("the timer has two seconds: %v, %v", effect, err)
		}
		w.now = w.now.Add(1)
		effect, err := lifecycle.Decide(w.held, c, w.now)
		if r, ok := effect.(lifecycle.Resolve); err != nil || !ok || r.Outcome.Status != ask.StatusExpired {
			t.Errorf("%T of an overdue ask: %v, %v", c, effect, err)
		}
	}
}

// commands returns all kinds of commands, valid and invalid.
func commands() []lifecycle.Command {
	stranger := reply("w9", "pg")
	stranger.By.Principal = "os:joe"
	return []lifecycle.Command{
		asking("d"),
		asking("e"),
		lifecycle.Reply{Reply: reply("w1", "pg")},
		lifecycle.Reply{Reply: reply("w2", "pg")},
		lifecycle.Reply{Reply: reply("w3", "stop")},
		lifecycle.Reply{Reply: reply("w4", "oracle")},
		lifecycle.Reply{Reply: stranger},
		lifecycle.Decline{Reply: reply("w1", ""), Reason: "no"},
		lifecycle.Decline{Reply: reply("w5", "")},
		lifecycle.Decline{Reply: stranger},
		lifecycle.Withdraw{Reason: "moot"},
		lifecycle.Leave{},
		lifecycle.Abort{Reason: "halt"},
		lifecycle.Look{},
	}
}
