package main

import (
	"context"
	"time"

	"github.com/askbus/askbus/internal/config"
	"github.com/askbus/askbus/internal/daemon"
	"github.com/askbus/askbus/internal/gateway"
	"github.com/askbus/askbus/internal/gateway/access"
	"github.com/askbus/askbus/internal/httpserver"
)

// unlockedConnections is enough for the programs of one session.
const unlockedConnections = 64

// unlocked serves the address without tokens, if configured: for one session, and for programs on
// this machine.
func (r *running) unlocked(ctx context.Context, g *gateway.Gateway, d config.Gateway) error {
	switch {
	case d.InteractAddr == "" && d.InteractSession == "":
		return nil
	case d.InteractAddr == "" || d.InteractSession == "":
		return usage("--interact-addr and --interact-session go together: one address without tokens, for one session")
	}
	if err := access.LoopbackAddr(d.InteractAddr); err != nil {
		return usage("--interact-addr: %w", err)
	}
	h, err := g.Unlocked(r.a.Tenant, d.InteractSession)
	if err != nil {
		return usage("--interact-session: %w", err)
	}
	ln, err := r.a.listen(ctx, "interact", d.InteractAddr, "--interact-addr", "")
	if err != nil {
		return err
	}
	r.last = append(r.last, daemon.HTTP("interact", ln, h, httpserver.Limits{Connections: unlockedConnections}, 5*time.Second))
	r.a.say("askbus: programs of this machine ask for session %s at %s without a token", d.InteractSession, httpURL(ln))
	return nil
}
