package natsd_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/server/natsd"
	"github.com/askbus/askbus/internal/server/rights"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
)

// An external nats-server accepts these credentials, with the same permissions,
// and refuses a revoked one after a reload.
func TestANATSOfYourOwnKnowsTheCredentials(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if did, err := natsd.Init(dir); err != nil || did != "made" {
		t.Fatalf("%s, %v", did, err)
	}
	path := filepath.Join(t.TempDir(), "nats.conf")
	configure := func() {
		t.Helper()
		text, err := rights.Config(dir, "")
		if err != nil {
			t.Fatal(err)
		}
		write(t, path, text+fmt.Sprintf("listen: 127.0.0.1:-1\njetstream { store_dir: %q, sync_interval: always }\n", filepath.Join(dir, "own")))
	}
	configure()
	opts, err := server.ProcessConfigFile(path)
	if err != nil {
		t.Fatal(err)
	}
	opts.NoSigs, opts.NoLog = true, true
	s, err := server.NewServer(opts)
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	t.Cleanup(func() { s.Shutdown(); s.WaitForShutdown() })
	if !s.ReadyForConnections(20 * time.Second) {
		t.Fatal("not ready")
	}
	c, key := handedOut(t, dir, s.ClientURL(), agent)
	nc, closed := closing(t, c)
	if err := nc.Publish("ansv1.web.list", nil); err != nil || nc.Flush() != nil || nc.LastError() == nil {
		t.Errorf("an agent answers: %v, %v", err, nc.LastError())
	}
	if _, err := rights.Revoke(dir, key); err != nil {
		t.Fatal(err)
	}
	configure()
	if err := s.Reload(); err != nil {
		t.Fatal(err)
	}
	<-closed
	if nc, err := nats.Connect(c.URL, nats.UserCredentialBytes([]byte(c.Creds))); err == nil {
		nc.Close()
		t.Error("the revoked one came back")
	}
	if _, err := os.Stat(filepath.Join(dir, "auth", "operator.nk")); err != nil {
		t.Error(err)
	}
}
