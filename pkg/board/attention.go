package board

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sort"
	"time"

	"github.com/askbus/askbus/internal/protocol/subject"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/responder"
	"github.com/nats-io/nats.go"
)

// Attention says that a person is at an ask. It is sent over core NATS and may
// be lost: it informs other people and is never a lock.
type Attention struct {
	Principal string    `json:"principal"`
	Name      string    `json:"name,omitempty"`
	Answering bool      `json:"answering,omitempty"` // has begun to answer
	Gone      bool      `json:"gone,omitempty"`      // has left; others forget it
	From      string    `json:"from,omitempty"`      // the board that sent it
	Mark      string    `json:"mark,omitempty"`      // of a claim: read by the board that sent it, see [Board.Take]
	Posted    string    `json:"posted,omitempty"`    // of nobody: a chat shows the ask at this place, see [PostedAt]
	Responder string    `json:"-"`                   // the responder type, as proven by the credential
	Seen      time.Time `json:"-"`
}

// Intervals and bounds of attention.
const (
	attentionEvery = 10 * time.Second
	attentionLasts = 25 * time.Second // longer than two intervals: one message may be lost
	maxAttentive   = 16               // people at one ask
	maxAttended    = 10_000           // asks with people
	maxSeen        = 1000             // people whose names are kept
	maxAttention   = 2048             // bytes of a message
)

// Attend tells other surfaces every 10 s that the viewer looks at an ask, or
// has begun to answer it, until ctx ends, and then that the viewer has left.
func (b *Board) Attend(ctx context.Context, v Viewer, k ask.Key, answering bool) error {
	tick := time.NewTicker(attentionEvery)
	defer tick.Stop()
	for {
		if err := b.Look(v, k, answering); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return b.Leave(v, k)
		case <-tick.C:
		}
	}
}

// Look tells once what [Board.Attend] tells repeatedly. A screen that learns
// about its viewer from outside, such as a web page, calls it every 10 s.
func (b *Board) Look(v Viewer, k ask.Key, answering bool) error {
	b.pauses.look(b, v, k)
	return b.attention(k, Attention{Principal: v.By.Principal, Name: shortName(v.By.Name), Answering: answering})
}

// LookFrom tells boards once that a person is at an ask at a surface that has no
// board, such as who writes in its thread in a chat. They forget it after 25 s.
func LookFrom(r *responder.Responder, by ask.By, k ask.Key, answering bool) error {
	return tell(r, k, Attention{Principal: by.Principal, Name: shortName(by.Name), Answering: answering})
}

// tell sends attention of a surface that has no board.
func tell(r *responder.Responder, k ask.Key, a Attention) error {
	data, err := json.Marshal(a)
	if err == nil {
		err = newSource(r).publish(k, data)
	}
	if err != nil {
		return fmt.Errorf("attend ask %s: %w", k, err)
	}
	return nil
}

// Leave tells other surfaces that the viewer has left an ask. If it ended, they
// are not told: this would overtake the end, and they would offer the ask again.
func (b *Board) Leave(v Viewer, k ask.Key) error {
	b.mu.Lock()
	h := b.held[k.String()]
	b.mu.Unlock()
	if h == nil {
		return k.Check()
	}
	return b.attention(k, Attention{Principal: v.By.Principal, Gone: true})
}

// Depart tells other surfaces that the viewer has left every ask that they had open at this board, as after a sign-out. Another
// screen of theirs, which is still there, says so again within 10 s.
func (b *Board) Depart(v Viewer) error {
	b.mu.Lock()
	var left []ask.Key
	for name, people := range b.attended {
		h := b.held[name]
		if h != nil && slices.ContainsFunc(people, func(a Attention) bool { return a.Principal == v.By.Principal && a.From == b.id }) {
			left = append(left, h.id())
		}
	}
	b.mu.Unlock()
	errs := make([]error, len(left))
	for i, k := range left {
		errs[i] = b.Leave(v, k)
	}
	return errors.Join(errs...)
}

// attention records and publishes where a viewer is.
func (b *Board) attention(k ask.Key, a Attention) error {
	if err := k.Check(); err != nil {
		return err
	}
	a.From = b.id
	data, err := json.Marshal(a)
	if err == nil {
		err = b.r.publish(k, data)
	}
	if err != nil {
		return fmt.Errorf("attend ask %s: %w", k, err)
	}
	a.Mark, a.Responder, a.Seen = "", b.r.typ, time.Now()
	b.attend(k, a)
	return nil
}

// shortName is a name as other screens show it.
func shortName(s string) string { return fmt.Sprintf("%.64s", ask.CleanLine(s)) }

// Attending returns the people at an ask, those who are answering first.
func (b *Board) Attending(k ask.Key) []Attention {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := time.Now()
	var all []Attention
	for _, a := range b.attended[k.String()] {
		if now.Sub(a.Seen) < attentionLasts {
			all = append(all, a)
		}
	}
	sort.Slice(all, func(i, j int) bool {
		if x, y := &all[i], &all[j]; x.Answering == y.Answering {
			return x.Principal < y.Principal
		}
		return all[i].Answering
	})
	return all
}

// hearAttention records the attention of other surfaces until stop is called.
func (b *Board) hearAttention() (stop func(), err error) {
	return hear(b.r, func(k ask.Key, a Attention) {
		switch {
		case a.Posted != "":
			b.posted(k, a)
		case a.From != b.id:
			a.Mark = ""
			b.attend(k, a)
		case a.Mark != "":
			b.echoed(k, a.Mark)
		}
	})
}

// Hear calls f with the attention of all surfaces, until stop is called: for a surface that has no board. Attention with
// a mark is of somebody who took the ask to read it; see [Board.Take].
func Hear(r *responder.Responder, f func(k ask.Key, a Attention)) (stop func(), err error) {
	return hear(newSource(r), func(k ask.Key, a Attention) {
		if a.Posted == "" {
			f(k, a)
		}
	})
}

func hear(r *source, f func(k ask.Key, a Attention)) (stop func(), err error) {
	sub, err := r.nc.Subscribe(subject.AttentionAll(r.opts.Tenant, r.opts.Session), func(m *nats.Msg) {
		typ, k, ok := subject.ParseAttention(m.Subject)
		var a Attention
		if !ok || len(m.Data) > maxAttention || json.Unmarshal(m.Data, &a) != nil || (a.Principal == "") == (a.Posted == "") {
			return
		}
		a.Name, a.Responder, a.Seen = shortName(a.Name), typ, time.Now()
		f(k, a)
	})
	if err != nil {
		return nil, fmt.Errorf("board: subscribe to attention: %w", err)
	}
	return func() { _ = sub.Unsubscribe() }, sub.SetPendingLimits(maxAttended, maxAttended*maxAttention)
}

func (b *Board) attend(k ask.Key, a Attention) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.attendLocked(k, a)
}

func (b *Board) attendLocked(k ask.Key, a Attention) {
	h := b.held[k.String()]
	if h == nil {
		b.keepEarly(k, a)
		return
	}
	before := b.attended[h.key]
	if slices.ContainsFunc(before, func(x Attention) bool {
		return x.Principal == a.Principal && x.From != a.From && (a.Gone || x.Answering && !a.Answering && a.Seen.Sub(x.Seen) < attentionLasts)
	}) {
		return // the person has it open, or is answering it, at another screen as well
	}
	people := slices.DeleteFunc(slices.Clone(before), func(x Attention) bool {
		return x.Principal == a.Principal || a.Seen.Sub(x.Seen) >= attentionLasts
	})
	known := slices.ContainsFunc(before, func(x Attention) bool { return x.Principal == a.Principal && x.Answering == a.Answering })
	if !a.Gone {
		name, _ := b.seen.Get(a.Principal)
		b.seen.Add(a.Principal, cmp.Or(a.Name, name))
	}
	if !a.Gone && len(people) < maxAttentive && (len(before) > 0 || len(b.attended) < maxAttended) {
		people = append(people, a)
	}
	if len(people) == 0 {
		delete(b.attended, h.key)
	} else {
		b.attended[h.key] = people
	}
	if a.From == "" && !a.Gone {
		b.readers.acted(b, h, a.Responder, a.Principal, a.Seen)
	}
	if !known || a.Gone {
		b.notifyOthers(a.Principal, Event{Kind: Changed, Record: h.record()}, h)
	}
}

// Bounds of the attention that comes before its ask, as it may on a busy machine, because its subject is another one.
// Without it somebody could choose the ask, and read it for nothing, until the attention is repeated.
const (
	maxEarly   = 1000
	earlyLasts = 5 * time.Second
)

// early is an attention whose ask is not known yet.
type early struct {
	key ask.Key
	a   Attention
}

// keepEarly keeps an attention until its ask comes. The caller holds mu.
func (b *Board) keepEarly(k ask.Key, a Attention) {
	if len(b.early) < maxEarly && !a.Gone {
		b.early = append(b.early, early{k, a})
	}
}

// arrive applies what was said of an ask before it came. The caller holds mu.
func (b *Board) arrive(k ask.Key, now time.Time) {
	if len(b.early) == 0 {
		return
	}
	waiting := b.early
	b.early = nil
	for _, e := range waiting {
		switch {
		case now.Sub(e.a.Seen) >= earlyLasts:
		case e.key == k:
			b.attendLocked(k, e.a)
		default:
			b.early = append(b.early, e)
		}
	}
}

// fadeEvery is how often a board checks for people who disappeared.
const fadeEvery = 5 * time.Second

// fade removes people who disappeared without a message, until ctx ends.
func (b *Board) fade(ctx context.Context) {
	tick := time.NewTicker(fadeEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-tick.C:
			b.faded(now)
		}
	}
}

func (b *Board) faded(now time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.early = slices.DeleteFunc(b.early, func(e early) bool { return now.Sub(e.a.Seen) >= earlyLasts })
	b.readers.fade(b, now)
	for name, people := range b.attended {
		left := slices.DeleteFunc(slices.Clone(people), func(a Attention) bool { return now.Sub(a.Seen) >= attentionLasts })
		if len(left) == len(people) {
			continue
		}
		if b.attended[name] = left; len(left) == 0 {
			delete(b.attended, name)
		}
		if h := b.held[name]; h != nil {
			b.notify(Event{Kind: Changed, Record: h.record()}, h)
		}
	}
}
