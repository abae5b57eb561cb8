package broker

import (
	"context"
	"fmt"
	"slices"

	"github.com/askbus/askbus/internal/protocol/lifecycle"
	"github.com/askbus/askbus/internal/protocol/subject"
	"github.com/askbus/askbus/pkg/ask"
)

// breakGlass returns the operator's roles as they are now, for a command that uses one.
func (b *Broker) breakGlass(tenant string, c lifecycle.Command) []ask.BreakGlassRole {
	if r, ok := c.(lifecycle.Reply); !ok || r.Reply.BreakGlass == nil || b.opts.Approvals == nil {
		return nil
	}
	return b.opts.Approvals().Roles(tenant)
}

// standing returns the votes, in which those are marked as revoked that count no
// more: their credential or API token was revoked, or their person signed out by
// an operator or the provider, since they were given, or is in the list of people
// no more, where that matters. Who is one person is as s.People says. It reads shared state from
// its leader, so a decision anywhere counts what was revoked before it. With an
// error it returns the votes as far as it has read.
func (b *Broker) standing(ctx context.Context, tenant string, s *lifecycle.State) ([]ask.Vote, error) {
	votes := s.Votes()
	all, needs := votes, len(votes) > 0 && s.Ask.NeedsPerson()
	own := func() { // they are shared
		if &all[0] == &votes[0] {
			all = slices.Clone(votes)
		}
	}
	for i := range votes {
		v := &votes[i]
		person, seat := s.People.Of(v.By.Principal), ""
		if v.By.For != nil {
			seat = s.People.Of(v.By.For.Principal)
		}
		if needs && (person != v.Person || seat != v.ForPerson) {
			own()
			all[i].Person, all[i].ForPerson = person, seat
		}
		if !v.Stands() {
			continue
		}
		why, err := b.revoked(ctx, tenant, v)
		if err != nil {
			return all, fmt.Errorf("broker: does the vote of %.80q stand: %w", v.By.Principal, err)
		}
		if linked, unknown := s.Ask.ExcludedAs(v.By, s.People); why == "" && (linked || unknown) {
			why = ask.RevokedPerson
		}
		if why != "" {
			own()
			all[i].Choice, all[i].Revoked = ask.ChoiceRevoked, why
		}
	}
	return all, nil
}

// revoked returns what was revoked since a vote was given, of what it was given with; empty: nothing.
func (b *Broker) revoked(ctx context.Context, tenant string, v *ask.Vote) (string, error) {
	if b.opts.Verifier != nil && b.opts.Verifier.Revoked(v.Credential, v.At) {
		return ask.RevokedCredential, nil
	}
	if v.Token != "" {
		e, err := b.led.ReadState(ctx, subject.BucketTokens, subject.StateKey{Name: v.Token})
		if err != nil || !e.Live(b.led.Now()) {
			return ask.RevokedToken, err
		}
	}
	if v.By.For != nil {
		if why, err := b.revoked(ctx, tenant, &ask.Vote{By: *v.By.For, At: v.At}); why != "" || err != nil {
			return why, err
		}
	}
	for _, of := range []string{"", tenant} { // by an operator, and by an inbox of one tenant
		e, err := b.led.ReadState(ctx, subject.BucketRevoked, subject.RevokedKey(of, v.By.Principal))
		if err != nil || e.Live(b.led.Now()) && !v.At.After(e.Written) {
			return ask.RevokedSignIn, err
		}
	}
	return "", nil
}
