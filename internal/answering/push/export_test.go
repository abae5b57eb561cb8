package push

import "github.com/askbus/askbus/pkg/ask"

// StandIns is standIns, for tests that wait for it.
func (a *App) StandIns() []ask.StandIn { return a.standIns() }
