package hook

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/askbus/askbus/internal/asking/hook/hostcall"
	"github.com/askbus/askbus/internal/asking/sameask"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/client"
)

// fill sets the ask's tenant, session, agent and deadline.
func (c *Call) fill(event *hostcall.Event, body []byte) {
	a := &event.Ask
	a.Tenant = cmp.Or(c.Tenant, ask.DefaultTenant)
	a.Session = cmp.Or(c.Session, a.Session, ask.DefaultSession)
	c.Mode = cmp.Or(c.Mode, Wait)
	if a.Timeout == 0 && a.Deadline.IsZero() { // unless the question says so itself
		a.Timeout = c.Timeout
	}
	a.WhileWaiting = c.Mode != Defer && !c.Outlive || event.Form()
	a.Agent = hostcall.Agent(body)
	if event.CWD != "" && a.Agent.Name == "" {
		a.Agent.Name = "agent in " + filepath.Base(event.CWD)
	}
	if event.CWD != "" && c.Work != nil {
		c.Work(event.CWD, &a.Agent)
	}
}

// after handles PostToolUse: the answer of the host's dialog becomes the outcome, so that every
// other screen closes.
func (r *run) after(ctx context.Context) error {
	if r.event.Permission() {
		return r.allowed(ctx)
	}
	reply, ok := r.event.Native()
	if !ok {
		return nil
	}
	if r.Human.Principal == "" {
		return errors.New(r.Unproven)
	}
	rec, err := r.open(ctx)
	if err != nil || rec == nil {
		return err
	}
	k := rec.Ask.Key()
	if r.Mark != nil && !rec.Ask.AskedBy(r.Mark(k)) {
		return fmt.Errorf("ask %s is not from this host; a host's dialog answers only what it asked itself", k)
	}
	reply.AnswerID = ask.Token("native-" + k.ID)
	reply.By = r.Human
	reply.By.Proof = ask.ProofHostDialog
	ctx, cancel := context.WithTimeout(ctx, 2*r.h.opts.Patience)
	defer cancel()
	return r.record(ctx, &rec.Ask, reply)
}

// origin returns what distinguishes the event's ask besides its content: the tool use in the host's
// session, the working directory and the sub-agent.
func (c *Call) origin(event *hostcall.Event) sameask.Origin {
	from := sameask.Origin{Permission: true, Place: event.Place}
	if event.Permission() {
		return c.signed(from)
	}
	if event.Form() {
		return c.signed(sameask.Origin{Once: true})
	}
	from = sameask.Origin{Call: sameask.TakeCall(&event.Ask), Run: event.Ask.Session, Place: event.Place, Dialog: true}
	return c.signed(from)
}

// signed returns an origin whose asks have the host's mark.
func (c *Call) signed(from sameask.Origin) sameask.Origin {
	if c.Mark != nil {
		from.Sign = c.sign
	}
	return from
}

// sign adds the host's mark to an ask, for its id.
func (c *Call) sign(a *ask.Ask) {
	if a.Metadata == nil {
		a.Metadata = map[string]any{}
	}
	a.Metadata[ask.MetadataHost] = c.Mark(a.Key())
}

// open returns the open ask of the event: of its tool use, or of the same content. Usually there is
// none, because it was answered elsewhere.
func (r *run) open(ctx context.Context) (*ask.Record, error) {
	ctx, cancel := context.WithTimeout(ctx, r.h.opts.Patience)
	defer cancel()
	a := &r.event.Ask
	for _, id := range append(r.from.Find(a), a.ID) {
		if id == "" {
			continue
		}
		if rec, err := r.asks.Get(ctx, id); err == nil && rec.State == ask.StatePending && (r.from.Same(a, &rec.Ask) || r.Mark != nil && !rec.Ask.AskedBy(r.Mark(rec.Ask.Key()))) { // the caller refuses the latter
			return &rec, nil
		}
	}
	var found *ask.Record
	for rec, err := range r.asks.All(ctx, client.Query{State: ask.StatePending, PageSize: 200}) {
		if err != nil {
			return nil, err
		}
		if r.from.Is(a, rec.Ask.ID) {
			found = &rec // the latest
		}
	}
	return found, nil
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
}
