package role

import (
	"context"
	"time"

	"github.com/askbus/askbus/internal/asking/gateway"
	"github.com/askbus/askbus/internal/asking/gateway/access"
	"github.com/askbus/askbus/internal/cli"
	"github.com/askbus/askbus/internal/process/config"
	"github.com/askbus/askbus/internal/process/daemon"
	"github.com/askbus/askbus/internal/process/httpserver"
)

// unlockedConnections is enough for the programs of one session.
const unlockedConnections = 64

// unlocked serves the address without tokens, if configured: for one session, and for programs on
// this machine.
func (r *Process) unlocked(ctx context.Context, g *gateway.Gateway, d config.Gateway) error {
	switch {
	case d.InteractAddr == "" && d.InteractSession == "":
		return nil
	case d.InteractAddr == "" || d.InteractSession == "":
		return cli.Usage("--interact-addr and --interact-session go together: one address without tokens, for one session")
	}
	if err := access.LoopbackAddr(d.InteractAddr); err != nil {
		return cli.Usage("--interact-addr: %w", err)
	}
	h, err := g.Unlocked(r.a.Tenant, d.InteractSession)
	if err != nil {
		return cli.Usage("--interact-session: %w", err)
	}
	ln, err := listen(ctx, r.a, "interact", d.InteractAddr, "--interact-addr", r.before.InteractURL)
	if err != nil {
		return err
	}
	r.After.InteractURL = httpURL(ln)
	r.last = append(r.last, daemon.HTTP("interact", ln, h, httpserver.Limits{Connections: unlockedConnections}, 5*time.Second))
	r.a.Note("askbus: programs of this machine ask for session %s at %s without a token", d.InteractSession, httpURL(ln))
	return nil
}
