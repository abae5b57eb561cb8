package mcpserver

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// progress tells a client that wants to know, at once and then regularly, that
// the call still waits. The first one makes an HTTP response begin early; the
// others keep a client waiting that restarts its clock on progress.
func (c *call) progress(ctx context.Context, n notes) (stop func()) {
	token := c.req.Params.GetProgressToken()
	if token == nil {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	var done sync.WaitGroup
	done.Go(func() {
		tick := time.NewTicker(c.s.opts.Progress)
		defer tick.Stop()
		for count := 1.0; ; count++ {
			message := "waiting for a human"
			if len(n.present) > 0 {
				message += " at " + strings.Join(n.present, ", ")
			}
			if waited := time.Since(c.began).Round(time.Second); waited > 0 {
				message += ": " + waited.String()
			}
			err := c.req.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: token, Progress: count, Message: message})
			if err != nil {
				return // nobody listens any more
			}
			select {
			case <-tick.C:
			case <-ctx.Done():
				return
			}
		}
	})
	return func() { cancel(); done.Wait() }
}
