package broker_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/bus/broker"
	"github.com/askbus/askbus/internal/bus/ledger"
	"github.com/askbus/askbus/internal/bus/state"
	"github.com/askbus/askbus/internal/protocol/assertion"
	"github.com/askbus/askbus/internal/protocol/subject"
	"github.com/askbus/askbus/internal/server/rights"
	"github.com/askbus/askbus/internal/testkit/natstest"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/board"
	"github.com/askbus/askbus/pkg/client"
	"github.com/askbus/askbus/pkg/responder"
)

// deploying is a yes/no that needs so many of sre.
func deploying(id string, need int) ask.Ask {
	return ask.Ask{
		ID: id, Questions: []ask.Question{{ID: "go", Text: "Deploy?", Kind: ask.KindBoolean}},
		Approval: &ask.Approval{AnyOf: []ask.Alternative{{Need: need, From: []string{"group:sre"}}}},
	}
}

func ofSRE(name string) ask.By {
	return ask.By{Principal: "os:" + name, Name: name, Groups: []string{"sre", "everybody"}, Proof: ask.ProofOS}
}

func votes(id string, by ask.By, yes bool) ask.Reply {
	return ask.Reply{AnswerID: id, By: by, Answers: []ask.Answer{{QuestionID: "go", Boolean: &yes}}}
}

func counted(t *testing.T, err error, want string) {
	t.Helper()
	e, ok := errors.AsType[*ask.Error](err)
	if !ok || !errors.Is(err, ask.ErrVoted) || e.Detail != want {
		t.Fatalf("%v; want it counted as a vote: %s", err, want)
	}
}

func TestVotesOfTwoPeopleOnTwoSurfaces(t *testing.T) {
	t.Parallel()
	b := natstest.Start(t, natstest.Options{})
	c, web, tui := newClient(t, b, "s1"), newResponder(t, b, "web"), newResponder(t, b, "tui")
	if _, err := c.Ask(t.Context(), deploying("d1", 2)); err != nil {
		t.Fatal(err)
	}
	k := ask.Key{Tenant: "acme", Session: "s1", ID: "d1"}
	live := board.New(web, board.Options{})
	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { _ = live.Run(ctx) })
	defer running.Wait()
	defer stop()
	drawn, unfollow := live.Changes(board.Filter{})
	defer unfollow()

	_, err := tui.Answer(t.Context(), k, votes("v1", ofSRE("mei"), true))
	counted(t, err, "1 of 2 approvals: mei; 1 more needed from group sre")
	// Every screen sees it at once.
	for {
		heads, _ := live.Pending(board.Filter{}, 0, 10)
		if len(heads) == 1 && len(heads[0].Votes) == 1 && heads[0].Approval != nil {
			break
		}
		select {
		case <-drawn:
		case <-t.Context().Done():
			t.Fatal("the board does not show the vote")
		}
	}
	rec, err := live.Get(t.Context(), k)
	if err != nil || len(rec.Votes) != 1 || rec.Votes[0].By.Responder != "tui" {
		t.Errorf("on the board: %+v, %v", rec.Votes, err)
	}
	// The agent's status, and a list, tell it.
	got, err := c.Get(t.Context(), "d1")
	if err != nil || len(got.Votes) != 1 || got.Progress("", time.Now()) != "1 of 2 approvals: mei; 1 more needed from group sre" {
		t.Errorf("status: %+v, %v", got.Votes, err)
	}
	page, err := web.List(t.Context(), responder.Query{State: ask.StatePending})
	if err != nil || len(page.Items) != 1 || len(page.Items[0].Votes) != 1 {
		t.Errorf("list: %+v, %v", page, err)
	}
	// The same person on another surface moves her vote; it is not another one.
	_, err = web.Answer(t.Context(), k, votes("v2", ofSRE("mei"), true))
	counted(t, err, "1 of 2 approvals: mei; 1 more needed from group sre")
	if left, err := web.Unvote(t.Context(), k, "u1", ofSRE("mei")); err != nil || len(left) != 1 || left[0].Choice != ask.ChoiceWithdrawn {
		t.Errorf("taken back: %+v, %v", left, err)
	}
	// A vote that comes again after that does not count again.
	_, err = tui.Answer(t.Context(), k, votes("v1", ofSRE("mei"), true))
	counted(t, err, "0 of 2 approvals; 2 more needed from group sre")
	_, err = tui.Answer(t.Context(), k, votes("v3", ofSRE("mei"), true))
	counted(t, err, "1 of 2 approvals: mei; 1 more needed from group sre")
	// A stranger's answer is refused, and decides nothing.
	if _, err := web.Answer(t.Context(), k, votes("x1", ask.By{Principal: "os:eve", Groups: []string{"dev"}, Proof: ask.ProofOS}, true)); !errors.Is(err, ask.ErrForbidden) {
		t.Errorf("a stranger: %v", err)
	}
	o, err := web.Answer(t.Context(), k, votes("v4", ofSRE("jo"), true))
	if err != nil || o.Status != ask.StatusAnswered || len(o.Votes) != 2 || o.By.Principal != "os:jo" || !slices.Equal(o.Votes[0].By.Groups, []string{"sre"}) || o.Votes[0].Credential == "" || o.Votes[0].By.Proof != ask.ProofOS {
		t.Fatalf("%+v, %v", o, err)
	}
	waited, err := c.Wait(t.Context(), "d1")
	if err != nil || waited.Ending() != "approved by mei, jo" {
		t.Errorf("the agent is told %q, %v", waited.Ending(), err)
	}
	if _, err := tui.Unvote(t.Context(), k, "u2", ofSRE("mei")); !errors.Is(err, ask.ErrResolved) {
		t.Errorf("after the end: %v", err)
	}
}

// An agent that needs more votes than before asks something else: it never gets
// the outcome of the weaker ask.
func TestAnotherApprovalIsAnotherAsk(t *testing.T) {
	t.Parallel()
	b := natstest.Start(t, natstest.Options{})
	c := newClient(t, b, "s1")
	for range 2 {
		if _, err := c.Ask(t.Context(), deploying("d1", 2)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := c.Ask(t.Context(), deploying("d1", 3)); !errors.Is(err, ask.ErrIDReused) {
		t.Errorf("with more votes: %v", err)
	}
}

func TestAnExpiredAskTellsItsVotes(t *testing.T) {
	t.Parallel()
	b := natstest.Start(t, natstest.Options{Ledger: ledger.Options{Retention: 10 * time.Second, Margin: ledger.MinMargin}})
	c, r := newClient(t, b, "s1"), newResponder(t, b, "web")
	a := deploying("d1", 2)
	a.Timeout = 5 * time.Second
	if _, err := c.Ask(t.Context(), a); err != nil {
		t.Fatal(err)
	}
	_, err := r.Answer(t.Context(), ask.Key{Tenant: "acme", Session: "s1", ID: "d1"}, votes("v1", ofSRE("mei"), true))
	counted(t, err, "1 of 2 approvals: mei; 1 more needed from group sre")
	o, err := c.Wait(t.Context(), "d1")
	if err != nil || o.Status != ask.StatusExpired || len(o.Votes) != 1 || o.Ending() != "expired: 1 of 2 approvals: mei; 1 more needed from group sre" {
		t.Errorf("%s, %+v, %v", o.Ending(), o, err)
	}
}

// TestManyVotesAtOnce lets more people vote at once than are needed, at two
// brokers: one outcome, with as many votes as its policy needs, and everybody is
// told the truth.
func TestManyVotesAtOnce(t *testing.T) {
	t.Parallel()
	b := natstest.Start(t, natstest.Options{})
	b.Broker(broker.Options{})
	c, r := newClient(t, b, "s1"), newResponder(t, b, "web")
	const people, need = 12, 5
	for round := range 5 {
		k := ask.Key{Tenant: "acme", Session: "s1", ID: fmt.Sprint("d", round)}
		if _, err := c.Ask(t.Context(), deploying(k.ID, need)); err != nil {
			t.Fatal(err)
		}
		var said [people]error
		var running sync.WaitGroup
		for i := range people {
			running.Go(func() {
				_, said[i] = r.Answer(t.Context(), k, votes(fmt.Sprint("v", i), ofSRE(fmt.Sprint("p", i)), true))
			})
		}
		running.Wait()
		o, err := c.Wait(t.Context(), k.ID)
		if err != nil || len(o.Votes) != need {
			t.Fatalf("%d votes decided, %v", len(o.Votes), err)
		}
		won := 0
		for i, err := range said {
			in := slices.ContainsFunc(o.Votes, func(v ask.Vote) bool { return v.AnswerID == fmt.Sprint("v", i) })
			switch {
			case err == nil:
				won++
				fallthrough
			case errors.Is(err, ask.ErrVoted):
				if !in {
					t.Errorf("vote %d was told %v, and is not in the outcome", i, err)
				}
			case !errors.Is(err, ask.ErrResolved) || in:
				t.Errorf("vote %d: %v; in the outcome: %v", i, err, in)
			}
		}
		if won == 0 { // whoever voted while it ended is told the outcome, too
			t.Errorf("nobody completed it")
		}
	}
}

// TestARevokedCredentialsVotesAreLost checks that a vote stops counting when the
// credential it was given with is revoked, before the deciding one is counted.
func TestARevokedCredentialsVotesAreLost(t *testing.T) {
	t.Parallel()
	b := natstest.Start(t, natstest.Options{NoBroker: true})
	gone := &revoking{Verifier: b.Verifier()}
	b.Broker(broker.Options{Verifier: gone})
	c := newClient(t, b, "s1")
	if _, err := c.Ask(t.Context(), deploying("d1", 2)); err != nil {
		t.Fatal(err)
	}
	k := ask.Key{Tenant: "acme", Session: "s1", ID: "d1"}
	for i, name := range []string{"mei", "jo", "ana"} {
		nc := asserting(t, b, surface("web"), assertion.Set{Proven: []string{"os=os:" + name}, Groups: []string{"sre"}})
		r, err := responder.New(nc, "web", responder.Options{})
		if err != nil {
			t.Fatal(err)
		}
		user, _ := sender(t, nc)
		by := ofSRE(name)
		by.Groups, by.Name = []string{"sre"}, ""
		o, err := r.Answer(t.Context(), k, votes("v-"+name, by, true))
		switch i {
		case 0:
			counted(t, err, "1 of 2 approvals: os:mei; 1 more needed from group sre")
			gone.user.Store(&user)
		case 1:
			counted(t, err, "1 of 2 approvals: os:jo; 1 more needed from group sre")
		case 2:
			if err != nil || len(o.Votes) != 3 || o.Votes[0].Choice != ask.ChoiceRevoked || o.Votes[0].Revoked != ask.RevokedCredential || o.Ending() != "approved by os:jo, os:ana" {
				t.Errorf("%+v, %v", o, err)
			}
		}
	}
}

// revoking is a verifier for which one user has been revoked just now.
type revoking struct {
	broker.Verifier
	user atomic.Pointer[string]
}

func (v *revoking) Revoked(user string, at time.Time) bool {
	gone := v.user.Load()
	return gone != nil && *gone == user
}

// TestAVoteIsInNobodyElsesName tries to vote as others do.
func TestAVoteIsInNobodyElsesName(t *testing.T) {
	t.Parallel()
	b := natstest.Start(t, natstest.Options{})
	c := newClient(t, b, "s1")
	a := deploying("d1", 2)
	a.ExcludeAsker, a.Asker = true, []string{"os:asker", "oidc:id.example.com#asker"}
	if _, err := c.Ask(t.Context(), a); err != nil {
		t.Fatal(err)
	}
	k := ask.Key{Tenant: "acme", Session: "s1", ID: "d1"}
	mallory, err := responder.New(asserting(t, b, surface("web"), assertion.Set{Proven: []string{"os=os:mallory"}, Groups: []string{"dev"}}), "web", responder.Options{})
	if err != nil {
		t.Fatal(err)
	}
	by := func(principal string, groups ...string) ask.By {
		return ask.By{Principal: principal, Groups: groups, Proof: ask.ProofOS}
	}
	for name, who := range map[string]ask.By{
		"as Mei": by("os:mei"), "in a group that she is not in": by("os:mallory", "sre"), "as herself": by("os:mallory", "dev"), "as nobody": {},
	} {
		if _, err := mallory.Answer(t.Context(), k, votes("m", who, true)); !errors.Is(err, ask.ErrForbidden) {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := mallory.Cancel(t.Context(), k, responder.Decline{By: who}); !errors.Is(err, ask.ErrForbidden) {
			t.Errorf("%s, against it: %v", name, err)
		}
		if _, err := mallory.Unvote(t.Context(), k, "", who); err == nil {
			t.Errorf("%s, taking it back", name)
		}
	}
	honest := newResponder(t, b, "web")
	for _, asker := range a.Asker {
		if _, err := honest.Answer(t.Context(), k, votes("a", by(asker, "sre"), true)); !errors.Is(err, ask.ErrForbidden) {
			t.Errorf("the asker as %s: %v", asker, err)
		}
	}
	_, err = honest.Answer(t.Context(), k, votes("v1", ofSRE("mei"), true))
	counted(t, err, "1 of 2 approvals: mei; 1 more needed from group sre")
	if _, err := mallory.Unvote(t.Context(), k, "", by("os:mei")); !errors.Is(err, ask.ErrForbidden) {
		t.Errorf("Mei's vote is taken back by another: %v", err)
	}
	// Mei leaves the group: what she said stays as it was stored, and she may
	// not vote again.
	if _, err := honest.Answer(t.Context(), k, votes("v2", by("os:mei"), true)); !errors.Is(err, ask.ErrForbidden) {
		t.Errorf("after leaving the group: %v", err)
	}
	// Agents and hosts have no such verb.
	for _, s := range []string{"askv1.acme.s1.unvote.d1", "hostv1." + "UAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA" + ".acme.s1.unvote.d1"} {
		if _, err := subject.Parse(s); err == nil {
			t.Errorf("%s is a request", s)
		}
	}
}

// TestAPlainAskIsStoredAsBefore checks that nothing of votes is in the bytes of
// an ask without them.
func TestAPlainAskIsStoredAsBefore(t *testing.T) {
	t.Parallel()
	b := natstest.Start(t, natstest.Options{})
	c, r := newClient(t, b, "s1"), newResponder(t, b, "web")
	a := storage()
	a.ID = "d1"
	if _, err := c.Ask(t.Context(), a); err != nil {
		t.Fatal(err)
	}
	o, err := r.Answer(t.Context(), ask.Key{Tenant: "acme", Session: "s1", ID: "d1"}, pick("pg"))
	if err != nil {
		t.Fatal(err)
	}
	data, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	var fields map[string]any
	if err := json.Unmarshal(data, &fields); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"votes", "approval", "only", "exclude"} {
		if fields[name] != nil || fields["ask"].(map[string]any)[name] != nil { //nolint:forcetypeassert // it fails the test
			t.Errorf("%s in %s", name, data)
		}
	}
}

// TestWhoIsSignedOutLosesPendingVotes checks, with two brokers, that a person whose sign-ins were ended, and
// an API token that was revoked, lose their votes before the deciding one is counted, and that the person may
// vote again.
func TestWhoIsSignedOutLosesPendingVotes(t *testing.T) {
	t.Parallel()
	b := natstest.Start(t, natstest.Options{})
	b.Broker(broker.Options{Verifier: b.Verifier()})
	c, web := newClient(t, b, "s1"), newResponder(t, b, "web")
	operator := b.Connect(rights.Role{Name: rights.RoleOperator})
	people, tokens := state.Open(operator, state.Operator(), state.Revoked), state.Open(operator, state.Operator(), state.Tokens)
	if _, err := tokens.Put(t.Context(), state.Key{Name: "t1"}, struct{}{}, 0); err != nil {
		t.Fatal(err)
	}
	gateway, err := responder.New(b.Connect(rights.Role{Name: rights.RoleGateway}), subject.TypeGateway, responder.Options{})
	if err != nil {
		t.Fatal(err)
	}
	overHTTP := client.ForToken(t.Context(), func() string { return "t1" })
	for i := range 8 { // both brokers count some
		id := fmt.Sprint("d", i)
		k := ask.Key{Tenant: "acme", Session: "s1", ID: id}
		if _, err := c.Ask(t.Context(), deploying(id, 2)); err != nil {
			t.Fatal(err)
		}
		_, err := web.Answer(t.Context(), k, votes("mei", ofSRE("mei"), true))
		counted(t, err, "1 of 2 approvals: mei; 1 more needed from group sre")
		lost, why := ask.ChoiceRevoked, ask.RevokedSignIn
		if i%2 == 0 {
			tenant := []string{"", "acme"}[i/2%2]
			if _, err := people.Put(t.Context(), subject.RevokedKey(tenant, "os:mei"), struct{}{}, time.Hour); err != nil {
				t.Fatal(err)
			}
		} else { // of another tenant, or of before
			if _, err := people.Put(t.Context(), subject.RevokedKey("other", "os:mei"), struct{}{}, time.Hour); err != nil {
				t.Fatal(err)
			}
			lost, why = ask.ChoiceApprove, ""
		}
		rec, err := web.Get(t.Context(), k)
		if err != nil || rec.Votes[0].Choice != lost || rec.Votes[0].Revoked != why {
			t.Errorf("%s: status: %+v, %v", id, rec.Votes, err)
		}
		o, err := gateway.Answer(overHTTP, k, votes("jo", ofSRE("jo"), true))
		if lost == ask.ChoiceApprove {
			if err != nil || o.Ending() != "approved by mei, jo" || o.Votes[1].Token != "t1" {
				t.Errorf("%s: %+v, %v", id, o, err)
			}
			continue
		}
		counted(t, err, "1 of 2 approvals: jo; 1 more needed from group sre")
		if i == 0 {
			if err := tokens.Delete(t.Context(), state.Key{Name: "t1"}); err != nil {
				t.Fatal(err)
			}
			_, err = web.Answer(t.Context(), k, votes("ana", ofSRE("ana"), true))
			counted(t, err, "1 of 2 approvals: ana; 1 more needed from group sre")
			if _, err := tokens.Put(t.Context(), state.Key{Name: "t1"}, struct{}{}, 0); err != nil {
				t.Fatal(err)
			}
		}
		// Mei signs in again, and votes again; a repetition of what she said before is no vote.
		_, err = web.Answer(t.Context(), k, votes("mei", ofSRE("mei"), true))
		counted(t, err, fmt.Sprintf("1 of 2 approvals: %s; 1 more needed from group sre", []string{"ana", "jo"}[min(i, 1)]))
		o, err = web.Answer(t.Context(), k, votes("mei-again", ofSRE("mei"), true))
		if err != nil || o.Status != ask.StatusAnswered || len(o.Votes) != 2+(1-min(i, 1)) {
			t.Errorf("%s: voted again: %+v, %v", id, o, err)
		}
	}
}
