package cli

import (
	"github.com/askbus/askbus/internal/server/rights"
	"github.com/askbus/askbus/pkg/board"
	"github.com/askbus/askbus/pkg/responder"
)

// NewBoard returns a board that shares snoozes and hand-overs with all surfaces. Credentials of a
// single session, and those of non-responders, have no access to that shared state: their boards
// keep it in memory.
func NewBoard(r *responder.Responder, role rights.Role) *board.Board {
	return board.New(r, board.Options{Shared: role.Name == rights.RoleResponder && role.Session == ""})
}

// AsResponder connects as a responder if the keys of the directory are available: an operator may
// decide asks, but has no presence on other screens and stores nothing for a person. Otherwise it
// returns b.
func (a *App) AsResponder(b *Bus) (*Bus, func()) {
	if b.Role.Name == rights.RoleResponder || a.Creds != "" || a.Exchange.URL != "" || a.NATS.URL != "" {
		return b, func() {}
	}
	role := rights.Role{Name: rights.RoleResponder, Type: SurfaceType}
	cred, err := a.Local(role)
	if err != nil {
		return b, func() {}
	}
	nc, err := a.Connect(cred)
	if err != nil {
		return b, func() {}
	}
	return &Bus{NC: nc, Asks: b.Asks, Cred: cred, Role: role, own: b.own, agents: b.agents}, nc.Close
}
