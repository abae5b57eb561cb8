package ledger

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/askbus/askbus/internal/protocol/subject"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/nats-io/nats.go/jetstream"
	"golang.org/x/sync/errgroup"
)

// Backlog is the work that waits for a responder type's replicas, over all
// partitions and tenants: work never handed out, and work in progress.
type Backlog struct {
	Questions int64 `json:"questions"` // to present
	Outcomes  int64 `json:"outcomes"`  // to close or retract cards for
	// Oldest is when the oldest of the questions was stored; zero: there is none.
	Oldest time.Time `json:"-"`
}

// with returns both together.
func (b Backlog) with(o Backlog) Backlog {
	b.Questions += o.Questions
	b.Outcomes += o.Outcomes
	if b.Oldest.IsZero() || !o.Oldest.IsZero() && o.Oldest.Before(b.Oldest) {
		b.Oldest = o.Oldest
	}
	return b
}

// Sum is the figure to scale on. Outcomes count, because a type without
// replicas must still close its cards.
func (b Backlog) Sum() int64 { return b.Questions + b.Outcomes }

// Backlog counts the waiting work of each responder type that has consumers: by TYPE over all tenants, and by
// TYPE@TENANT where tenants have consumers of their own. It asks the leaders of the consumers, so the figures are
// current.
func (w *Work) Backlog(ctx context.Context) (map[string]Backlog, error) {
	ctx, cancel := context.WithTimeout(ctx, 2*attempt)
	defer cancel()
	counts := make([]map[string]Backlog, w.l.n)
	g, gctx := errgroup.WithContext(ctx)
	for p := range w.l.n {
		g.Go(func() (err error) {
			counts[p], err = w.backlogOf(gctx, subject.Stream(p))
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	all := map[string]Backlog{}
	for _, count := range counts {
		for typ, b := range count {
			all[typ] = all[typ].with(b)
		}
	}
	return all, nil
}

// backlogOf counts the waiting work in one partition.
func (w *Work) backlogOf(ctx context.Context, stream string) (map[string]Backlog, error) {
	s, err := w.l.js.Stream(ctx, stream)
	if err != nil {
		return nil, fmt.Errorf("ledger: backlog: %w", err)
	}
	all := map[string]Backlog{}
	list := s.ListConsumers(ctx)
	for info := range list.Info() {
		g, kind, ok := parseConsumer(info.Config.Durable)
		if !ok {
			continue
		}
		var b Backlog
		if kind == subject.Outcome {
			b.Outcomes = waiting(info)
		} else if b.Questions = waiting(info); b.Questions > 0 {
			var err error
			if b.Oldest, err = w.oldest(ctx, info); err != nil {
				return nil, err
			}
		}
		all[g.Type] = all[g.Type].with(b)
		if g.Tenant != "" {
			all[g.name()] = all[g.name()].with(b)
		}
	}
	if err := list.Err(); err != nil {
		return nil, fmt.Errorf("ledger: backlog of %s: %w", stream, err)
	}
	return all, nil
}

// oldest returns when the first message was stored that a consumer has not settled; zero if it is
// gone by now.
func (w *Work) oldest(ctx context.Context, info *jetstream.ConsumerInfo) (time.Time, error) {
	m, n, err := w.l.firstOf(ctx, info.Stream, info.Config.FilterSubject, info.AckFloor.Stream+1)
	if err != nil || n == 0 {
		return time.Time{}, err
	}
	return m.Time, nil
}

func waiting(info *jetstream.ConsumerInfo) int64 {
	return int64(info.NumPending) + int64(info.NumAckPending) //nolint:gosec // a stream holds fewer messages
}

// parseConsumer parses the name of a group's consumer; see [Group.consumer].
func parseConsumer(name string) (g Group, kind string, ok bool) {
	at := strings.LastIndexByte(name, '-')
	if at < 0 {
		return Group{}, "", false
	}
	g.Type, g.Tenant, _ = strings.Cut(name[:at], "@")
	kind = name[at+1:]
	return g, kind, g.Type != "" && (kind == subject.Question || kind == subject.Outcome)
}

// ParseGroup parses TYPE or TYPE@TENANT; ok is false if either has characters that a token of a subject cannot have.
func ParseGroup(text string) (g Group, ok bool) {
	typ, tenant, ofTenant := strings.Cut(text, "@")
	return Group{Type: typ, Tenant: tenant}, ask.ValidToken(typ) && (!ofTenant || ask.ValidToken(tenant))
}

// Prepare creates the consumers of a group, as its first replica would, so that
// one without replicas has a backlog and misses no outcome. It looks whether
// they are there: the server removes those that nobody used for a month.
func (w *Work) Prepare(ctx context.Context, g Group) error {
	w.forget(g)
	_, err := w.ensure(ctx, g)
	return err
}
