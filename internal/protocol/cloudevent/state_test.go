package cloudevent_test

import (
	"maps"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/protocol/cloudevent"
	"github.com/askbus/askbus/internal/protocol/lifecycle"
	"github.com/askbus/askbus/internal/protocol/wire"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/nats-io/nats.go"
	"pgregory.net/rapid"
)

// TestWhatIsStoredIsTheStateReplayed writes the events of an ask in the
// ledger's form and reads each back: the same state, with the same bytes.
func TestWhatIsStoredIsTheStateReplayed(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		text := rapid.StringN(1, 50, -1)
		a := ask.Ask{
			ID: "a1", Tenant: "acme", Session: "s1", Title: text.Draw(r, "title"), Timeout: time.Hour, Audience: rapid.SliceOfN(text, 0, 3).Draw(r, "audience"),
			Questions: []ask.Question{{ID: "db", Text: text.Draw(r, "text"), Options: []ask.Option{{ID: "pg", Label: "P"}, {ID: "lite", Label: "S"}}}},
		}
		a.Normalize()
		s := lifecycle.New(a, time.UnixMilli(rapid.Int64Range(1e12, 2e12).Draw(r, "at")))
		var err error
		if s.RawAsk, err = wire.EncodeAsk(s.Ask); err != nil {
			t.Fatal(err)
		}
		digest, err := wire.DigestJSON(s.RawAsk)
		if err != nil {
			t.Fatal(err)
		}
		if other, err := wire.Digest(&a); err != nil || other != digest {
			t.Fatalf("the digest of the ask is %s, that of its bytes %s", other, digest)
		}
		s.Life, s.EventID, s.Digests = cloudevent.NewID(), rapid.StringMatching(`[!-~é]{1,40}`).Draw(r, "event"), []string{digest}
		s = lifecycle.Apply(lifecycle.State{}, lifecycle.Asked{State: s})
		question, err := cloudevent.QuestionEvent(&s)
		if err != nil {
			t.Fatal(err)
		}
		msg := message(t, question, s)
		back, err := cloudevent.ReadQuestion(msg, a.Key())
		same(t, "question", s, back, err)

		// The server copies the question at the deadline.
		fired := lifecycle.Apply(s, lifecycle.Ended{Outcome: s.Will, Timed: true})
		back, err = cloudevent.ReadOutcome(msg, a.Key())
		same(t, "fired", fired, back, err)

		o := ask.Outcome{
			AskID: "a1", Tenant: "acme", Session: "s1", Status: ask.StatusAnswered, Source: ask.SourceHuman, AnswerID: text.Draw(r, "answer"),
			Answers: []ask.Answer{{QuestionID: "db", Other: text.Draw(r, "other")}}, By: &ask.By{Principal: text.Draw(r, "who"), Responder: "web"},
			At: s.AskedAt.Add(time.Minute), Waited: time.Minute,
		}
		raw, err := wire.EncodeOutcome(&o, s.RawAsk)
		if err != nil {
			t.Fatal(err)
		}
		ended := lifecycle.Apply(s, lifecycle.Ended{Outcome: o, Raw: raw})
		end, err := cloudevent.EndEvent(&ended)
		if err != nil {
			t.Fatal(err)
		}
		msg = message(t, end, s)
		msg.Header.Set(cloudevent.HeaderDigest, digest)
		msg.Header.Set(cloudevent.HeaderAsked, cloudevent.AskedBy(s.EventID))
		back, err = cloudevent.ReadOutcome(msg, a.Key())
		if string(cloudevent.AskJSON(&back)) != string(s.RawAsk) {
			t.Fatalf("the ask's bytes were not carried: %s", cloudevent.AskJSON(&back))
		}
		ended.Will, ended.RawAsk = ask.Outcome{}, nil // an outcome contains its ask, but no expiry outcome
		same(t, "outcome", ended, back, err)
	})
}

func message(t *testing.T, e cloudevent.Event, s lifecycle.State) *nats.Msg {
	t.Helper()
	msg, err := e.Msg(cloudevent.Binary)
	if err != nil {
		t.Fatal(err)
	}
	msg.Header.Set(cloudevent.HeaderLife, s.Life)
	return msg
}

func same(t *testing.T, what string, want, got lifecycle.State, err error) {
	t.Helper()
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		t.Fatalf("%s (-stored +read):\n%s", what, diff)
	}
}

// Only messages that a stream republished from the ask's own subject count, and
// of its outcomes the first.
func TestFirstOutcome(t *testing.T) {
	t.Parallel()
	good := nats.Header{"Nats-Stream": {"ASKS_00"}, "Nats-Subject": {"ledgerv1.00.acme.s1.a1.o"}, "Nats-Last-Sequence": {"0"}}
	with := func(name, value string) nats.Header {
		h := maps.Clone(good)
		if h[name] = []string{value}; value == "" {
			delete(h, name)
		}
		return h
	}
	for name, c := range map[string]struct {
		subject string
		header  nats.Header
		ok      bool
	}{
		"the first":                {"outv1.acme.s1.a1.o", good, true},
		"a later one":              {"outv1.acme.s1.a1.o", with("Nats-Last-Sequence", "7"), false},
		"no last sequence":         {"outv1.acme.s1.a1.o", with("Nats-Last-Sequence", ""), false},
		"not from a stream":        {"outv1.acme.s1.a1.o", with("Nats-Stream", ""), false},
		"of another ask":           {"outv1.acme.s1.a1.o", with("Nats-Subject", "ledgerv1.00.acme.s1.a2.o"), false},
		"of a question":            {"outv1.acme.s1.a1.o", with("Nats-Subject", "ledgerv1.00.acme.s1.a1.q"), false},
		"a question":               {"outv1.acme.s1.a1.q", with("Nats-Subject", "ledgerv1.00.acme.s1.a1.q"), false},
		"on no subject of the bus": {"out.acme.s1.a1.o", good, false},
	} {
		k, ok := cloudevent.FirstOutcome(&nats.Msg{Subject: c.subject, Header: c.header})
		if ok != c.ok || ok && k != (ask.Key{Tenant: "acme", Session: "s1", ID: "a1"}) {
			t.Errorf("%s: %v, %v", name, k, ok)
		}
	}
}
