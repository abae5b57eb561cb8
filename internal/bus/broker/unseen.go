package broker

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/askbus/askbus/internal/bus/ledger"
	"github.com/askbus/askbus/internal/protocol/lifecycle"
	"github.com/askbus/askbus/internal/protocol/subject"
	"github.com/askbus/askbus/internal/protocol/wire"
	"github.com/askbus/askbus/pkg/ask"
)

// unseen tells people whose devices were notified of an ask and did not show it to
// them, each in one chat that is theirs: as a step of the ask, once, and not if it has
// a ladder, which tells whom its asker wants told.
func (b *Broker) unseen(ctx context.Context, r *request, z *wire.Seen) error {
	if r.Type != subject.TypePush {
		return ask.Refuse(ask.CodeForbidden, "only %q says that people did not see a notification", subject.TypePush)
	}
	s, err := b.load(ctx, r.Key())
	if err != nil {
		return err
	}
	if s.Life != z.Life {
		return ask.InvalidError(string(r.Verb), []ask.Fault{ask.NewFault("/life", ask.FaultAnotherLife, z.Life, s.Life)})
	}
	served, err := b.chats(ctx, r.Tenant)
	if err != nil {
		return err
	}
	c := lifecycle.Remind{}
	for _, principal := range z.Unseen {
		selves, err := b.selves(ctx, r.Tenant, principal)
		if err != nil {
			return err
		}
		slices.Sort(selves)
		for _, self := range selves {
			typ, _, _ := strings.Cut(self, ":")
			if self == principal || !served[typ] || slices.Contains(c.Tell, self) {
				continue
			}
			if c.Tell = append(c.Tell, self); !slices.Contains(c.Via, typ) {
				c.Via = append(c.Via, typ)
			}
			break
		}
	}
	if len(c.Tell) > 0 {
		if _, err := b.apply(ctx, r.Key(), c, r.User); err != nil {
			return err
		}
	}
	return b.replyJSON(r, struct{}{})
}

// chats returns the kinds of surfaces that take work of a tenant, but those that are
// nobody's chat.
func (b *Broker) chats(ctx context.Context, tenant string) (map[string]bool, error) {
	backlog, err := b.Backlog(ctx)
	if err != nil {
		return nil, err
	}
	served := map[string]bool{}
	for name := range maps.Keys(backlog) {
		if g, ok := ledger.ParseGroup(name); ok && (g.Tenant == "" || g.Tenant == tenant) {
			served[ask.SurfaceKind(g.Type)] = true
		}
	}
	for _, typ := range []string{subject.TypePush, subject.TypeWeb, subject.TypeTUI, subject.TypeWebhook, ask.TypePagerDuty} {
		delete(served, typ)
	}
	return served, nil
}
