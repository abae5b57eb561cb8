package broker_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/bus/connection"
	"github.com/askbus/askbus/internal/protocol/assertion"
	"github.com/askbus/askbus/internal/protocol/subject"
	"github.com/askbus/askbus/internal/protocol/wire"
	"github.com/askbus/askbus/internal/testkit/natstest"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/responder"
	"github.com/nats-io/nats.go"
)

// stranger is a person in no group.
func stranger(name string) ask.By {
	return ask.By{Principal: "os:" + name, Name: name, Proof: ask.ProofOS}
}

func away(t *testing.T, r *responder.Responder, by ask.By, to, tenant string) {
	t.Helper()
	if _, err := r.Away(t.Context(), responder.Away{By: by, To: to, Tenant: tenant, Until: time.Now().Add(time.Hour)}); err != nil {
		t.Fatal(err)
	}
}

func pose(t *testing.T, b *natstest.Bus, a ask.Ask) ask.Key {
	t.Helper()
	if _, err := newClient(t, b, "s1").Ask(t.Context(), a); err != nil {
		t.Fatal(err)
	}
	return ask.Key{Tenant: "acme", Session: "s1", ID: a.ID}
}

func forbidden(t *testing.T, what string, err error) {
	t.Helper()
	if !errors.Is(err, ask.ErrForbidden) {
		t.Errorf("%s: %v", what, err)
	}
}

// TestAStandInVotesForWhoIsAway: Jo has no right of her own, and votes with Mei's.
func TestAStandInVotesForWhoIsAway(t *testing.T) {
	t.Parallel()
	b := natstest.Start(t, natstest.Options{})
	r := newResponder(t, b, "web")
	k := pose(t, b, deploying("d1", 2))
	_, err := r.Answer(t.Context(), k, votes("v0", stranger("jo"), true))
	forbidden(t, "nobody is away", err)
	claims, mei := stranger("jo"), ofSRE("mei")
	claims.For = &mei
	_, err = r.Answer(t.Context(), k, votes("v0", claims, true))
	if !errors.Is(err, ask.ErrInvalid) {
		t.Errorf("a sender says for whom it stands in: %v", err)
	}
	away(t, r, mei, "os:jo", "acme")
	away(t, r, stranger("jo"), "os:kim", "") // of Jo's own rights only: no chain
	_, err = r.Answer(t.Context(), k, votes("v1", stranger("jo"), true))
	counted(t, err, "1 of 2 approvals: jo for os:mei; 1 more needed from group sre")
	_, err = r.Answer(t.Context(), k, votes("v1", stranger("jo"), true)) // the same again
	counted(t, err, "1 of 2 approvals: jo for os:mei; 1 more needed from group sre")
	_, err = r.Answer(t.Context(), k, votes("v2", stranger("kim"), true))
	forbidden(t, "a stand-in's stand-in", err)

	// Mei is back: her own vote takes the place of the one that was given for her.
	_, err = r.Answer(t.Context(), k, votes("v3", ofSRE("mei"), true))
	counted(t, err, "1 of 2 approvals: mei; 1 more needed from group sre")
	_, err = r.Answer(t.Context(), k, votes("v4", stranger("jo"), true))
	forbidden(t, "beside Mei's own vote", err)
	if _, err := r.Unvote(t.Context(), k, "u1", ofSRE("mei")); err != nil {
		t.Fatal(err)
	}
	_, err = r.Answer(t.Context(), k, votes("v5", stranger("jo"), true))
	counted(t, err, "1 of 2 approvals: jo for os:mei; 1 more needed from group sre")
	o, err := r.Answer(t.Context(), k, votes("v6", ofSRE("tom"), true))
	if err != nil || o.Ending() != "approved by jo for os:mei, tom" {
		t.Fatalf("%s, %v", o.Ending(), err)
	}
	v := o.Votes[1]
	if v.By.Principal != "os:jo" || v.By.For == nil || v.By.For.Principal != "os:mei" || len(v.By.Groups) != 0 || len(v.By.For.Groups) != 1 || v.By.For.Groups[0] != "sre" {
		t.Errorf("the vote is %+v for %+v", v.By, v.By.For)
	}
}

// TestOnePersonIsOneVoter: who votes for herself and stands in for somebody else has
// one vote, and one who is away has one too, however many stand in.
func TestOnePersonIsOneVoter(t *testing.T) {
	t.Parallel()
	b := natstest.Start(t, natstest.Options{})
	r := newResponder(t, b, "web")
	k := pose(t, b, deploying("d1", 2))
	away(t, r, ofSRE("mei"), "os:tom", "acme")
	away(t, r, ofSRE("mei"), "os:kim", "acme")
	away(t, r, ofSRE("mei"), "os:jo", "acme")
	_, err := r.Answer(t.Context(), k, votes("v1", ofSRE("tom"), true))
	counted(t, err, "1 of 2 approvals: tom; 1 more needed from group sre")
	_, err = r.Answer(t.Context(), k, votes("v2", ofSRE("tom"), true))
	counted(t, err, "1 of 2 approvals: tom; 1 more needed from group sre")
	if _, err := r.Unvote(t.Context(), k, "u1", ofSRE("tom")); err != nil {
		t.Fatal(err)
	}
	_, err = r.Answer(t.Context(), k, votes("v3", stranger("kim"), true))
	counted(t, err, "1 of 2 approvals: kim for os:mei; 1 more needed from group sre")
	_, err = r.Answer(t.Context(), k, votes("v4", stranger("jo"), true))
	forbidden(t, "a second stand-in of Mei", err)
}

// TestStandInsOfTheExcluded: nobody gets round exclude_asker, exclude, only and
// min_proof by a stand-in.
func TestStandInsOfTheExcluded(t *testing.T) {
	t.Parallel()
	b := natstest.Start(t, natstest.Options{})
	r := newResponder(t, b, "web")
	away(t, r, ofSRE("mei"), "os:jo", "")
	away(t, r, ofSRE("tom"), "os:eve", "")
	for id, of := range map[string]struct {
		change func(*ask.Ask)
		by     string
	}{
		"stand-in-of-the-asker":  {func(a *ask.Ask) { a.ExcludeAsker, a.Asker = true, []string{"os:mei"} }, "jo"},
		"the-asker-as-stand-in":  {func(a *ask.Ask) { a.ExcludeAsker, a.Asker = true, []string{"os:jo"} }, "jo"},
		"stand-in-of-excluded":   {func(a *ask.Ask) { a.Exclude = []string{"os:mei"} }, "jo"},
		"the-excluded-stands-in": {func(a *ask.Ask) { a.Exclude = []string{"os:eve"} }, "eve"},
		"only-the-asker":         {func(a *ask.Ask) { a.Only, a.Asker = ask.OnlyAsker, []string{"os:mei"} }, "jo"},
		"a-weak-proof":           {func(a *ask.Ask) { a.MinProof = ask.ProofPasskey }, "jo"},
	} {
		a := deploying(id, 1)
		of.change(&a)
		k := pose(t, b, a)
		by := stranger(of.by)
		if id == "a-weak-proof" {
			by.Proof = ask.ProofPasskey // Mei said it with a weaker one
		}
		_, err := r.Answer(t.Context(), k, votes("v", by, true))
		forbidden(t, id, err)
		_, err = r.Cancel(t.Context(), k, responder.Decline{AnswerID: "c", By: by})
		forbidden(t, id+": declines", err)
	}
	// Without an exclusion both may, also a plain ask with an audience.
	o, err := r.Answer(t.Context(), pose(t, b, deploying("plain", 1)), votes("v", stranger("jo"), true))
	if err != nil || o.Ending() != "approved by jo for os:mei" {
		t.Errorf("%s, %v", o.Ending(), err)
	}
	a := deploying("audience", 1)
	a.Approval, a.Audience = nil, []string{"os:mei"}
	o, err = r.Answer(t.Context(), pose(t, b, a), votes("v", stranger("jo"), true))
	if err != nil || o.Ending() != "answered by jo for os:mei on the web" {
		t.Errorf("%s, %v", o.Ending(), err)
	}
}

// TestWhoSaysWhoStandsIn: only the person who is away, signed in, in this tenant, for
// a bounded time.
func TestWhoSaysWhoStandsIn(t *testing.T) {
	t.Parallel()
	b := natstest.Start(t, natstest.Options{})
	r := newResponder(t, b, "web")
	soon := time.Now().Add(time.Hour)
	for what, a := range map[string]responder.Away{
		"a token":      {By: ask.By{Principal: "token:t1", Proof: ask.ProofToken}, To: "os:jo", Until: soon},
		"a host":       {By: ask.By{Principal: "os:mei", Proof: ask.ProofHostDialog}, To: "os:jo", Until: soon},
		"a credential": {To: "os:jo", Until: soon},
	} {
		_, err := r.Away(t.Context(), a)
		forbidden(t, what, err)
	}
	for what, a := range map[string]responder.Away{
		"herself":    {By: ofSRE("mei"), To: "os:mei", Until: soon},
		"a group":    {By: ofSRE("mei"), To: "group:sre", Until: soon},
		"a token":    {By: ofSRE("mei"), To: "token:t1", Until: soon},
		"for a year": {By: ofSRE("mei"), To: "os:jo", Until: soon.AddDate(1, 0, 0)},
		"the past":   {By: ofSRE("mei"), To: "os:jo", Until: time.Now().Add(-time.Hour)},
		"nobody":     {By: ofSRE("mei"), Until: soon},
		"a name":     {By: ofSRE("mei"), To: "jo", Until: soon}, // of nobody in the list: it is no user of the machine
	} {
		if _, err := r.Away(t.Context(), a); !errors.Is(err, ask.ErrInvalid) {
			t.Errorf("%s: %v", what, err)
		}
	}
	one, err := responder.New(asserting(t, b, surface("tui"), assertion.Set{Proven: []string{"os=os:eve"}}), "tui", responder.Options{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = one.Away(t.Context(), responder.Away{By: ofSRE("mei"), To: "os:eve", Until: soon})
	forbidden(t, "for somebody else", err)
	eve := stranger("eve")
	eve.Name = "Mei"
	if s, err := one.Away(t.Context(), responder.Away{By: eve, To: "os:tom", Until: soon}); err != nil || s.Absent.Name != "" {
		t.Errorf("a name of her own choice: %+v, %v", s, err)
	}
	if _, err := one.Away(t.Context(), responder.Away{By: eve, To: "os:tom"}); err != nil {
		t.Fatal(err)
	}
	if all, err := r.StandIns(t.Context()); err != nil || len(all) != 0 {
		t.Fatalf("%+v, %v", all, err)
	}
	away(t, r, ofSRE("mei"), "os:jo", "other") // for another tenant
	k := pose(t, b, deploying("d1", 1))
	_, err = r.Answer(t.Context(), k, votes("v1", stranger("jo"), true))
	forbidden(t, "another tenant", err)
	away(t, r, ofSRE("mei"), "os:jo", "acme")
	if all, err := r.StandIns(t.Context()); err != nil || len(all) != 2 || all[1].Tenant != "acme" || all[1].By != "os:jo" || all[1].Absent.Principal != "os:mei" {
		t.Fatalf("%+v, %v", all, err)
	}
	if _, err := r.Away(t.Context(), responder.Away{By: ofSRE("mei"), To: "os:jo", Tenant: "acme"}); err != nil {
		t.Fatal(err)
	}
	_, err = r.Answer(t.Context(), k, votes("v2", stranger("jo"), true))
	forbidden(t, "it was ended", err)
}

// TestOnePersonStandsInForSoMany: nobody names a stand-in who has the most people
// already; whoever has named them may say so again, until another day.
func TestOnePersonStandsInForSoMany(t *testing.T) {
	t.Parallel()
	b := natstest.Start(t, natstest.Options{})
	r := newResponder(t, b, "web")
	for i := range 50 {
		away(t, r, stranger(fmt.Sprint("p", i)), "os:jo", "acme")
	}
	_, err := r.Away(t.Context(), responder.Away{By: ofSRE("mei"), To: "os:jo", Tenant: "acme", Until: time.Now().Add(time.Hour)})
	if !errors.Is(err, ask.ErrQuota) {
		t.Errorf("one more: %v", err)
	}
	away(t, r, stranger("p7"), "os:jo", "acme")
	if _, err := r.Away(t.Context(), responder.Away{By: stranger("p7"), To: "os:jo", Tenant: "acme"}); err != nil {
		t.Fatal(err)
	}
	away(t, r, stranger("p7"), "os:jo", "acme")
}

// TestAStandInHandsOver: who may decide for somebody who is away may also say who should,
// and whoever is excluded may not.
func TestAStandInHandsOver(t *testing.T) {
	t.Parallel()
	b := natstest.Start(t, natstest.Options{})
	r := newResponder(t, b, "web")
	k := pose(t, b, deploying("d1", 2))
	own := deploying("d2", 2)
	own.ExcludeAsker, own.Asker = true, []string{"os:mei"}
	excluding := pose(t, b, own)
	hand := func(k ask.Key) error {
		rec, err := r.Get(t.Context(), k)
		if err != nil {
			t.Fatal(err)
		}
		body, err := json.Marshal(wire.Handover{By: stranger("jo"), Life: rec.Life, To: "os:tom"})
		if err != nil {
			t.Fatal(err)
		}
		_, err = connection.Do(t.Context(), connection.On(r.Conn()), &nats.Msg{Subject: subject.Responder("web", subject.Self, k, subject.VerbHandOver), Data: body}, 0)
		return err
	}
	forbidden(t, "nobody is away", hand(k))
	away(t, r, ofSRE("mei"), "os:jo", "acme")
	if err := hand(k); err != nil {
		t.Error(err)
	}
	forbidden(t, "for somebody whom the ask excludes", hand(excluding))
}
