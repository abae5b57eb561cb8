package broker

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/askbus/askbus/internal/bus/audit"
	"github.com/askbus/askbus/internal/bus/ledger"
	"github.com/askbus/askbus/internal/protocol/subject"
	"github.com/askbus/askbus/internal/protocol/wire"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/nats-io/nats.go/micro"
)

// stateEndpoint is the endpoint of shared state: data that replicas of surfaces
// and of the gateway share, which they may not keep in JetStream themselves.
const stateEndpoint = "state"

// stateRequest is one request about shared state.
type stateRequest struct {
	subject.StateRequest
	bucket subject.Bucket
	to     request // for replies and refusals

	// The following are set for entries that the broker makes of another
	// request.
	record *audit.Record // what the audit says of the write
	share  string        // filter over the entries of the same person
	most   int           // the maximum number of these
}

// receiveState takes one message. Requests of one credential for one bucket are
// queued, like those of a session.
func (b *Broker) receiveState(m micro.Request) {
	b.requests.Add(1)
	r, err := subject.ParseState(m.Subject())
	if err != nil || m.Reply() != "" && !subject.StateReplyAllowed(r, m.Reply()) {
		b.dropped.Add(1)
		b.opts.Logger.Warn("dropped a request about shared state: a malformed or foreign subject", slog.String("subject", m.Subject()))
		return
	}
	req := stateRequest{StateRequest: r, to: request{Request: subject.Request{Verb: r.Verb, ID: r.Bucket}, reply: m.Reply()}}
	line := ask.Key{Tenant: string(r.Role) + "/" + r.Type + "/" + r.Key.Tenant, Session: subject.State + "/" + r.Bucket}
	b.queue(m, &req.to, line, "about "+r.Bucket, func(ctx context.Context) error { return b.routeState(ctx, m.Data(), &req) })
}

func (b *Broker) routeState(ctx context.Context, data []byte, r *stateRequest) error {
	if !r.Allowed() {
		// NATS has already refused this, unless its permissions differ from
		// ours.
		return ask.Refuse(ask.CodeForbidden, "%s may not %s in bucket %.64q", r.who(), r.Verb, r.Bucket)
	}
	r.bucket, _ = subject.FindBucket(r.Bucket)
	switch r.Verb {
	case subject.VerbGet:
		return b.getState(ctx, r)
	case subject.VerbList:
		return b.listState(ctx, data, r)
	case subject.VerbPut:
		return b.putState(ctx, data, r)
	case subject.VerbDelete:
		return b.deleteState(ctx, data, r)
	}
	return fmt.Errorf("broker: no verb %q of shared state", r.Verb)
}

func (r *stateRequest) who() string {
	if r.Type != "" {
		return "a responder of type " + r.Type
	}
	return "the role " + string(r.Role)
}

func (b *Broker) getState(ctx context.Context, r *stateRequest) error {
	e, err := b.led.ReadState(ctx, r.Bucket, r.Key)
	if err != nil {
		return err
	}
	if !e.Live(b.led.Now()) {
		return ask.Refuse(ask.CodeNotFound, "no entry %s in bucket %s", r.Key.Name, r.Bucket)
	}
	return b.replyEntry(r, &e)
}

func (b *Broker) listState(ctx context.Context, data []byte, r *stateRequest) error {
	q, err := wire.DecodeStateList(data)
	if err != nil {
		return err
	}
	entries, more, err := b.led.StateChanges(ctx, subject.LedgerStateAll(r.Bucket, r.Key.Tenant, r.Every), q.After, q.Limit)
	if err != nil {
		return err
	}
	page := wire.StateChanges{Items: make([]wire.StateEntry, 0, len(entries)), Revision: q.After, More: more}
	now, size := b.led.Now(), 0
	for i := range entries {
		if size += len(entries[i].Value) + 512; i > 0 && size > maxStatePage {
			page.More = true
			break
		}
		page.Revision = entries[i].Revision
		if live := entries[i].Live(now); live || q.After > 0 { // a reader without entries does not need deletions
			page.Items = append(page.Items, shown(&entries[i], now))
		}
	}
	return b.replyJSON(&r.to, page)
}

const maxStatePage = 512 << 10 // bytes

// shown returns an entry as it is sent to clients.
func shown(e *ledger.StateEntry, now time.Time) wire.StateEntry {
	w := wire.StateEntry{Tenant: e.Key.Tenant, Key: e.Key.Name, Revision: e.Revision, Written: e.Written.UTC(), Expires: e.Expires}
	if w.Deleted = !e.Live(now); !w.Deleted {
		w.Value = e.Value
	}
	return w
}

func (b *Broker) replyEntry(r *stateRequest, e *ledger.StateEntry) error {
	return b.replyJSON(&r.to, shown(e, b.led.Now()))
}

func (b *Broker) putState(ctx context.Context, data []byte, r *stateRequest) error {
	most := r.bucket.MaxValue
	if len(data) > most+1024 {
		return ask.Refuse(ask.CodeTooLarge, "the request has %d bytes; the value of an entry of bucket %s has at most %d", len(data), r.Bucket, most)
	}
	p, err := wire.DecodeStatePut(data)
	if err != nil {
		return err
	}
	if len(p.Value) > most {
		return ask.Refuse(ask.CodeTooLarge, "the value has %d bytes; an entry of bucket %s has at most %d", len(p.Value), r.Bucket, most)
	}
	ttl := time.Duration(p.TTL)
	if ttl > r.bucket.MaxTTL || ttl == 0 && r.bucket.NeedsTTL {
		return ask.InvalidError("put", []ask.Fault{ask.NewFault("/ttl", ask.FaultOutOfRange, ttl, "1s", r.bucket.MaxTTL)})
	}
	w := ledger.StateWrite{Bucket: r.Bucket, Key: r.Key, Value: p.Value, Expect: p.Revision, ID: p.ID}
	if ttl > 0 {
		w.Expires = b.led.Now().Add(ttl)
	}
	e, err := b.writeState(ctx, r, &w)
	if err == nil && r.Bucket == subject.BucketRevoked {
		err = b.revokeOthers(ctx, r, &w)
	}
	if err != nil {
		return err
	}
	e.Value = nil // the writer has it
	return b.replyEntry(r, &e)
}

func (b *Broker) deleteState(ctx context.Context, data []byte, r *stateRequest) error {
	d, err := wire.DecodeStateDelete(data)
	if err != nil {
		return err
	}
	e, err := b.writeState(ctx, r, &ledger.StateWrite{Bucket: r.Bucket, Key: r.Key, Expect: d.Revision, ID: d.ID})
	if err != nil {
		return err
	}
	return b.replyEntry(r, &e)
}

// writeState reads, decides and writes, and repeats if it loses the race and
// the request expects no revision.
func (b *Broker) writeState(ctx context.Context, r *stateRequest, w *ledger.StateWrite) (ledger.StateEntry, error) {
	if w.Value != nil && r.Role != subject.StateOperator {
		if err := b.admitsEntry(r.Key.Tenant); err != nil {
			return ledger.StateEntry{}, err
		}
	}
	asked := w.Expect
	for {
		old, err := b.led.ReadState(ctx, r.Bucket, r.Key)
		if err != nil {
			return ledger.StateEntry{}, err
		}
		if w.ID != "" && old.Write == w.ID {
			return old, nil // this very request, sent again
		}
		now := b.led.Now()
		live := old.Live(now)
		if err := fits(r, asked, &old, live); err != nil {
			return ledger.StateEntry{}, err
		}
		if w.Value == nil && !live {
			return old, nil // already deleted
		}
		if !live && w.Value != nil {
			if err := b.roomInBucket(ctx, r); err != nil {
				return ledger.StateEntry{}, err
			}
		}
		w.Expect = &old.Revision
		e, err := b.led.WriteState(ctx, w, now)
		if err == nil {
			b.auditState(r, w, &old, live)
		}
		if !ledger.IsRace(err) {
			return e, err
		}
		if ctx.Err() != nil {
			return ledger.StateEntry{}, ctx.Err()
		}
	}
}

// fits checks the revision that a request expects.
func fits(r *stateRequest, asked *uint64, old *ledger.StateEntry, live bool) error {
	switch {
	case asked == nil:
		return nil
	case *asked == 0 && live:
		return ask.Refuse(ask.CodeConflict, "entry %s in bucket %s already exists, with revision %d", r.Key.Name, r.Bucket, old.Revision)
	case *asked != 0 && !live:
		return ask.Refuse(ask.CodeConflict, "entry %s in bucket %s no longer exists, so it does not have revision %d", r.Key.Name, r.Bucket, *asked)
	case *asked != 0 && *asked != old.Revision:
		return ask.Refuse(ask.CodeConflict, "entry %s in bucket %s has revision %d, not %d: read it again", r.Key.Name, r.Bucket, old.Revision, *asked)
	}
	return nil
}

// roomInBucket refuses a new entry in a full bucket.
func (b *Broker) roomInBucket(ctx context.Context, r *stateRequest) error {
	own, err := b.led.CountState(ctx, subject.LedgerStateAll(r.Bucket, r.Key.Tenant, false))
	if err != nil {
		return err
	}
	if own >= r.bucket.PerTenant && r.Key.Tenant != "" {
		return ask.Refusal(ask.CodeQuota, ask.FaultTenantFull, r.Bucket, own, r.Key.Tenant)
	}
	if own >= r.bucket.PerTenant {
		return ask.Refusal(ask.CodeQuota, ask.FaultBucketFull, r.Bucket, own)
	}
	if r.share != "" {
		person, err := b.led.CountState(ctx, r.share)
		if err != nil {
			return err
		}
		if person >= r.most {
			return ask.Refusal(ask.CodeQuota, ask.FaultManyOfYours, person)
		}
	}
	all, err := b.led.CountState(ctx, subject.LedgerStateAll(r.Bucket, "", true))
	if err != nil {
		return err
	}
	if all >= r.bucket.Most {
		return ask.Refusal(ask.CodeQuota, ask.FaultBucketFull, r.Bucket, all)
	}
	return b.led.StateRoom(ctx)
}
