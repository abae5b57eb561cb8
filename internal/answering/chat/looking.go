package chat

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/askbus/askbus/internal/process/backoff"
	"github.com/askbus/askbus/internal/process/lang"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/board"
	"github.com/askbus/askbus/pkg/card"
	"github.com/askbus/askbus/pkg/responder"
	lru "github.com/hashicorp/golang-lru/v2"
)

// Limits of the marks of who looks at an ask elsewhere.
const (
	looksFor   = 25 * time.Second       // after the last that was said; surfaces say it every 10 s
	markAfter  = 500 * time.Millisecond // who only passes by is not marked; who took the ask, to read it, is at once
	fadeEvery  = 5 * time.Second
	maxMarked  = 2_000 // cards, and asks at which somebody is
	maxAtOnce  = 4     // people at one ask
	maxToMark  = 64    // cards that wait for an edit
	markWithin = 20 * time.Second
)

// lookers is who looks at asks at other surfaces, for cards that say so: somebody who reads a chat then goes on to
// another ask. A card is edited by the replica that posted it, when somebody begins to look or nobody looks any more,
// and not while other calls of the chat wait for their turn: a mark may be missing, and is never in the way.
type lookers struct {
	s       *Surface
	limiter *responder.Limiter

	mu    sync.Mutex
	at    *lru.Cache[ask.Key, []board.Attention]
	cards *lru.Cache[ask.Key, posted]
	todo  chan ask.Key
}

// posted is a card of this replica. Of its ask there is only the key: 2,000 asks with all their words are a lot.
type posted struct {
	post   responder.Post
	lang   *lang.Language
	places []ask.Place
	marked string // who it says looks
}

// FollowLookers has the cards of a surface say who looks at their asks elsewhere, while [Surface.Serve] runs. The
// limiter is that of Serve.
func (s *Surface) FollowLookers(limiter *responder.Limiter) {
	s.lookers = &lookers{
		s: s, limiter: limiter, at: NewCache[ask.Key, []board.Attention](maxMarked), cards: NewCache[ask.Key, posted](maxMarked), todo: make(chan ask.Key, maxToMark),
	}
}

// Shown notes that this replica has posted an ask whose card says who looks at it.
func (s *Surface) Shown(p responder.Post, places []ask.Place, attention []string) {
	if l := s.lookers; l != nil {
		k, spoken := p.Ask.Key(), s.Language(&p.Ask)
		p.Ask = ask.Ask{Tenant: k.Tenant, Session: k.Session, ID: k.ID}
		l.mu.Lock()
		l.cards.Add(k, posted{p, spoken, places, strings.Join(attention, "\n")})
		l.mu.Unlock()
		l.mark(k, 0)
	}
}

// others returns who looks at an ask elsewhere.
func (l *lookers) others(k ask.Key) (all []card.Attention) {
	if l == nil {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	looking, _ := l.at.Peek(k)
	for _, a := range looking {
		if l.s.Clock.Now().Sub(a.Seen) < looksFor {
			all = append(all, card.Attention{By: ask.By{Principal: a.Principal, Name: a.Name}})
		}
	}
	return all
}

// run follows who looks, until ctx ends.
func (l *lookers) run(ctx context.Context) {
	stop, err := board.Hear(l.s.Bus, l.heard)
	if err != nil {
		l.s.Log.WarnContext(ctx, "cards do not say who looks at an ask elsewhere", slog.Any("error", err))
		return
	}
	defer stop()
	var all sync.WaitGroup
	defer all.Wait()
	all.Go(func() {
		for backoff.Sleep(ctx, fadeEvery) == nil {
			l.fade()
		}
	})
	for {
		select {
		case <-ctx.Done():
			return
		case k := <-l.todo:
			l.edit(ctx, k)
		}
	}
}

// heard notes the attention of another surface.
func (l *lookers) heard(k ask.Key, a board.Attention) {
	if a.Responder == l.s.Type {
		return
	}
	a.Seen = l.s.Clock.Now()
	l.mu.Lock()
	looking, _ := l.at.Get(k)
	now := slices.DeleteFunc(slices.Clone(looking), func(b board.Attention) bool { return b.Principal == a.Principal })
	if !a.Gone && len(now) < maxAtOnce {
		now = append(now, a)
	}
	l.keep(k, now)
	l.mu.Unlock()
	if a.Mark != "" {
		l.mark(k, 0)
		return
	}
	l.mark(k, markAfter)
}

func (l *lookers) keep(k ask.Key, looking []board.Attention) {
	if len(looking) == 0 {
		l.at.Remove(k)
	} else {
		l.at.Add(k, looking)
	}
}

// fade forgets who disappeared, and takes away what could not be taken away before.
func (l *lookers) fade() {
	l.mu.Lock()
	for _, k := range l.at.Keys() {
		looking, _ := l.at.Peek(k)
		left := slices.DeleteFunc(slices.Clone(looking), func(a board.Attention) bool { return l.s.Clock.Now().Sub(a.Seen) >= looksFor })
		if len(left) < len(looking) {
			l.keep(k, left)
		}
	}
	var marked []ask.Key
	for _, k := range l.cards.Keys() {
		if p, _ := l.cards.Peek(k); p.marked != "" {
			marked = append(marked, k)
		}
	}
	l.mu.Unlock()
	for _, k := range marked {
		l.mark(k, markAfter)
	}
}

// mark has a card edited after a while if it is of this replica and what it says is not true.
func (l *lookers) mark(k ask.Key, after time.Duration) {
	if _, _, stale := l.stale(k); !stale {
		return
	}
	edit := func() {
		select {
		case l.todo <- k:
		default: // a mark may be missing
		}
	}
	if after == 0 {
		edit()
		return
	}
	time.AfterFunc(after, edit)
}

// stale returns the card of an ask, who it should say looks, and whether it says something else.
func (l *lookers) stale(k ask.Key) (p posted, says string, stale bool) {
	l.mu.Lock()
	p, ours := l.cards.Peek(k)
	l.mu.Unlock()
	if !ours {
		return p, "", false
	}
	says = strings.Join(l.s.shared(p.lang).Others(l.others(k)...), "\n")
	return p, says, says != p.marked
}

// edit makes the mark of a card true, unless other calls wait.
func (l *lookers) edit(ctx context.Context, k ask.Key) {
	p, says, stale := l.stale(k)
	srv := l.s.server.Load()
	if !stale || srv == nil || l.limiter.Waiting() > 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, markWithin)
	defer cancel()
	pending, err := srv.Redraw(ctx, p.post, p.places)
	if _, later := errors.AsType[*responder.LaterError](err); err != nil && (later || ctx.Err() != nil || errors.Is(err, ask.ErrUnavailable)) {
		return // fade marks it again
	}
	if err != nil {
		pending = false
		l.s.Log.DebugContext(ctx, "a card does not say who looks at its ask", slog.String("ask_id", k.ID), slog.Any("error", err))
	}
	l.mu.Lock()
	if p.marked = says; pending {
		l.cards.Add(k, p)
	} else {
		l.cards.Remove(k)
	}
	l.mu.Unlock()
	l.mark(k, markAfter) // somebody may have come or left during the edit
}
