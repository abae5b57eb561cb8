package board

import (
	"cmp"
	"context"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/askbus/askbus/internal/protocol/cloudevent"
	"github.com/askbus/askbus/internal/protocol/subject"
	"github.com/askbus/askbus/internal/protocol/wire"
	"github.com/askbus/askbus/pkg/ask"
)

// Handover says who should answer an ask. It is not a permission: everybody in
// the audience may still answer.
type Handover struct {
	Key  ask.Key `json:"key"`
	Life string  `json:"life"`
	To   string  `json:"to"`             // a principal, "group:<name>" or "schedule:<name>"
	Name string  `json:"-"`              // display name of a principal, as this board has seen it
	Word string  `json:"word,omitempty"` // why
	// By is the person who handed it over, as the credential asserts. The name
	// is set if a surface signed the person in, or else as this board has seen it.
	By ask.By    `json:"by"`
	At time.Time `json:"at"`
}

// Whom names the person or group to whom an ask was handed over.
func (h *Handover) Whom() string {
	for _, prefix := range []string{"group:", "schedule:"} {
		if name, ok := strings.CutPrefix(h.To, prefix); ok {
			return ask.CleanLine(name)
		}
	}
	if h.Name != "" {
		return ask.CleanLine(h.Name)
	}
	return ask.CleanLine(h.To)
}

// Bounds of a handover, in code points.
const (
	maxWord = wire.MaxHandoverWord
	maxTo   = 256
)

// HandOver gives an ask to a person, a group or an on-call schedule, with a note. To may be the name of a person whom the
// board has seen. If it is empty, the ask is open to everybody again, even if somebody else has handed it over since: see
// [Board.TakeBack]. The error is [ask.ErrNotFound] if the ask is not pending here,
// [ask.ErrForbidden] if the viewer may not decide it, or [ask.ErrInvalid] with faults of "to" and "word".
func (b *Board) HandOver(ctx context.Context, v Viewer, k ask.Key, to, word string) error {
	to, word = ask.CleanLine(to), ask.CleanLine(word)
	b.mu.Lock()
	h := b.held[k.String()]
	var head Head
	if h != nil {
		head = h.public()
	}
	b.mu.Unlock()
	switch {
	case h == nil || !v.Sees(k, head.Audience):
		return ask.Refusal(ask.CodeNotFound, ask.FaultNotPending, k)
	case !v.MayAnswer(head):
		return ask.Refusal(ask.CodeForbidden, ask.FaultNotYours)
	}
	o := &Handover{Key: k, Life: head.Life, Word: word, By: ask.By{Principal: v.By.Principal}, At: time.Now().UTC()}
	var faults []ask.Fault
	if to != "" {
		var fault *ask.Fault
		if o.To, o.Name, fault = b.person(to, head); fault != nil {
			faults = append(faults, *fault)
		}
	}
	if n := len([]rune(word)); n > maxWord {
		faults = append(faults, ask.NewFault("/word", ask.FaultTooLong, n, maxWord))
	}
	if len(faults) > 0 {
		return ask.InvalidError("handover", faults)
	}
	if b.opts.Shared {
		if err := b.r.note(ctx, k, subject.VerbHandOver, wire.Handover{By: v.By, Life: o.Life, To: o.To, Word: o.Word, ID: cloudevent.NewID()}); err != nil {
			return err
		}
	}
	if o.To == "" {
		b.setHandover(k, nil)
	} else {
		b.setHandover(k, o)
	}
	return nil
}

// TakeBack takes an ask that was handed to from, as [Board.HandOver] takes it, back for everybody. The error is also
// [ask.ErrConflict] if somebody has since handed it to somebody else: what an old screen offers undoes no later handover.
func (b *Board) TakeBack(ctx context.Context, v Viewer, k ask.Key, from string) error {
	if h, ok := b.Head(k); ok && v.Sees(k, h.Audience) && h.Handed != nil {
		if to, _, fault := b.person(ask.CleanLine(from), h); fault != nil || to != h.Handed.To {
			return ask.Refusal(ask.CodeConflict, ask.FaultHandedOn)
		}
	}
	return b.HandOver(ctx, v, k, "", "")
}

// person resolves a principal, a group, or the name of a person whom the board
// has seen.
func (b *Board) person(to string, h Head) (principal, name string, fault *ask.Fault) {
	refuse := func(code ask.FaultCode, args ...any) (string, string, *ask.Fault) {
		return "", "", new(ask.NewFault("/to", code, args...))
	}
	if n := len([]rune(to)); n > maxTo {
		return refuse(ask.FaultTooLong, n, maxTo)
	}
	if group, ok := strings.CutPrefix(to, "group:"); ok {
		if len(h.Audience) > 0 && !slices.Contains(h.Audience, to) {
			return refuse(ask.FaultNotADecider, ask.Unresolved(h.Audience))
		}
		if group == "" {
			return refuse(ask.FaultEmptyGroup)
		}
		return to, "", nil
	}
	if schedule, _, ok := ask.ScheduleOf(to); ok {
		a := h.Record().Ask
		if to != "schedule:"+schedule || !slices.Contains(a.Schedules(), schedule) {
			return refuse(ask.FaultNotADecider, ask.Unresolved(h.Audience))
		}
		return to, "", nil
	}
	var found []ask.By
	for _, p := range b.People() {
		if p.Principal == to {
			return p.Principal, p.Name, nil
		}
		if strings.EqualFold(p.Name, to) {
			found = append(found, p)
		}
	}
	switch {
	case len(found) == 1:
		return found[0].Principal, found[0].Name, nil
	case len(found) > 1:
		return refuse(ask.FaultSeveralPeople, []string{found[0].Principal, found[1].Principal})
	case strings.Contains(to, ":"):
		return to, "", nil
	}
	return refuse(ask.FaultUnknownPerson)
}

// People returns the people whom the board has seen recently: those who looked,
// who answered, and to whom asks were handed over. It returns no groups.
func (b *Board) People() []ask.By {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.people()
}

// people is People; the caller holds mu.
func (b *Board) people() []ask.By {
	var all []ask.By
	add := func(principal, name string) {
		if principal == "" || strings.HasPrefix(principal, "group:") || strings.HasPrefix(principal, "schedule:") || slices.ContainsFunc(all, func(p ask.By) bool { return p.Principal == principal }) {
			return
		}
		all = append(all, ask.By{Principal: principal, Name: name})
	}
	for _, principal := range b.seen.Keys() {
		name, _ := b.seen.Peek(principal)
		add(principal, name)
	}
	for rec := range b.ended.newest() {
		if by := rec.Outcome.By; by != nil {
			add(by.Principal, by.Name)
		}
	}
	for _, o := range b.handed {
		add(o.To, o.Name)
		add(o.By.Principal, o.By.Name)
	}
	sort.Slice(all, func(i, j int) bool { return all[i].Principal < all[j].Principal })
	return all
}

// maxHanded bounds the handovers of asks that are not here (yet).
const maxHanded = 10_000

// setHandover records to whom an ask was handed over; nil: nobody.
func (b *Board) setHandover(k ask.Key, o *Handover) {
	b.mu.Lock()
	defer b.mu.Unlock()
	name := k.String()
	h := b.held[name]
	if o != nil {
		for _, p := range b.people() {
			switch p.Principal {
			case o.To:
				o.Name = cmp.Or(o.Name, p.Name)
			case o.By.Principal:
				o.By.Name = cmp.Or(o.By.Name, p.Name)
			}
		}
	}
	if o == nil {
		delete(b.handed, name)
	} else if h != nil || len(b.handed) < maxHanded {
		b.handed[name] = o
	}
	if h == nil {
		return
	}
	if h.handed = b.handed[name]; h.handed != nil && h.handed.Life != h.life {
		h.handed = nil // the id was asked again
	}
	// Both the old and the new list of the ask must hear about it.
	b.notify(Event{Kind: Changed, Record: h.record()}, nil)
}
