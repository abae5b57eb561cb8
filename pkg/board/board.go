package board

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"strings"
	"sync"
	"time"

	"github.com/askbus/askbus/internal/bus/state"
	"github.com/askbus/askbus/internal/protocol/cloudevent"
	"github.com/askbus/askbus/internal/protocol/subject"
	"github.com/askbus/askbus/internal/protocol/wire"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/responder"
	lru "github.com/hashicorp/golang-lru/v2"
	"github.com/nats-io/nats.go"
)

// Options tunes a [Board]. The zero value is ready to use.
type Options struct {
	Limit int // maximum number of pending asks; default 100,000
	Ended int // how many ended asks are kept, of at most 16 MiB together; default 200
	// Shared keeps what people put off and hand over in the bus's shared state, so
	// that every surface and every replica shows the same, and follows there who
	// stands in for whom. It needs the credential of a responder of one tenant or of
	// all, not of a single session. Default: in this process only, and nobody stands in.
	Shared bool
}

// Board is a replica of the pending asks on the bus, for live screens: the
// heads of all asks, the bodies that were read last, and the asks that ended
// recently. It stays correct through reconnects and missed messages. One board
// serves any number of viewers, so a process runs one, and a reconnect costs the
// same however many screens are open. It is safe for concurrent use.
type Board struct {
	r      *source
	pauses *pauses
	id     string // identifies this board in its messages
	opts   Options
	bodies *bodies

	snoozes  snoozeBook
	standIns *SharedStandIns // nil: nobody stands in

	echoLimit time.Duration // only tests change it

	mu       sync.Mutex
	lists    lists
	held     map[string]*head // by key
	order    order
	ended    endings
	gone     *lru.Cache[string, struct{}] // lives that ended, in addition to ended: a late read may still have them
	status   Status
	attended map[string][]Attention     // by key, of pending asks
	seen     *lru.Cache[string, string] // names of people who were at an ask, by principal
	early    []early                    // attention whose ask is not known yet
	claims   map[string]*claim          // by mark
	readers  *readers                   // of chats
	handed   map[string]*Handover       // by key
	subs     map[*subscriber]struct{}

	// The following fields belong to the goroutine that follows the bus.
	mark  string
	round uint32
	full  time.Time // time of the last full read
}

// Status says how complete and current a board is.
type Status struct {
	Synced  bool // it has been complete at least once
	Offline bool // the bus is unreachable: the board shows its last state
	More    bool // more asks are pending than Limit
	Pending int
}

// maxGone is how many ended lives a board knows.
const maxGone = 8192

// fullEvery is how often a board reads everything again, regardless of its
// marks.
const fullEvery = 15 * time.Minute

// New makes a board of the asks that r may see. It starts nothing; see
// [Board.Run].
func New(r *responder.Responder, opts Options) *Board { return newBoard(newSource(r), opts) }

func newBoard(r *source, opts Options) *Board {
	if opts.Limit <= 0 {
		opts.Limit = 100_000
	}
	if opts.Ended <= 0 {
		opts.Ended = 200
	}
	gone, _ := lru.New[string, struct{}](maxGone) // fails for sizes below 1 only
	seen, _ := lru.New[string, string](maxSeen)
	b := &Board{
		r: r, pauses: newPauses(), id: rand.Text()[:10], echoLimit: echoLimit, claims: map[string]*claim{}, readers: newReaders(), opts: opts, handed: map[string]*Handover{}, bodies: newBodies(maxBodies), lists: lists{}, held: map[string]*head{},
		ended: endings{most: opts.Ended}, attended: map[string][]Attention{}, seen: seen, gone: gone, subs: map[*subscriber]struct{}{},
	}
	if opts.Shared {
		b.standIns = newStandIns(r)
	}
	return b
}

// Run keeps the board up to date until ctx ends, and then returns nil. It
// returns an error only if the connection was closed.
func (b *Board) Run(ctx context.Context) error {
	stop, err := b.hearAttention()
	if err != nil {
		return err
	}
	defer stop()
	ctx, cancel := context.WithCancel(ctx)
	var beside sync.WaitGroup
	defer beside.Wait()
	defer cancel()
	beside.Go(func() { b.snoozes.run(ctx, b.changed) })
	beside.Go(func() { b.fade(ctx) })
	beside.Go(func() { b.pauses.run(ctx, b) })
	if b.opts.Shared {
		for _, bucket := range []*state.Cache{b.r.cache(state.Snoozes, b.followSnooze), b.r.cache(state.Handovers, b.followHandover), b.standIns.cache} {
			beside.Go(func() {
				if err := bucket.Run(ctx); err != nil {
					b.r.opts.Logger.WarnContext(ctx, "board: no longer following shared state", slog.Any("error", err))
				}
			})
		}
	}
	return b.r.follow(ctx, (*boardFollower)(b))
}

// SharedStandIns is who stands in for whom; nil without [Options.Shared].
func (b *Board) SharedStandIns() *SharedStandIns { return b.standIns }

// StandIns returns those who are away and have this person as stand-in.
func (b *Board) StandIns(by ask.By) []ask.StandIn {
	if b.standIns == nil {
		return nil
	}
	return b.standIns.Of(by)
}

// Status says how complete and current the board is.
func (b *Board) Status() Status {
	b.mu.Lock()
	defer b.mu.Unlock()
	s := b.status
	s.Pending = len(b.held)
	return s
}

// Pending returns at most limit heads that f selects, starting at offset, and
// how many it selects in all. They are in queue order ([Compare]), or in
// groups. A negative offset or limit counts as 0.
func (b *Board) Pending(f Filter, offset, limit int) (heads []Head, total int) {
	offset, limit = max(0, offset), max(0, limit)
	b.mu.Lock()
	defer b.mu.Unlock()
	pick, grouped := f.picker(), f.Group != Ungrouped
	for _, h := range b.order.heads {
		if !pick.takes(h) {
			continue
		}
		if total++; grouped || total > offset && len(heads) < limit {
			heads = append(heads, h.public())
		}
	}
	if grouped {
		f.Group.Arrange(heads)
		heads = heads[min(offset, total):]
		heads = heads[:min(limit, len(heads))]
	}
	return heads, total
}

// Ended returns the recently ended asks that f selects, newest first.
func (b *Board) Ended(f Filter) []ask.Record {
	b.mu.Lock()
	defer b.mu.Unlock()
	var all []ask.Record
	for rec := range b.ended.newest() {
		if f.takes(&head{key: rec.Ask.Key().String(), audience: &rec.Ask.Audience}) {
			all = append(all, rec)
		}
	}
	return all
}

// Get returns a complete ask: from memory if it is pending and was read before,
// or ended recently, else from the bus. Its receipts are as of that read. The
// errors are those of [responder.Responder.Get].
func (b *Board) Get(ctx context.Context, k ask.Key) (ask.Record, error) {
	return b.Recent(ctx, k, math.MaxInt64)
}

// Recent is [Board.Get] with receipts no older than age. If the bus cannot be
// read, it returns what was read before, if anything.
func (b *Board) Recent(ctx context.Context, k ask.Key, age time.Duration) (ask.Record, error) {
	b.mu.Lock()
	h, offline := b.held[k.String()], b.status.Offline
	if h == nil {
		for rec := range b.ended.newest() {
			if rec.Ask.Key() == k {
				b.mu.Unlock()
				return rec, nil
			}
		}
	}
	b.mu.Unlock()
	if h == nil {
		return b.Fresh(ctx, k)
	}
	held, at, ok := b.bodies.get(k, h.life)
	// A body that was read while the ask was written again, as by a vote, may have come late.
	if ok && (offline || held.Seq >= h.seq && time.Since(at) < age) {
		return held, nil
	}
	rec, err := b.Fresh(ctx, k)
	if err != nil && ok && !errors.Is(err, ask.ErrNotFound) {
		return held, nil
	}
	return rec, err
}

// Fresh is [Board.Get] that always reads from the bus, with current receipts.
func (b *Board) Fresh(ctx context.Context, k ask.Key) (ask.Record, error) {
	rec, err := b.r.Get(ctx, k)
	switch {
	case err != nil:
		return ask.Record{}, err
	case rec.State == ask.StatePending:
		b.bodies.put(rec, time.Now())
	default:
		b.Learn(rec)
	}
	return rec, nil
}

// Learn tells the board about an ended ask, such as the result of
// [responder.Responder.Answer], so that it shows the end before the bus reports it.
func (b *Board) Learn(rec ask.Record) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.resolved(rec)
}

// add adds a pending ask.
func (b *Board) add(h *head) {
	was := b.held[h.key]
	switch {
	case b.gone.Contains(h.life):
		return
	case was != nil && was.life == h.life && was.seq >= h.seq:
		was.round = max(was.round, h.round)
		return
	case was == nil && len(b.held) >= b.opts.Limit:
		b.status.More = true
		return
	}
	switch {
	case was == nil:
	case was.life == h.life: // written again, as by a vote: whose it is, and who is at it, stays
		b.order.remove(was)
		b.bodies.drop(h.id())
	default:
		b.remove(was)
	}
	b.held[h.key] = h
	if to := b.handed[h.key]; to != nil && to.Life == h.life {
		h.handed = to
	}
	b.ended.drop(h.id()) // the id was asked again
	b.order.add(h)
	b.notify(Event{Kind: Pending, Record: ask.Record{State: ask.StatePending}}, h)
	b.arrive(h.id(), time.Now())
	b.readers.asked(b, h, time.Now())
}

func (b *Board) remove(h *head) {
	delete(b.held, h.key)
	delete(b.attended, h.key)
	delete(b.handed, h.key)
	b.order.remove(h)
	b.bodies.drop(h.id())
}

func (b *Board) resolved(rec ask.Record) {
	k := rec.Ask.Key()
	h := b.held[k.String()]
	if h != nil && rec.Life != "" && h.life != rec.Life {
		h = nil // the id was asked again
	}
	if rec.Life != "" {
		if b.gone.Contains(rec.Life) {
			return
		}
		b.gone.Add(strings.Clone(rec.Life), struct{}{})
	}
	if h != nil {
		if rec.Ask.Questions == nil {
			if whole, _, ok := b.bodies.get(k, h.life); ok {
				rec.Ask = whole.Ask
			}
		}
		b.remove(h)
	}
	if rec.Outcome != nil {
		b.ended.add(rec)
	}
	if h == nil {
		h = &head{key: k.String(), audience: &rec.Ask.Audience}
	}
	b.notify(Event{Kind: Resolved, Record: rec}, h)
	b.readers.ended(b, h, rec.Outcome, time.Now())
}

// boardFollower is a board as a [follower].
type boardFollower Board

func (f *boardFollower) board() *Board { return (*Board)(f) }

func (f *boardFollower) offline() {
	b := f.board()
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.status.Offline {
		b.status.Offline = true
		b.notify(Event{Kind: Offline}, nil)
	}
}

func (f *boardFollower) live(m *nats.Msg) {
	b := f.board()
	k, kind, seq, ok := cloudevent.Republished(m)
	if !ok {
		return
	}
	if kind == subject.Question {
		q, err := cloudevent.ReadAsked(m, k)
		if err != nil {
			return // from a newer version; a page of heads may have it
		}
		rec := ask.Record{State: ask.StatePending, Ask: *q.Ask, AskedAt: q.AskedAt, Life: q.Life, Seq: seq, Votes: q.Votes(), Escalated: q.Escalated()}
		b.mu.Lock()
		defer b.mu.Unlock()
		h := b.headOf(&rec)
		h.round = b.round + 1 // a read that has begun may not have it
		b.add(h)
		if b.held[h.key] == h {
			b.bodies.put(rec, time.Time{}) // it does not tell about receipts
		}
		return
	}
	if _, first := cloudevent.FirstOutcome(m); !first {
		return // not the first outcome
	}
	end, err := cloudevent.ReadOutcome(m, k)
	if err != nil {
		return
	}
	b.Learn(ask.Record{State: ask.StateResolved, Ask: *end.Ask, AskedAt: end.AskedAt, Life: end.Life, Outcome: end.End})
}

// read reads what changed since the last read, or everything.
func (f *boardFollower) read() func(context.Context) (func(), error) {
	b := f.board()
	since := b.mark
	if time.Since(b.full) > fullEvery {
		since = ""
	}
	b.mu.Lock()
	b.round++
	round := b.round
	b.mu.Unlock()
	return func(ctx context.Context) (func(), error) {
		if !b.r.nc.IsConnected() {
			return nil, nats.ErrConnectionReconnecting
		}
		mark, recs, err := b.r.heads(ctx, ask.Key{Tenant: b.r.opts.Tenant, Session: b.r.opts.Session}, since, b.opts.Limit)
		if err != nil {
			return nil, err
		}
		var ended []ask.Record
		if mark.Full {
			if ended, err = f.missed(ctx, recs); err != nil {
				return nil, err
			}
		}
		return func() { f.apply(mark, recs, ended, round) }, nil
	}
}

// missedMost is how many asks that ended unseen are read one by one, until they
// have maxEndedBytes. If there are more, they are only reported as ended.
const missedMost = 1000

// missed reads how held asks ended that are no longer pending.
func (f *boardFollower) missed(ctx context.Context, recs []ask.Record) ([]ask.Record, error) {
	b := f.board()
	pending := make(map[string]bool, len(recs))
	for i := range recs {
		pending[recs[i].Ask.Key().String()] = true
	}
	var keys []ask.Key
	b.mu.Lock()
	for name, h := range b.held {
		if !pending[name] && h.round < b.round && len(keys) < missedMost {
			keys = append(keys, h.id())
		}
	}
	b.mu.Unlock()
	var ended []ask.Record
	size := 0
	for _, k := range keys {
		if size > maxEndedBytes {
			break
		}
		rec, err := b.r.Get(ctx, k)
		if err != nil && !errors.Is(err, ask.ErrNotFound) {
			return nil, err
		}
		if err == nil && rec.State == ask.StateResolved {
			ended = append(ended, rec)
			size += sizeOf(&rec)
		}
	}
	return ended, nil
}

func (f *boardFollower) apply(mark wire.Mark, recs, ended []ask.Record, round uint32) {
	b := f.board()
	b.mu.Lock()
	defer b.mu.Unlock()
	if mark.Full {
		b.full, b.status.More = time.Now(), len(recs) >= b.opts.Limit
	}
	b.order.begin()
	defer b.order.end()
	for i := range ended {
		b.resolved(ended[i])
	}
	if mark.Full && !b.status.More {
		b.endOthers(recs, round)
	}
	for i := range recs {
		if recs[i].State == ask.StateResolved {
			b.resolved(recs[i])
			continue
		}
		h := b.headOf(&recs[i])
		h.round = round
		b.add(h)
	}
	b.mark = mark.At
	b.status.Synced, b.status.Offline = true, false
	b.notify(Event{Kind: Synced, More: b.status.More}, nil)
}

// endOthers ends the held asks that a full read does not have: how is unknown.
// This makes room for those that are new.
func (b *Board) endOthers(recs []ask.Record, round uint32) {
	for i := range recs {
		if h := b.held[recs[i].Ask.Key().String()]; h != nil {
			h.round = max(h.round, round)
		}
	}
	for _, h := range b.held {
		if h.round < round {
			k := h.id()
			b.resolved(ask.Record{State: ask.StateResolved, Life: h.life, Ask: ask.Ask{ID: k.ID, Tenant: k.Tenant, Session: k.Session}})
		}
	}
}

// Since returns what was asked and what ended in a tenant, and in a session unless it is empty, after a
// mark of an earlier call, and the next mark. Pending asks have no questions ([Board.Get] has them),
// ended ones their outcome. If the mark is empty, of another ledger or too old, it is full: all that are
// pending, at most limit, and none that ended.
func (b *Board) Since(ctx context.Context, tenant, session, mark string, limit int) (recs []ask.Record, next string, full bool, err error) {
	m, recs, err := b.r.heads(ctx, ask.Key{Tenant: tenant, Session: session}, mark, limit)
	if err != nil {
		return nil, "", false, fmt.Errorf("list since: %w", err)
	}
	return recs, m.At, m.Full, nil
}
