package connection_test

import (
	"strings"
	"testing"

	"github.com/askbus/askbus/internal/bus/connection"
	"github.com/askbus/askbus/internal/protocol/assertion"
	"github.com/askbus/askbus/internal/server/rights"
	"github.com/askbus/askbus/internal/testkit/natstest"
)

// TestNobodyGuessesAnInbox connects twice with one credential.
func TestNobodyGuessesAnInbox(t *testing.T) {
	t.Parallel()
	b := natstest.Start(t, natstest.Options{Memory: true, NoBroker: true})
	keys, err := rights.LoadIssuer(b.Dir)
	if err != nil {
		t.Fatal(err)
	}
	c, err := keys.Asserting(b.URL(), rights.Role{Name: rights.RoleGateway}, assertion.Set{})
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for range 2 {
		nc, err := connection.Connect(c, natstest.Logger())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(nc.Close)
		parts := strings.Split(nc.NewInbox(), ".")
		if len(parts) != 4 || parts[1] != "g" || len(parts[2]) < 26 || seen[parts[2]] {
			t.Errorf("the inbox is %v", parts)
		}
		seen[parts[2]] = true
		if sub, err := nc.SubscribeSync(nc.NewInbox()); err != nil || nc.Flush() != nil || nc.LastError() != nil || !sub.IsValid() {
			t.Errorf("it may not be heard: %v, %v", err, nc.LastError())
		}
	}
}
