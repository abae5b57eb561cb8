package mcpserver

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// progress notifies a client that asked for it, at once and then regularly, that the call still
// waits. The first notification starts the HTTP response early; the others reset the timeout of
// clients that reset it on progress.
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
			if n.votes != nil {
				if votes := n.votes(ctx); votes != "" {
					message += ": " + votes
				}
			}
			if waited := time.Since(c.began).Round(time.Second); waited > 0 {
				message += ": " + waited.String()
			}
			err := c.req.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: token, Progress: count, Message: message})
			if err != nil {
				return // the client is gone
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
