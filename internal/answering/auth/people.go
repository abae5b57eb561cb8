package auth

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/askbus/askbus/internal/bus/state"
	"github.com/nats-io/nats.go"
)

// Session is a sign-in session for lists, without secrets.
type Session struct {
	ID        string    `json:"id"` // the hash of the secret id
	Tenant    string    `json:"tenant,omitempty"`
	Principal string    `json:"principal"`
	Name      string    `json:"name,omitempty"`
	Client    string    `json:"client,omitempty"`
	Created   time.Time `json:"created"`
	Seen      time.Time `json:"seen"`
}

// ErrNobody means that the person has no sessions to end.
var ErrNobody = errors.New("nobody is signed in")

// People lists and ends sign-in sessions, with an operator's credential.
type People struct{ bucket, revoked, push *state.Bucket }

// NewPeople makes People over an operator's connection. It sends nothing.
func NewPeople(nc *nats.Conn) *People {
	open := func(bucket string) *state.Bucket { return state.Open(nc, state.Operator(), bucket) }
	return &People{open(state.Sessions), open(state.Revoked), open(state.Push)}
}

// List returns every session, the most recently active first.
func (p *People) List(ctx context.Context) ([]Session, error) {
	entries, err := p.bucket.List(ctx)
	if err != nil {
		return nil, err
	}
	list := make([]Session, 0, len(entries))
	for i := range entries {
		var r record
		if err := json.Unmarshal(entries[i].Value, &r); err != nil {
			return nil, fmt.Errorf("session %s: %w", entries[i].Key.Name, err)
		}
		if r.Challenge != "" {
			continue // not redeemed yet; it ends with the session that created it
		}
		k := entries[i].Key
		list = append(list, Session{k.Name, k.Tenant, r.Principal, r.Name, r.Client, r.Created, r.Seen})
	}
	sort.SliceStable(list, func(i, j int) bool { return list[i].Seen.After(list[j].Seen) })
	return list, nil
}

// End ends the session with this id, or all of this principal, and returns
// them. Their browsers are notified no more, and the votes that the person gave
// on pending asks count no more.
func (p *People) End(ctx context.Context, idOrPrincipal string) ([]Session, error) {
	all, err := p.List(ctx)
	if err != nil {
		return nil, err
	}
	var gone []Session
	for _, s := range all {
		if s.ID != idOrPrincipal && s.Principal != idOrPrincipal {
			continue
		}
		if err := p.bucket.Delete(ctx, state.Key{Tenant: s.Tenant, Name: s.ID}); err != nil {
			return gone, err
		}
		gone = append(gone, s)
	}
	if err := endPushes(ctx, p.push, idOrPrincipal); err != nil {
		return gone, err
	}
	principal := idOrPrincipal
	if len(gone) > 0 {
		principal = gone[0].Principal
	}
	if len(gone) > 0 || strings.Contains(principal, ":") { // also of somebody who was never signed in here, but votes elsewhere
		if err := revokeVotes(ctx, p.revoked, "", principal); err != nil {
			return gone, fmt.Errorf("the votes of %s still count: %w", principal, err)
		}
	}
	if len(gone) == 0 {
		return nil, fmt.Errorf("%w as %q, and no session has that id (\"askbus people list\" shows them); votes that a person of this name gave on pending asks count no more", ErrNobody, idOrPrincipal)
	}
	return gone, nil
}

// votesLife is longer than any ask pends and any stand-in lasts.
const votesLife = 92 * 24 * time.Hour

// revokeVotes ends the votes that a person has on pending asks of a tenant, and what they said about who
// stands in for them; empty: of all. The time of the entry counts, which is the broker's.
func revokeVotes(ctx context.Context, revoked *state.Bucket, tenant, principal string) error {
	_, err := revoked.Put(ctx, state.RevokedKey(tenant, principal), revocation{principal}, votesLife)
	return err
}

// endPushes deletes the push subscriptions of sessions, by the names of their
// entries, and of principals: a browser is not told of asks once its person was
// signed out.
func endPushes(ctx context.Context, push *state.Bucket, gone ...string) error {
	all, err := push.List(ctx)
	for i := range all {
		var of struct {
			Principal string `json:"principal"`
			Session   string `json:"session"`
		}
		if json.Unmarshal(all[i].Value, &of) == nil && (slices.Contains(gone, of.Principal) || slices.Contains(gone, of.Session)) {
			err = errors.Join(err, push.Delete(ctx, all[i].Key))
		}
	}
	if err != nil {
		return fmt.Errorf("a browser that was signed out may still be notified: %w", err)
	}
	return nil
}

// revocation is an entry of the bucket of people whose sign-ins were ended.
type revocation struct {
	Principal string `json:"principal"`
}
