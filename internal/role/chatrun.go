package role

import (
	"cmp"
	"context"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/askbus/askbus/internal/answering/chat"
	"github.com/askbus/askbus/internal/bus/audit"
	"github.com/askbus/askbus/internal/process/daemon"
	"github.com/askbus/askbus/internal/server/rights"
	"github.com/askbus/askbus/pkg/client"
	"github.com/askbus/askbus/pkg/responder"
	"github.com/nats-io/nats.go"
)

// chatRun is a chat in a process: its app on a connection of its own.
type chatRun struct {
	app     chatApp
	nc      *nats.Conn
	cred    client.Credential
	parts   []daemon.Part
	handler http.Handler // of the platform's calls; nil: it does not call
	ends    []func()
	failed  atomic.Pointer[error] // of a part that ended by itself
}

// close closes its connection, and removes what is measured of it.
func (c *chatRun) close() {
	for _, end := range c.ends {
		end()
	}
}

// drain waits for the work that continues after its acknowledgement.
func (c *chatRun) drain() {
	if d, ok := c.app.(chatDrainer); ok {
		d.Drain()
	}
}

// chat makes a chat's app, without starting it.
func (r *Process) chat(c *chatEntry, tenant, inbox string) (_ *chatRun, err error) {
	if _, err := c.app(r.a, nil, "", nil); err != nil { // before anything is opened
		return nil, err
	}
	cred, err := r.chatCred(c, tenant)
	if err != nil {
		return nil, err
	}
	role, _ := rights.ParseUser(cred.Name) // unknown roles stay empty
	tenant = cmp.Or(role.Tenant, tenant)
	nc, err := r.dial(cred)
	if err != nil {
		return nil, err
	}
	one := &chatRun{nc: nc, cred: cred, ends: []func(){nc.Close}}
	defer func() {
		if err != nil {
			one.close()
		}
	}()
	bus, err := responder.New(nc, c.served(), responder.Options{Tenant: tenant, Logger: r.Log, TracerProvider: r.tracing})
	if err != nil {
		return nil, err
	}
	app, err := c.app(r.a, bus, inbox, func(o *chat.Options) {
		if role.Session == "" { // others may not report
			to, run, remove := r.reporter(nc, c.served(), audit.Surface(c.served(), role.Tenant))
			one.parts, one.ends = append(one.parts, run), append(one.ends, remove)
			o.Refused = chatRefusals(to)
		}
	})
	if err != nil {
		return nil, err
	}
	one.app = app
	if m, ok := app.(chatMetrics); ok {
		one.ends = append(one.ends, r.metrics.Collect(m.Metrics))
	}
	one.parts = append(one.parts, daemon.Part{Name: c.served(), Run: func(ctx context.Context) error {
		return app.Serve(ctx, responder.ServeOptions{WorkOptions: responder.WorkOptions{Concurrency: 64, Grace: 10 * time.Second}})
	}})
	if k, ok := app.(chatKeeper); ok {
		one.parts = append(one.parts, daemon.Part{Name: "token", Run: func(ctx context.Context) error {
			err := k.Keep(ctx)
			<-ctx.Done() // it may return before
			return err
		}})
	}
	if l, ok := c.listens(app); ok {
		one.parts = append(one.parts, daemon.Part{Name: "connection to " + c.Name, Run: l.Listen})
	}
	if h, ok := c.called(app); ok {
		one.handler = h.Handler()
	}
	return one, nil
}

// chatCred returns the credential of a chat. One that it makes may assert the chat's members, and any principal if there
// is a routing file: it may map members to them, and may change.
func (r *Process) chatCred(c *chatEntry, tenant string) (client.Credential, error) {
	role := rights.Role{Name: rights.RoleResponder, Type: c.served(), Tenant: tenant}
	if r.keys == nil && r.a.Creds != "" {
		return r.a.GivenCred(role)
	}
	may := role.Assertions()
	if c.Proven != nil {
		may.Proven = append(may.Proven, c.Proven()...)
	}
	if c.Routes != "" {
		may.Proven = append(may.Proven, c.Proof+"=*")
	}
	if r.keys == nil {
		return r.a.LocalAsserting(role, may)
	}
	cred, err := r.keys.Asserting(r.After.NATSURL, role, may)
	return client.Credential(cred), err
}
