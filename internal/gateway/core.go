package gateway

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/askbus/askbus/internal/cloudevent"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/client"
)

// callTimeout is for one command on the bus.
const callTimeout = 10 * time.Second

// store asks. The caller may go meanwhile: the ask is stored all the same.
func (g *Gateway) store(ctx context.Context, a ask.Ask, trace string) (client.Status, error) {
	data, err := cloudevent.EncodeAsk(&a)
	if err != nil {
		return client.Status{}, err
	}
	if len(data) > ask.MaxEventBytes {
		return client.Status{}, ask.Refuse(http.StatusRequestEntityTooLarge, ask.CodeTooLarge, "the ask has %d bytes; send at most %d", len(data), ask.MaxEventBytes)
	}
	c, err := client.New(g.nc, a.Tenant, a.Session, client.Options{Logger: g.opts.Logger, Trace: trace})
	if err != nil {
		return client.Status{}, err
	}
	ctx, cancel := detached(ctx)
	defer cancel()
	return c.Ask(ctx, a)
}

// await waits until the ask ends, for so long at most; nil means that it is
// still pending. Clients that understand it are told now and then that the
// request is being worked on, so that they do not take silence for death.
func (g *Gateway) await(w http.ResponseWriter, r *http.Request, k ask.Key, wait time.Duration) (*ask.Outcome, error) {
	if wait <= 0 {
		return nil, nil //nolint:nilnil // pending
	}
	ctx, cancel := context.WithTimeout(r.Context(), wait)
	defer cancel()
	stop := g.keepAlive(w, r)
	defer stop()
	o, err := g.outcome(ctx, k)
	if err != nil && r.Context().Err() == nil && (errors.Is(err, context.DeadlineExceeded) || errors.Is(err, client.ErrClosed)) {
		return nil, nil //nolint:nilnil // pending
	}
	if err != nil {
		return nil, err
	}
	return &o, nil
}

// outcome waits until the ask ends.
func (g *Gateway) outcome(ctx context.Context, k ask.Key) (ask.Outcome, error) {
	c, release, err := g.clients.use(k.Tenant, k.Session)
	if err != nil {
		return ask.Outcome{}, err
	}
	defer release()
	return c.Wait(ctx, k.ID)
}

// keepAlive sends "102 Processing" to Node, whose fetch gives up after five
// minutes without a header. Others may take it for the answer: Python's
// http.client does.
func (g *Gateway) keepAlive(w http.ResponseWriter, r *http.Request) (stop func()) {
	agent := strings.ToLower(r.UserAgent())
	if !strings.HasPrefix(agent, "node") && !strings.HasPrefix(agent, "undici") || !r.ProtoAtLeast(1, 1) {
		return func() {}
	}
	ended, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(g.opts.KeepAlive)
		defer tick.Stop()
		for {
			select {
			case <-ended:
				return
			case <-tick.C:
				w.WriteHeader(http.StatusProcessing)
			}
		}
	}()
	return func() { close(ended); <-done }
}

// detached is a context for a command that is carried out whether or not its
// caller stays.
func detached(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), callTimeout)
}

// waitOf is how long a request wants to wait: ?wait or Askbus-Wait, as "30s"
// or "30".
func (g *Gateway) waitOf(r *http.Request, otherwise time.Duration) (time.Duration, error) {
	at, s := "?wait", r.URL.Query().Get("wait")
	if s == "" {
		at, s = "Askbus-Wait", r.Header.Get("Askbus-Wait")
	}
	if s == "" {
		return min(otherwise, g.opts.MaxWait), nil
	}
	d, err := time.ParseDuration(s)
	if err != nil {
		d, err = time.ParseDuration(s + "s")
	}
	if err != nil || d < 0 {
		return 0, ask.InvalidError("request", []ask.Fault{{Message: at + " is " + quote(s) + `; give a duration such as "30s"`}})
	}
	return min(d, g.opts.MaxWait), nil
}

func quote(s string) string {
	if r := []rune(s); len(r) > 80 {
		s = string(r[:79]) + "…"
	}
	return `"` + s + `"`
}

// tenantOf is the tenant that a request is about. Only operators may name
// another one than their own.
func (c *caller) tenantOf(r *http.Request) (string, error) {
	t := r.URL.Query().Get("tenant")
	switch {
	case t == "" || t == c.Tenant:
		return c.Tenant, nil
	case !c.MaySee(t, ask.DefaultSession) || !ask.ValidToken(t):
		return "", c.forbid("tenant " + quote(t))
	}
	return t, nil
}

// sessionOf is the session that a request is about: the one it names, else the
// only one of its token, else the one for those who have none.
func (c *caller) sessionOf(r *http.Request, named string) string {
	for _, s := range []string{named, r.URL.Query().Get("session"), r.URL.Query().Get("sessionId"), r.Header.Get("Askbus-Session")} {
		if s != "" {
			return ask.Token(s)
		}
	}
	if s, one := c.Session(); one {
		return s
	}
	return ask.DefaultSession
}

func (c *caller) forbid(what string) error {
	return ask.Refuse(http.StatusForbidden, ask.CodeForbidden, "this token %s; %s is beyond it", c.Scope(), what)
}

// mayAsk, mayAnswer and maySee are nil, or the refusal.
func (c *caller) mayAsk(tenant, session string) error {
	if c.MayAsk(tenant, session) {
		return nil
	}
	return c.forbid("asking for session " + session + " of tenant " + tenant)
}

func (c *caller) mayAnswer(tenant, session string) error {
	if c.MayAnswer(tenant, session) {
		return nil
	}
	return c.forbid("answering for session " + session + " of tenant " + tenant)
}

func (c *caller) maySee(tenant, session string) error {
	if c.MaySee(tenant, session) {
		return nil
	}
	return c.forbid("session " + session + " of tenant " + tenant)
}

// key is the ask that a path names.
func (c *caller) key(r *http.Request) (ask.Key, error) {
	tenant, err := c.tenantOf(r)
	if err != nil {
		return ask.Key{}, err
	}
	k := ask.Key{Tenant: tenant, Session: r.PathValue("session"), ID: r.PathValue("id")}
	if !k.Valid() {
		return k, ask.Refuse(http.StatusNotFound, ask.CodeNotFound, "%.200q names no ask; a session and an id are 1 to %d of A-Z a-z 0-9 _ -", k.Session+"/"+k.ID, ask.MaxToken)
	}
	return k, nil
}
