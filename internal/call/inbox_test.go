package call_test

import (
	"strings"
	"testing"

	"github.com/askbus/askbus/internal/call"
	"github.com/askbus/askbus/internal/identity"
	"github.com/askbus/askbus/internal/natsd"
	"github.com/askbus/askbus/internal/natstest"
)

// TestNobodyGuessesAnInbox connects twice with one credential.
func TestNobodyGuessesAnInbox(t *testing.T) {
	t.Parallel()
	b := natstest.Start(t, natstest.Options{Memory: true, NoBroker: true})
	keys, err := natsd.LoadIssuer(b.Dir)
	if err != nil {
		t.Fatal(err)
	}
	c, err := keys.Asserting(b.URL(), natsd.Role{Name: natsd.RoleGateway}, identity.Assertions{})
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for range 2 {
		nc, err := call.Connect(call.Credential(c), natstest.Logger())
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
