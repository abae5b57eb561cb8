package broker_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/bus/connection"
	"github.com/askbus/askbus/internal/protocol/assertion"
	"github.com/askbus/askbus/internal/protocol/subject"
	"github.com/askbus/askbus/internal/protocol/wire"
	"github.com/askbus/askbus/internal/server/rights"
	"github.com/askbus/askbus/internal/testkit/natstest"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/client"
	"github.com/askbus/askbus/pkg/responder"
	"github.com/nats-io/nats.go"
)

// TestAttacksOnVotes is the list of ways to a vote that somebody does not have: none changes how far an ask has
// come. The ask needs two of sre, Mei has voted, and it excludes who asked.
func TestAttacksOnVotes(t *testing.T) {
	t.Parallel()
	b := natstest.Start(t, natstest.Options{})
	agent, honest, tui := newClient(t, b, "s1"), newResponder(t, b, "web"), newResponder(t, b, "tui")
	mallory, err := responder.New(asserting(t, b, surface("web"), assertion.Set{Proven: []string{"os=os:mallory"}, Groups: []string{"dev"}}), "web", responder.Options{})
	if err != nil {
		t.Fatal(err)
	}
	away(t, honest, ofSRE("asker"), "os:kim", "")
	away(t, honest, ofSRE("mei"), "os:jo", "")
	gateway, err := responder.New(b.Connect(rights.Role{Name: rights.RoleGateway}), subject.TypeGateway, responder.Options{})
	if err != nil {
		t.Fatal(err)
	}
	elsewhere := b.Connect(rights.Role{Name: rights.RoleResponder, Type: "web", Tenant: "other"})
	agentConn := b.Agent("acme", "s1")
	heard := make(chan *nats.Msg, 16) // the vote of Mei, as it was sent
	if _, err := b.Admin().ChanSubscribe("ansv1.web.*.acme.s1.answer.seen", heard); err != nil {
		t.Fatal(err)
	}
	if err := b.Admin().Flush(); err != nil {
		t.Fatal(err)
	}
	posed := func(id string) ask.Key {
		a := deploying(id, 2)
		a.ExcludeAsker, a.Asker = true, []string{"os:asker"}
		k := pose(t, b, a)
		_, err := honest.Answer(t.Context(), k, votes("v1", ofSRE("mei"), true))
		counted(t, err, "1 of 2 approvals: mei; 1 more needed from group sre")
		return k
	}
	raw := func(nc *nats.Conn, at string, k ask.Key, m *nats.Msg) error {
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		defer cancel()
		out := nats.NewMsg(at)
		out.Data, out.Header = bytes.Replace(m.Data, []byte(`"seen"`), []byte(`"`+k.ID+`"`), 1), maps.Clone(m.Header)
		out.Header.Set("ce-subject", k.ID)
		out.Header.Set("ce-partitionkey", k.Tenant+"/"+k.Session)
		_, err := connection.Do(ctx, connection.On(nc), out, 0)
		return err
	}
	posed("seen")
	captured := <-heard
	no := func(who *responder.Responder, id string, by ask.By) func(ask.Key) error {
		return func(k ask.Key) error { _, err := who.Answer(t.Context(), k, votes(id, by, true)); return err }
	}
	removes := func(nc *nats.Conn) func(ask.Key) error {
		return func(ask.Key) error {
			ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
			defer cancel()
			_, err := connection.Do(ctx, connection.On(nc), &nats.Msg{Subject: subject.OfTenant("acme", subject.VerbRemove), Data: []byte("{}")}, 0)
			return err
		}
	}
	leftGroup := ofSRE("tom")
	leftGroup.Groups = []string{"everybody"}
	for name, c := range map[string]struct {
		try  func(ask.Key) error
		want error // nil: any error
	}{
		"in another's name":                       {no(mallory, "x", ofSRE("tom")), ask.ErrForbidden},
		"in another's group":                      {no(mallory, "x", ask.By{Principal: "os:mallory", Groups: []string{"sre"}, Proof: ask.ProofOS}), ask.ErrForbidden},
		"with the answer id of another's vote":    {no(mallory, "v1", ask.By{Principal: "os:mallory", Groups: []string{"dev"}, Proof: ask.ProofOS}), ask.ErrForbidden},
		"as the stand-in of somebody":             {no(mallory, "x", ask.By{Principal: "os:mallory", Proof: ask.ProofOS}.Standing(ofSRE("tom"))), ask.ErrInvalid},
		"twice, at two surfaces":                  {no(tui, "v2", ofSRE("mei")), ask.ErrVoted},
		"twice, as the stand-in of one who voted": {no(honest, "v2", stranger("jo")), ask.ErrForbidden},
		"after leaving the group":                 {no(honest, "v2", leftGroup), ask.ErrForbidden},
		"the same message again":                  {no(honest, "v1", ofSRE("mei")), ask.ErrVoted},
		"by the asker":                            {no(honest, "v2", ofSRE("asker")), ask.ErrForbidden},
		"by a stand-in of the asker":              {no(honest, "v2", stranger("kim")), ask.ErrForbidden},
		"by the dialog of the agent's host":       {no(honest, "v2", ask.By{Principal: "os:tom", Groups: []string{"sre"}, Proof: ask.ProofHostDialog}), ask.ErrForbidden},
		"by a token": {func(k ask.Key) error {
			_, err := gateway.Answer(client.ForToken(t.Context(), func() string { return "t1" }), k, votes("v2", ask.By{Principal: "token:t1", Groups: []string{"sre"}, Proof: ask.ProofToken}, true))
			return err
		}, ask.ErrForbidden},
		"by the agent": {func(k ask.Key) error {
			return raw(agentConn, "askv1.acme.s1.answer."+k.ID, k, captured)
		}, nil},
		"by the agent at the subject of a surface": {func(k ask.Key) error {
			return raw(agentConn, subject.Responder("web", subject.Self, k, subject.VerbAnswer), k, captured)
		}, nil},
		"by a surface of another tenant": {func(k ask.Key) error {
			return raw(elsewhere, subject.Responder("web", subject.Self, k, subject.VerbAnswer), k, captured)
		}, nil},
		"by a surface of another tenant, as of its own": {func(k ask.Key) error {
			other := k
			other.Tenant = "other"
			return raw(elsewhere, subject.Responder("web", subject.Self, other, subject.VerbAnswer), other, captured)
		}, ask.ErrNotFound},
		"a vote that was seen, sent by another surface": {func(k ask.Key) error {
			return raw(mallory.Conn(), subject.Responder("web", subject.Self, k, subject.VerbAnswer), k, captured)
		}, ask.ErrForbidden},
		"the same, with a forged protocol number": {func(k ask.Key) error {
			forged := &nats.Msg{Data: captured.Data, Header: maps.Clone(captured.Header)}
			forged.Header.Set(wire.HeaderProtocol, "9")
			return raw(mallory.Conn(), subject.Responder("web", subject.Self, k, subject.VerbAnswer), k, forged)
		}, ask.ErrForbidden},
		"the agent removes its tenant, to be asked nothing": {removes(agentConn), nil},
		"a surface removes the tenant":                      {removes(mallory.Conn()), nil},
		"a gateway removes the tenant":                      {removes(gateway.Conn()), nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := posed("d" + fmt.Sprint(len(name)) + "-" + fmt.Sprint(time.Now().UnixNano()))
			if err := c.try(k); err == nil || c.want != nil && !errors.Is(err, c.want) {
				t.Errorf("it is told %v, want %v", err, c.want)
			}
			rec, err := agent.Get(t.Context(), k.ID)
			if got := rec.Progress("", time.Now()); err != nil || rec.Outcome != nil || got != "1 of 2 approvals: mei; 1 more needed from group sre" {
				t.Errorf("now it has %q, %+v, %v", got, rec.Outcome, err)
			}
		})
	}
	t.Run("a vote that was taken back, again", func(t *testing.T) {
		t.Parallel()
		k := posed("back")
		if _, err := honest.Unvote(t.Context(), k, "u1", ofSRE("mei")); err != nil {
			t.Fatal(err)
		}
		_, err := honest.Answer(t.Context(), k, votes("v1", ofSRE("mei"), true))
		counted(t, err, "0 of 2 approvals; 2 more needed from group sre")
	})
	t.Run("after the end", func(t *testing.T) {
		t.Parallel()
		k := posed("over")
		if _, err := honest.Answer(t.Context(), k, votes("v2", ofSRE("tom"), true)); err != nil {
			t.Fatal(err)
		}
		o, err := agent.Wait(t.Context(), k.ID)
		if err != nil {
			t.Fatal(err)
		}
		for id, by := range map[string]ask.By{"late": ofSRE("ana"), "moved": ofSRE("mei")} {
			if _, err := honest.Answer(t.Context(), k, votes(id, by, false)); !errors.Is(err, ask.ErrResolved) {
				t.Errorf("%s: %v", id, err)
			}
		}
		if _, err := honest.Unvote(t.Context(), k, "u1", ofSRE("mei")); !errors.Is(err, ask.ErrResolved) {
			t.Errorf("taken back: %v", err)
		}
		again, err := agent.Wait(t.Context(), k.ID)
		if err != nil || again.Ending() != o.Ending() || len(again.Votes) != 2 {
			t.Errorf("%+v, %v", again, err)
		}
	})
}
