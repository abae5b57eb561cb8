package natsd_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/bus/connection"
	"github.com/askbus/askbus/internal/protocol/assertion"
	"github.com/askbus/askbus/internal/server/identity"
	"github.com/askbus/askbus/internal/server/natsd"
	"github.com/askbus/askbus/internal/server/rights"
	"github.com/askbus/askbus/internal/testkit/natstest"
	"github.com/nats-io/nats.go"
)

// handedOut returns a handed-out credential and its key.
func handedOut(t *testing.T, dir, url string, r rights.Role) (rights.Credential, string) {
	t.Helper()
	keys, err := rights.LoadIssuer(dir)
	if err != nil {
		t.Fatal(err)
	}
	c, err := keys.HandOut(url, r, assertion.Set{}, time.Hour, "a test")
	if err != nil {
		t.Fatal(err)
	}
	list, err := rights.Issued(dir)
	if err != nil || len(list) == 0 {
		t.Fatalf("%v, %v", list, err)
	}
	last := list[len(list)-1]
	if last.Name != r.User() || last.Note != "a test" || last.Revoked != nil {
		t.Errorf("listed as %+v", last)
	}
	return c, last.Key
}

// closing connects, and signals when the connection is closed for good.
func closing(t *testing.T, c rights.Credential) (*nats.Conn, <-chan struct{}) {
	t.Helper()
	closed := make(chan struct{})
	nc, err := nats.Connect(c.URL, nats.UserCredentialBytes([]byte(c.Creds)), nats.ReconnectWait(time.Millisecond), nats.ReconnectJitter(0, 0),
		nats.ClosedHandler(func(*nats.Conn) { close(closed) }), nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	return nc, closed
}

// A revocation closes open connections and refuses new ones, without effect on
// others, and survives a restart.
func TestARevokedCredentialIsCutAndStaysOut(t *testing.T) {
	t.Parallel()
	b := natstest.Start(t, natstest.Options{})
	const others = 300
	for range others {
		natstest.Plain(t, b.Server, agent)
	}
	other := b.Connect(agent)
	for _, r := range []rights.Role{agent, {Name: rights.RoleMaintenance}, clock} {
		c, key := handedOut(t, b.Dir, b.URL(), r)
		_, closed := closing(t, c)
		if got, err := rights.Revoke(b.Dir, key); err != nil || len(got) != 1 || got[0].Revoked == nil {
			t.Fatalf("%+v, %v", got, err)
		}
		began := time.Now()
		<-closed
		t.Logf("%s: cut after %s beside %d others", r.User(), time.Since(began), others)
		if nc, err := nats.Connect(c.URL, nats.UserCredentialBytes([]byte(c.Creds))); !errors.Is(err, nats.ErrAuthorization) && !errors.Is(err, nats.ErrAuthRevoked) {
			nc.Close()
			t.Errorf("it came back: %v", err)
		}
		t.Cleanup(func() {
			if nc, err := nats.Connect(c.URL, nats.UserCredentialBytes([]byte(c.Creds))); err == nil {
				nc.Close()
				t.Error("it is let in after a restart")
			}
		})
	}
	if other.Stats().Reconnects != 0 || !other.IsConnected() {
		t.Error("somebody else was cut")
	}
	// The ledger is not affected.
	body := `{"specversion":"1.0","id":"e1","source":"/x","type":"dev.askbus.ask.requested.v1","data":{"id":"a1","questions":[{"text":"Go on?"}]}}`
	if m := ask(t, other, "askv1.acme.s1.ask.a1", body); m.Header.Get("Nats-Service-Error-Code") != "" {
		t.Errorf("%s", m.Data)
	}
	addr := b.Addr()
	b.Close()
	natstest.Serve(t, b.Dir, addr, 0)
}

func TestRotatedKeysOverlapUntilTheOldAreDropped(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s, err := natsd.Start(natsd.Options{Dir: dir, Addr: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	before, _ := handedOut(t, dir, s.URL(), agent)
	web, _ := handedOut(t, dir, s.URL(), all)
	_, closed := closing(t, before)
	webConn, _ := closing(t, web)
	if err := rights.Rotate(dir, rights.RoleAgent, false); err != nil {
		t.Fatal(err)
	}
	after, _ := handedOut(t, dir, s.URL(), agent)
	natstest.Eventually(t, "the new key is good", func() bool {
		nc, err := nats.Connect(after.URL, nats.UserCredentialBytes([]byte(after.Creds)))
		if err == nil {
			nc.Close()
		}
		return err == nil
	})
	select {
	case <-closed:
		t.Fatal("the old key is void already")
	default:
	}
	if err := rights.Rotate(dir, rights.RoleAgent, true); err != nil {
		t.Fatal(err)
	}
	<-closed
	if nc, err := nats.Connect(after.URL, nats.UserCredentialBytes([]byte(after.Creds))); err != nil {
		t.Error(err)
	} else {
		nc.Close()
	}
	if webConn.Stats().Reconnects != 0 {
		t.Error("another role was cut")
	}
	if err := rights.Rotate(dir, "king", false); err == nil {
		t.Error("an unknown role was rotated")
	}
}

// Our own clients outlive their credential's expiry, and read a replaced file
// again.
func TestClientsRenewWhatExpires(t *testing.T) {
	t.Parallel()
	b := natstest.Start(t, natstest.Options{NoBroker: true})
	keys, err := identity.LoadKeys(b.Dir)
	if err != nil {
		t.Fatal(err)
	}
	short := func(life time.Duration) string {
		c, err := keys.Issue(identity.User{Name: "agent/acme/s1", Scope: "agent", Tags: map[string]string{"tenant": "acme", "session": "s1"}, Inbox: agent.InboxPrefix(), Life: life}, time.Now())
		if err != nil {
			t.Error(err)
		}
		return c.Creds
	}
	for name, renew := range map[string]func() (string, error){
		"by a function": func() (string, error) { return short(time.Hour), nil },
		"from a file":   nil,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(t.TempDir(), "agent.creds")
			c := connection.Credential{Creds: short(6 * time.Second), Renew: renew} // made here: a parallel test may have waited
			if renew == nil {
				write(t, file, c.Creds)
				c = connection.Credential{CredsFile: file}
			}
			back := make(chan struct{}, 16)
			c.URL = b.URL()
			nc, err := connection.Connect(c, natstest.Logger(), nats.ReconnectWait(10*time.Millisecond), nats.ReconnectJitter(0, 0), nats.ReconnectHandler(func(*nats.Conn) { back <- struct{}{} }))
			if err != nil {
				t.Fatal(err)
			}
			defer nc.Close()
			if c.CredsFile != "" {
				write(t, file, short(time.Hour))
			}
			<-back
			if _, err := nc.Subscribe(agent.InboxPrefix()+".x", func(*nats.Msg) {}); err != nil || nc.Flush() != nil || nc.LastError() != nil && errors.Is(nc.LastError(), nats.ErrPermissionViolation) {
				t.Errorf("%v, %v", err, nc.LastError())
			}
		})
	}
}

// To another account the store would look empty, and the server would start.
func TestAStoreOfAnotherAccountIsRefused(t *testing.T) {
	t.Parallel()
	dir, _ := used(t)
	other, _ := used(t)
	own := filepath.Join(dir, "auth")
	aside := filepath.Join(t.TempDir(), "auth")
	if err := os.Rename(own, aside); err != nil {
		t.Fatal(err)
	}
	if err := natstest.CopyDir(own, filepath.Join(other, "auth")); err != nil {
		t.Fatal(err)
	}
	wants(t, refused(t, dir, "127.0.0.1:0"), "belongs to account", "would look empty", "restore", filepath.Join(dir, "auth"))
	if err := os.RemoveAll(filepath.Join(dir, "nats")); err != nil {
		t.Fatal(err)
	}
	wants(t, refused(t, dir, "127.0.0.1:0"), "belongs to account") // the mark has the account
}

// Without the operator's key everything runs, but nothing can be signed again.
func TestTheOperatorsKeyMayLieElsewhere(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	start := func() *natsd.Server {
		s, err := natsd.Start(natsd.Options{Dir: dir, Addr: "127.0.0.1:0"})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(s.Close)
		return s
	}
	start().Close()
	remove(t, filepath.Join(dir, "auth", "operator.nk"))
	s := start()
	_, key := handedOut(t, dir, s.URL(), agent)
	if _, err := rights.Revoke(dir, key); err == nil {
		t.Error("revoked without the operator's key")
	} else {
		wants(t, err.Error(), "operator's key", "put it back", "askbus auth init")
	}
}
