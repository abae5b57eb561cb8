package board

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/askbus/askbus/internal/protocol/subject"
	"github.com/askbus/askbus/internal/protocol/wire"
	"github.com/askbus/askbus/pkg/ask"
)

// pauses tells the broker that somebody looks at an ask with a ladder, once for
// each step, so that the step waits. A surface calls [Board.Look] only while its
// viewer uses it.
type pauses struct {
	mu   sync.Mutex
	told map[ask.Key]pause // the last that was told
	todo chan pause
}

type pause struct {
	k    ask.Key
	life string
	n    int // the step that is to wait
	by   ask.By
}

const (
	maxPauses  = 10_000 // asks that are remembered
	pauseLimit = 5 * time.Second
)

func newPauses() *pauses { return &pauses{told: map[ask.Key]pause{}, todo: make(chan pause, 64)} }

// look notes that a viewer looks at an ask.
func (p *pauses) look(b *Board, v Viewer, k ask.Key) {
	b.mu.Lock()
	h := b.held[k.String()]
	b.mu.Unlock()
	if h == nil || h.deciders == nil || len(h.deciders.escalate) == 0 {
		return
	}
	rec := h.record()
	next, ok := rec.Ask.NextStep(rec.AskedAt, rec.Escalated)
	if !ok || next.Paused {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if last, told := p.told[k]; told && last.life == h.life && last.n >= next.N {
		return
	}
	one := pause{k, h.life, next.N, v.By}
	select {
	case p.todo <- one:
	default:
		return // the next look tells it
	}
	if len(p.told) >= maxPauses {
		clear(p.told)
	}
	p.told[k] = one
}

// run tells the broker until ctx ends.
func (p *pauses) run(ctx context.Context, b *Board) {
	for {
		select {
		case <-ctx.Done():
			return
		case one := <-p.todo:
			limited, cancel := context.WithTimeout(ctx, pauseLimit)
			err := b.r.note(limited, one.k, subject.VerbSeen, wire.Seen{By: one.by, Life: one.life})
			cancel()
			if err != nil && ctx.Err() == nil { // such as of somebody who may not decide it
				b.r.opts.Logger.DebugContext(ctx, "a step of a ladder does not wait", slog.String("ask_id", one.k.ID), slog.Any("error", err))
			}
		}
	}
}
