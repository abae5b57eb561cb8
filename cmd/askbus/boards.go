package main

import (
	"github.com/askbus/askbus/internal/natsd"
	"github.com/askbus/askbus/pkg/client"
	"github.com/askbus/askbus/pkg/responder"
	"github.com/nats-io/nats.go"
)

// newBoard returns a board that shares snoozes and hand-overs with all surfaces. Credentials of a
// single session, and those of non-responders, have no access to that shared state: their boards
// keep it in memory.
func newBoard(r *responder.Responder, role natsd.Role) *responder.Board {
	if role.Name != natsd.RoleResponder || role.Session != "" {
		return responder.NewBoard(r, responder.BoardOptions{})
	}
	return responder.NewBoard(r, responder.BoardOptions{Snoozes: r.SharedSnoozes(), Handovers: r.SharedHandovers()})
}

// asResponder connects as a responder if the keys of the directory are available: an operator may
// decide asks, but has no presence on other screens and stores nothing for a person. Otherwise it
// returns b.
func (a *app) asResponder(b *bus) (*bus, func()) {
	if b.role.Name == natsd.RoleResponder || a.Creds != "" || a.Exchange.URL != "" || a.NATS.URL != "" {
		return b, func() {}
	}
	role := natsd.Role{Name: natsd.RoleResponder, Type: cliType}
	cred, err := a.local(role)
	if err != nil {
		return b, func() {}
	}
	nc, err := client.Connect(a.trust(cred), a.log(), nats.RetryOnFailedConnect(false))
	if err != nil {
		return b, func() {}
	}
	return &bus{nc: nc, asks: b.asks, cred: cred, role: role, own: b.own, agents: b.agents}, nc.Close
}
