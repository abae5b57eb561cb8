package web_test

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/board"
)

// Take, Look, Leave and Attending behave as those of a board in one process.
func (b *bus) Take(_ context.Context, v board.Viewer, f board.Filter, t board.Turn) (board.Head, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	h, ok := t.Next(b.pending(f), func(h board.Head) bool {
		return slices.ContainsFunc(b.there[h.Key], func(a board.Attention) bool { return a.Principal != v.By.Principal })
	})
	if ok {
		b.look(h.Key, board.Attention{Principal: v.By.Principal, Name: v.By.Name})
	}
	return h, ok
}

func (b *bus) look(k ask.Key, a board.Attention) {
	before, answering := len(b.there[k]), slices.ContainsFunc(b.there[k], func(x board.Attention) bool { return x.Principal == a.Principal && x.Answering })
	b.there[k] = append(slices.DeleteFunc(b.there[k], func(x board.Attention) bool { return x.Principal == a.Principal }), a)
	if len(b.there[k]) != before || a.Answering || answering {
		b.tell(k)
	}
}

func (b *bus) Look(v board.Viewer, k ask.Key, answering bool) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.look(k, board.Attention{Principal: v.By.Principal, Name: v.By.Name, Answering: answering})
	return nil
}

func (b *bus) Leave(v board.Viewer, k ask.Key) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.there[k] = slices.DeleteFunc(b.there[k], func(x board.Attention) bool { return x.Principal == v.By.Principal })
	b.tell(k)
	return nil
}

func (b *bus) Depart(v board.Viewer) error {
	for k := range b.there {
		_ = b.Leave(v, k)
	}
	return nil
}

func (b *bus) Attending(k ask.Key) []board.Attention {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.there[k])
}

func (b *bus) Snooze(_ context.Context, v board.Viewer, k ask.Key, until time.Time) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.snoozes[v.By.Principal] == nil {
		b.snoozes[v.By.Principal] = map[ask.Key]time.Time{}
	}
	b.snoozes[v.By.Principal][k] = until
	b.tell(k)
	return nil
}

func (b *bus) Snoozed(_ context.Context, v board.Viewer) (map[ask.Key]time.Time, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	off := map[ask.Key]time.Time{}
	for k, until := range b.snoozes[v.By.Principal] {
		if time.Now().Before(until) {
			off[k] = until
		}
	}
	return off, nil
}

func (b *bus) HandOver(_ context.Context, v board.Viewer, k ask.Key, to, word string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if to != "" && !strings.Contains(to, ":") {
		return ask.InvalidError("handover", []ask.Fault{{Pointer: "/to", Message: "is nobody who was seen here"}})
	}
	b.handed[k] = &board.Handover{Key: k, To: to, Word: word, By: v.By}
	if to == "" {
		delete(b.handed, k)
	}
	b.tell(k)
	return nil
}

func (b *bus) TakeBack(ctx context.Context, v board.Viewer, k ask.Key, from string) error {
	if h, _ := b.Head(k); h.Handed != nil && h.Handed.To != from {
		return ask.Refusal(ask.CodeConflict, ask.FaultHandedOn)
	}
	return b.HandOver(ctx, v, k, "", "")
}

func (b *bus) People() []ask.By { return []ask.By{tom} }

func (b *bus) Receipt(ctx context.Context, _ ask.Key, r ask.Receipt) error {
	select {
	case b.receipts <- r:
	case <-ctx.Done(): // nothing reads present any more
	}
	return nil
}

func (b *bus) Present(_, _ string) (func(), error) {
	b.present <- 1
	return func() { b.present <- -1 }, nil
}
