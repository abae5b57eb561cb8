package hook

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/askbus/askbus/internal/cloudevent"
	"github.com/askbus/askbus/internal/hook/hostcall"
	"github.com/askbus/askbus/internal/wire"
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
	a.WhileWaiting = c.Mode != Defer && !c.Outlive
	a.Agent = hostcall.Agent(body)
	if event.CWD != "" && a.Agent.Name == "" {
		a.Agent.Name = "agent in " + filepath.Base(event.CWD)
	}
	if event.CWD != "" && c.Work != nil {
		c.Work(event.CWD, &a.Agent)
	}
}

// recent is the maximum age of an ask that ended between a PreToolUse and the PermissionRequest of
// the same question.
const recent = time.Minute

// same finds the session's ask of the same content: the pending one, else the latest that was asked
// and has ended within recent. The order matters: an ask that ends between the two lists is in the
// second.
func (r *run) same(ctx context.Context) (*ask.Record, error) {
	ctx, cancel := context.WithTimeout(ctx, r.h.opts.Patience)
	defer cancel()
	want, err := wire.Digest(&r.event.Ask)
	if err != nil {
		return nil, err
	}
	var found *ask.Record
	for _, state := range []ask.State{ask.StatePending, ask.StateResolved} {
		for rec, err := range r.asks.All(ctx, client.Query{State: state, PageSize: 200}) {
			if err != nil {
				return nil, err
			}
			if state == ask.StateResolved && time.Since(rec.AskedAt) > recent {
				continue
			}
			if digest, err := wire.Digest(&rec.Ask); err == nil && digest == want {
				found = &rec
			}
		}
		if found != nil {
			return found, nil
		}
	}
	return nil, nil
}

// after handles PostToolUse: the answer of the host's dialog becomes the outcome, so that every
// other screen closes.
func (r *run) after(ctx context.Context) error {
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

// sign adds the host's mark to the ask, for its id.
func (r *run) sign() {
	a := &r.event.Ask
	if r.Mark == nil {
		return
	}
	if a.ID == "" {
		a.ID = cloudevent.NewID()
	}
	if a.Metadata == nil {
		a.Metadata = map[string]any{}
	}
	a.Metadata[ask.MetadataHost] = r.Mark(a.Key())
}

// open returns the open ask of the event: of its tool use, or of the same content. Usually there is
// none, because it was answered elsewhere.
func (r *run) open(ctx context.Context) (*ask.Record, error) {
	if r.event.Ask.ID != "" {
		limited, cancel := context.WithTimeout(ctx, r.h.opts.Patience)
		defer cancel()
		if rec, err := r.asks.Get(limited, r.event.Ask.ID); err == nil && rec.State == ask.StatePending {
			return &rec, nil
		}
	}
	rec, err := r.same(ctx)
	if err != nil || rec == nil || rec.State != ask.StatePending {
		return nil, err
	}
	return rec, nil
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
}
