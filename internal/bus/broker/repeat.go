package broker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/askbus/askbus/internal/bus/ledger"
	"github.com/askbus/askbus/internal/protocol/lifecycle"
	"github.com/askbus/askbus/internal/protocol/subject"
	"github.com/askbus/askbus/internal/protocol/wire"
	"github.com/askbus/askbus/pkg/ask"
)

// repeatEntry is the value of an entry of the bucket of repeats: the latest ask
// of a repeat key. It is empty once the outcome has been delivered.
type repeatEntry struct {
	AskID string `json:"ask_id,omitempty"`
}

// repeat serves the verb of that name: it says under which id an ask without one
// is asked. That is the id of the last ask with this repeat key while
// [lifecycle.Repeatable] and not delivered, else the request's. A compare-and-set
// makes requests that come at the same moment, to any broker, agree.
//
// Without room for an entry the request's id is returned: it is better to ask
// twice than not to ask.
func (b *Broker) repeat(ctx context.Context, r *request) error {
	q, err := wire.DecodeRepeat(r.body, r.ID)
	if err != nil {
		return err
	}
	k := repeatKey(r.Key())
	for {
		old, last, err := b.lastRepeat(ctx, k)
		if err != nil {
			return err
		}
		if last != "" && !q.Replace {
			is, err := b.isRepeatable(ctx, ask.Key{Tenant: r.Tenant, Session: r.Session, ID: last})
			if err != nil {
				return err
			}
			if is || last == q.AskID {
				return b.replyJSON(r, wire.Repeat{AskID: last})
			}
		}
		now := b.led.Now()
		if !old.Live(now) {
			if err := b.repeats.room(ctx, b, k, now); err != nil {
				if e := wire.AsError(err); e.Code == ask.CodeQuota || e.Code == ask.CodeLedgerFull {
					return b.replyJSON(r, wire.Repeat{AskID: q.AskID})
				}
				return err
			}
		}
		open := ask.MaxTimeout
		if q.Timeout > 0 {
			open = min(open, time.Duration(q.Timeout))
		}
		err = b.writeRepeat(ctx, k, &old, repeatEntry{q.AskID}, now, open+lifecycle.RepeatWithin)
		switch {
		case err == nil:
			return b.replyJSON(r, wire.Repeat{AskID: q.AskID})
		case !ledger.IsRace(err):
			return err
		case ctx.Err() != nil:
			return ctx.Err()
		}
	}
}

// delivered serves the verb of that name: the asker has the outcome, so that the
// next ask with the same repeat key is a new one.
func (b *Broker) delivered(ctx context.Context, r *request) error {
	key, ok := wire.RepeatKey(r.ID)
	if !ok {
		return ask.Refuse(ask.CodeInvalid, "the id %.80q does not begin with a repeat key; only asks that were given their id by repeat need this", r.ID)
	}
	k := repeatKey(ask.Key{Tenant: r.Tenant, Session: r.Session, ID: key})
	for {
		old, last, err := b.lastRepeat(ctx, k)
		if err != nil {
			return err
		}
		if last != r.ID {
			return b.replyJSON(r, struct{}{})
		}
		// A short life in place of a deletion, whose marker would stay for an hour.
		err = b.writeRepeat(ctx, k, &old, repeatEntry{}, b.led.Now(), time.Second)
		switch {
		case err == nil:
			return b.replyJSON(r, struct{}{})
		case !ledger.IsRace(err):
			return err
		case ctx.Err() != nil:
			return ctx.Err()
		}
	}
}

// repeatKey returns the entry of a repeat key, which is k's id.
func repeatKey(k ask.Key) subject.StateKey {
	return subject.StateKey{Tenant: k.Tenant, Name: k.Session + "." + k.ID}
}

// lastRepeat reads an entry and the id in it; empty: none that can be repeated.
func (b *Broker) lastRepeat(ctx context.Context, k subject.StateKey) (e ledger.StateEntry, id string, err error) {
	if e, err = b.led.ReadState(ctx, subject.BucketRepeats, k); err != nil || !e.Live(b.led.Now()) {
		return e, "", err
	}
	var v repeatEntry
	if err := json.Unmarshal(e.Value, &v); err != nil {
		return e, "", fmt.Errorf("broker: entry %s of %s: %w", k.Name, subject.BucketRepeats, err)
	}
	return e, v.AskID, nil
}

func (b *Broker) isRepeatable(ctx context.Context, k ask.Key) (bool, error) {
	s, err := b.load(ctx, k)
	if errors.Is(err, ask.ErrNotFound) {
		return true, nil // another request was just given this id
	}
	if err != nil {
		return false, err
	}
	now, err := b.led.Moment(ctx, k)
	return err == nil && lifecycle.Repeatable(&s, now), err
}

func (b *Broker) writeRepeat(ctx context.Context, k subject.StateKey, old *ledger.StateEntry, v repeatEntry, now time.Time, ttl time.Duration) error {
	value, err := wire.Marshal(v)
	if err != nil {
		return err
	}
	_, err = b.led.WriteState(ctx, &ledger.StateWrite{Bucket: subject.BucketRepeats, Key: k, Value: value, Expect: &old.Revision, Expires: now.Add(ttl)}, now)
	return err
}

// repeats remembers for which tenants the bucket has room, because counting
// costs more than writing.
type repeats struct {
	mu     sync.Mutex
	tenant map[string]roomSeen
}

// roomSeen is the result of a count.
type roomSeen struct {
	at  time.Time
	err error
}

// Bounds of [repeats].
const (
	roomFor     = time.Second // how long a count is valid
	roomTenants = 1_000       // remembered
)

// room refuses a new entry for a tenant that has too many.
func (p *repeats) room(ctx context.Context, b *Broker, k subject.StateKey, now time.Time) error {
	p.mu.Lock()
	seen, known := p.tenant[k.Tenant]
	p.mu.Unlock()
	if known && now.Sub(seen.at).Abs() < roomFor {
		return seen.err
	}
	bucket, _ := subject.FindBucket(subject.BucketRepeats)
	err := b.roomInBucket(ctx, &stateRequest{StateRequest: subject.StateRequest{Bucket: bucket.Name, Key: k}, bucket: bucket})
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.tenant == nil || len(p.tenant) >= roomTenants {
		p.tenant = map[string]roomSeen{}
	}
	p.tenant[k.Tenant] = roomSeen{now, err}
	return err
}
