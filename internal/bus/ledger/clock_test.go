package ledger_test

import (
	"context"
	"log/slog"
	"strings"
	"testing"

	"github.com/askbus/askbus/internal/bus/ledger"
	"github.com/askbus/askbus/internal/server/rights"
	"github.com/askbus/askbus/internal/testkit/natstest"
)

// lines sends each line of a log.
type lines chan string

func (l lines) Write(p []byte) (int, error) {
	l <- string(p)
	return len(p), nil
}

// Under another operator's system account nobody tells askbus the time.
func TestWhoWaitsForTheTimeSaysSo(t *testing.T) {
	t.Parallel()
	b := natstest.Start(t, natstest.Options{NoBroker: true})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	said, done := make(lines, 100), make(chan error, 1)
	elsewhere, nc := b.Connect(rights.Role{Name: rights.RoleBroker}), b.Connect(rights.Role{Name: rights.RoleLedger}) // not in the system account
	go func() {
		_, err := ledger.Open(ctx, nc, ledger.Options{Servers: elsewhere, Logger: slog.New(slog.NewTextHandler(said, nil))})
		done <- err
	}()
	for {
		select {
		case line := <-said:
			if strings.Contains(line, "system_account") && strings.Contains(line, "waiting for the time") {
				cancel()
				if <-done == nil {
					t.Error("it opened the ledger without knowing the time")
				}
				return
			}
		case err := <-done:
			t.Fatalf("it ended: %v", err)
		}
	}
}
