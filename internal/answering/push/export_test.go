package push

import (
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/responder"
)

// StandIns is standIns, for tests that wait for it.
func (a *App) StandIns() []ask.StandIn { return a.standIns() }

// Subscribers is the number of subscribers, for tests that wait for it.
func (a *App) Subscribers(p responder.Post) int { return len(a.subscribers(p)) }
