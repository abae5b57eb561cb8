package role

import (
	"bytes"
	"strings"
	"testing"

	"github.com/askbus/askbus/internal/cli"
	"github.com/askbus/askbus/internal/server/rights"
	"github.com/askbus/askbus/internal/testkit/natstest"
	"github.com/askbus/askbus/pkg/client"
)

// A broker whose credential cannot ask the servers for their time, an older one
// or one that the NATS server does not know, starts and says so.
func TestABrokerMayLackTheRightToAskServersForTheirTime(t *testing.T) {
	t.Parallel()
	b, other := natstest.Start(t, natstest.Options{NoBroker: true}), natstest.Start(t, natstest.Options{NoBroker: true})
	own, err := b.Credential(rights.Role{Name: rights.RoleClock})
	if err != nil {
		t.Fatal(err)
	}
	foreign, err := other.Credential(rights.Role{Name: rights.RoleClock})
	if err != nil {
		t.Fatal(err)
	}
	foreign.URL = b.URL()
	for name, v := range map[string]struct {
		cred client.Credential
		asks bool
		says string
	}{
		"its own":     {client.Credential(own), true, ""},
		"none":        {client.Credential{}, false, "askbus auth broker"},
		"another bus": {client.Credential(foreign), false, "refuses the credential"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var log bytes.Buffer
			a := &cli.App{Stdout: &bytes.Buffer{}, Stderr: &log}
			a.LogLevel, a.LogFormat, a.Dir = "warn", "text", t.TempDir()
			r := NewRunning(t.Context(), a)
			defer r.Close()
			nc, err := r.servers(v.cred)
			if err != nil || (nc != nil) != v.asks || v.says == "" && log.Len() > 0 || !strings.Contains(log.String(), v.says) {
				t.Errorf("asks: %v, %v; %s", nc != nil, err, &log)
			}
		})
	}
}
