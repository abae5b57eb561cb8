package state

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/askbus/askbus/internal/bus/connection"
	"github.com/askbus/askbus/internal/protocol/cloudevent"
	"github.com/askbus/askbus/internal/protocol/subject"
	"github.com/askbus/askbus/internal/protocol/wire"
	"github.com/nats-io/nats.go"
)

// The buckets; [subject.Buckets] has their permissions.
const (
	Tokens        = subject.BucketTokens
	TokenUses     = subject.BucketTokenUses
	Sessions      = subject.BucketSessions
	LoginLinks    = subject.BucketLoginLinks
	Revoked       = subject.BucketRevoked
	Passkeys      = subject.BucketPasskeys
	Snoozes       = subject.BucketSnoozes
	Handovers     = subject.BucketHandovers
	StandIns      = subject.BucketStandIns
	Links         = subject.BucketLinks
	Push          = subject.BucketPush
	Leases        = subject.BucketLeases
	Callbacks     = subject.BucketCallbacks
	Deliveries    = subject.BucketDeliveries
	TaskPushes    = subject.BucketTaskPushes
	Replicas      = subject.BucketReplicas
	Conversations = subject.BucketConversations
	Mail          = subject.BucketMail
	Removed       = subject.BucketRemoved
)

// Key names one entry of a bucket. Tenant is empty for entries of no tenant.
type Key = subject.StateKey

// RevokedKey returns the entry in [Revoked] of a person in a tenant; empty: in
// all of them.
func RevokedKey(tenant, principal string) Key { return subject.RevokedKey(tenant, principal) }

// TaskPushesKey returns the entry in [TaskPushes] of an ask.
func TaskPushesKey(k subject.Key) Key { return subject.AskKey(k) }

// Entry is one entry, or its deletion.
type Entry struct {
	Key      Key
	Revision uint64
	Value    json.RawMessage
	Deleted  bool
	Written  time.Time
	Expires  time.Time // zero: never
}

// Live reports whether the entry exists.
func (e *Entry) Live(now time.Time) bool {
	return e.Revision != 0 && !e.Deleted && (e.Expires.IsZero() || now.Before(e.Expires))
}

// Role is the role of the connection's credential.
type Role struct {
	role        subject.StateRole
	typ, tenant string
}

// Gateway is the role of the HTTP and WebSocket gateway.
func Gateway() Role { return Role{role: subject.StateGateway} }

// Issuer is the role of the service that exchanges tokens for credentials.
func Issuer() Role { return Role{role: subject.StateIssuer} }

// Operator is the role of operators.
func Operator() Role { return Role{role: subject.StateOperator} }

// Responder is the role of a surface of a type; tenant is set for one of a
// single tenant.
func Responder(typ, tenant string) Role {
	return Role{role: subject.StateResponder, typ: typ, tenant: tenant}
}

// Bucket is one bucket of shared state. It is safe for concurrent use.
//
// Errors are [*ask.Error]: [ask.ErrNotFound] if there is no such entry,
// [ask.ErrConflict] if a compare-and-set fails, [ask.ErrQuota] and
// [ask.ErrUnavailable] if there is no room, [ask.ErrForbidden] if the role may
// not, [ask.ErrUnavailable] if the broker cannot be reached.
type Bucket struct {
	nc   *nats.Conn
	role Role
	name string
}

// Open returns a bucket of the bus. It sends nothing.
func Open(nc *nats.Conn, role Role, name string) *Bucket { return &Bucket{nc, role, name} }

// Tenant returns the tenant to which the credential is restricted, if any.
// Entries of no tenant are then out of reach.
func (b *Bucket) Tenant() string { return b.role.tenant }

func (b *Bucket) subject(verb subject.Verb, k Key) string {
	return subject.StateRequest{
		Role: b.role.role, Type: b.role.typ, Tenant: b.role.tenant,
		Bucket: b.name, Verb: verb, Key: k, Every: verb == subject.VerbList && b.role.tenant == "",
	}.String()
}

func (b *Bucket) request(ctx context.Context, verb subject.Verb, k Key, body []byte) ([]byte, error) {
	reply, err := connection.Do(ctx, connection.On(b.nc), &nats.Msg{Subject: b.subject(verb, k), Data: body}, 0)
	if err != nil {
		return nil, fmt.Errorf("%s %s %s: %w", b.name, verb, k.Name, err)
	}
	return reply.Data, nil
}

func (b *Bucket) entry(ctx context.Context, verb subject.Verb, k Key, body []byte) (Entry, error) {
	data, err := b.request(ctx, verb, k, body)
	if err != nil {
		return Entry{}, err
	}
	var w wire.StateEntry
	if err := json.Unmarshal(data, &w); err != nil {
		return Entry{}, fmt.Errorf("%s %s %s: %w", b.name, verb, k.Name, err)
	}
	return entryOf(&w), nil
}

func entryOf(w *wire.StateEntry) Entry {
	return Entry{Key: Key{Tenant: w.Tenant, Name: w.Key}, Revision: w.Revision, Value: w.Value, Deleted: w.Deleted, Written: w.Written, Expires: w.Expires}
}

// Get reads one entry.
func (b *Bucket) Get(ctx context.Context, k Key) (Entry, error) {
	return b.entry(ctx, subject.VerbGet, k, nil)
}

// Put writes an entry regardless of its revision, and returns the new one. With
// a ttl of 0 it stays until it is deleted.
func (b *Bucket) Put(ctx context.Context, k Key, value any, ttl time.Duration) (revision uint64, err error) {
	return b.put(ctx, k, value, nil, ttl)
}

// Create writes an entry that must not exist.
func (b *Bucket) Create(ctx context.Context, k Key, value any, ttl time.Duration) (revision uint64, err error) {
	return b.put(ctx, k, value, new(uint64(0)), ttl)
}

// Update writes an entry that must have a revision.
func (b *Bucket) Update(ctx context.Context, k Key, value any, revision uint64, ttl time.Duration) (uint64, error) {
	return b.put(ctx, k, value, &revision, ttl)
}

func (b *Bucket) put(ctx context.Context, k Key, value any, revision *uint64, ttl time.Duration) (uint64, error) {
	data, err := wire.Marshal(value)
	if err != nil {
		return 0, fmt.Errorf("%s put %s: %w", b.name, k.Name, err)
	}
	body, err := wire.Marshal(wire.StatePut{Value: data, Revision: revision, TTL: wire.Duration(ttl), ID: cloudevent.NewID()})
	if err != nil {
		return 0, fmt.Errorf("%s put %s: %w", b.name, k.Name, err)
	}
	e, err := b.entry(ctx, subject.VerbPut, k, body)
	return e.Revision, err
}

// Delete deletes an entry. It is not an error if there is none.
func (b *Bucket) Delete(ctx context.Context, k Key) error {
	return b.remove(ctx, k, wire.StateDelete{ID: cloudevent.NewID()})
}

// DeleteRevision deletes an entry that must have a revision.
func (b *Bucket) DeleteRevision(ctx context.Context, k Key, revision uint64) error {
	return b.remove(ctx, k, wire.StateDelete{Revision: &revision, ID: cloudevent.NewID()})
}

func (b *Bucket) remove(ctx context.Context, k Key, d wire.StateDelete) error {
	body, err := wire.Marshal(d)
	if err == nil {
		_, err = b.entry(ctx, subject.VerbDelete, k, body)
	}
	return err
}

// List reads every entry that the role may see.
func (b *Bucket) List(ctx context.Context) ([]Entry, error) {
	entries, _, err := b.changes(ctx, 0)
	last := map[Key]uint64{} // pages after the first include what was written or deleted since
	for i := range entries {
		last[entries[i].Key] = entries[i].Revision
	}
	return slices.DeleteFunc(entries, func(e Entry) bool { return e.Deleted || e.Revision != last[e.Key] }), err
}

// changes reads the writes after a revision, and the deletions if it is not 0,
// and returns the revision that it has reached.
func (b *Bucket) changes(ctx context.Context, after uint64) (entries []Entry, revision uint64, err error) {
	for {
		body, err := wire.Marshal(wire.StateList{After: after})
		if err != nil {
			return nil, 0, err
		}
		data, err := b.request(ctx, subject.VerbList, Key{Tenant: b.role.tenant}, body)
		if err != nil {
			return nil, 0, err
		}
		var page wire.StateChanges
		if err := json.Unmarshal(data, &page); err != nil {
			return nil, 0, fmt.Errorf("%s list: %w", b.name, err)
		}
		for i := range page.Items {
			entries = append(entries, entryOf(&page.Items[i]))
		}
		if after = max(after, page.Revision); !page.More {
			return entries, after, nil
		}
	}
}
