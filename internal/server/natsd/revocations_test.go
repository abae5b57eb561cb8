package natsd_test

import (
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/protocol/assertion"
	"github.com/askbus/askbus/internal/server/identity"
	"github.com/askbus/askbus/internal/server/natsd"
	"github.com/askbus/askbus/internal/server/revocations"
	"github.com/askbus/askbus/internal/server/rights"
	"github.com/askbus/askbus/internal/testkit/natstest"
	"github.com/nats-io/nats.go"
)

// revokedIn reports whether a directory's list has a credential as revoked.
func revokedIn(t *testing.T, dir, key string) bool {
	t.Helper()
	list, err := rights.Issued(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range list {
		if i.Key == key {
			return i.Revoked != nil
		}
	}
	return false
}

// letIn reports whether a server accepts a credential.
func letIn(s *natsd.Server, c rights.Credential) bool {
	nc, err := nats.Connect(s.URL(), nats.UserCredentialBytes([]byte(c.Creds)))
	if err == nil {
		nc.Close()
	}
	return err == nil
}

// A revocation reaches every node of a cluster, also one that was down and starts
// with an old copy of the keys, and none undoes another's.
func TestARevocationReachesEveryNode(t *testing.T) {
	t.Parallel()
	all := nodes(t)
	secret := t.TempDir() // the keys as they were before anything was revoked, as in a Secret
	if err := rights.ShareKey(all[0].Dir, secret); err != nil {
		t.Fatal(err)
	}
	servers := make([]*natsd.Server, 3)
	run := func(i int) {
		t.Helper()
		s, err := natsd.Start(all[i])
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(s.Close)
		servers[i] = s
	}
	run(0)
	run(1)
	c, key := handedOut(t, all[0].Dir, servers[1].URL(), agent)
	_, closed := closing(t, c)
	if _, err := rights.Revoke(all[0].Dir, key); err != nil {
		t.Fatal(err)
	}
	<-closed
	if letIn(servers[1], c) {
		t.Error("the other node let it in again")
	}
	list, err := rights.Issued(all[1].Dir)
	if err != nil || len(list) != 1 || list[0].Name != agent.User() || list[0].Note != "a test" {
		t.Errorf("%+v, %v", list, err)
	}

	// The third was down and has the keys of before. Two nodes revoke at once.
	second, secondKey := handedOut(t, all[1].Dir, "", agent)
	third, thirdKey := handedOut(t, all[2].Dir, "", agent)
	for dir, key := range map[string]string{all[1].Dir: secondKey, all[2].Dir: thirdKey} {
		if _, err := rights.Revoke(dir, key); err != nil {
			t.Fatal(err)
		}
	}
	run(2)
	everywhere := func() bool {
		for i, s := range servers {
			for c, key := range map[*rights.Credential]string{&c: key, &second: secondKey, &third: thirdKey} {
				if !revokedIn(t, all[i].Dir, key) || letIn(s, *c) {
					return false
				}
			}
		}
		return true
	}
	natstest.Eventually(t, "all nodes have all revocations", everywhere)

	// All start again with the keys of before.
	for i, s := range servers {
		s.Close()
		if err := rights.ShareKey(secret, all[i].Dir); err != nil {
			t.Fatal(err)
		}
	}
	for i := range servers {
		run(i)
	}
	if !everywhere() {
		t.Error("a restart with an old copy of the keys forgot a revocation")
	}
}

// What the issuer, a process with a directory of its own, revokes reaches a single
// server, and what the server revokes reaches the issuer, in pages.
func TestAnIssuersRevocationsReachTheServer(t *testing.T) {
	t.Parallel()
	b := natstest.Start(t, natstest.Options{NoBroker: true})
	dir := filepath.Join(t.TempDir(), "issuer")
	if err := rights.ShareKey(b.Dir, dir); err != nil {
		t.Fatal(err)
	}
	peer, err := revocations.Follow(b.Connect(revoking), dir, 10*time.Millisecond, natstest.Logger())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(peer.Close)
	keys, err := rights.LoadIssuer(dir)
	if err != nil {
		t.Fatal(err)
	}
	c, err := keys.HandOut(b.URL(), agent, assertion.Set{}, time.Hour, "")
	if err != nil {
		t.Fatal(err)
	}
	_, closed := closing(t, c)
	mine, err := rights.Issued(dir)
	if err != nil || len(mine) != 1 {
		t.Fatalf("%v, %v", mine, err)
	}
	if _, err := rights.Revoke(dir, mine[0].Key); err != nil {
		t.Fatal(err)
	}
	<-closed

	const many = 2_000
	loaded, err := identity.LoadKeys(b.Dir)
	if err != nil {
		t.Fatal(err)
	}
	var stolen []string
	for range many {
		u, err := loaded.Issue(identity.User{Name: "agent/acme/s1", Scope: "agent", Tags: map[string]string{"tenant": "acme", "session": "s1"}, Life: time.Hour}, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		stolen = append(stolen, u.Key)
	}
	if _, err := rights.Revoke(b.Dir, stolen...); err != nil {
		t.Fatal(err)
	}
	natstest.Eventually(t, "the issuer has them", func() bool {
		list, err := rights.Issued(dir)
		return err == nil && len(list) == many+1 && list[many].Revoked != nil
	})
}

// A server whose operator's key is elsewhere cannot sign what others have revoked, and says so.
func TestWhatCannotBeSignedIsSaid(t *testing.T) {
	t.Parallel()
	b := natstest.Start(t, natstest.Options{NoBroker: true})
	dir := filepath.Join(t.TempDir(), "issuer")
	if err := rights.ShareKey(b.Dir, dir); err != nil {
		t.Fatal(err)
	}
	remove(t, filepath.Join(dir, "auth", "operator.nk"))
	_, key := handedOut(t, b.Dir, b.URL(), agent)
	if _, err := rights.Revoke(b.Dir, key); err != nil {
		t.Fatal(err)
	}
	said := &lines{}
	peer, err := revocations.Follow(b.Connect(revoking), dir, 10*time.Millisecond, slog.New(slog.NewTextHandler(said, nil)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(peer.Close)
	natstest.Eventually(t, "the log says it", func() bool {
		return strings.Contains(said.String(), "cannot revoke here") && strings.Contains(said.String(), "operator.nk")
	})
}

// A broker that is upgraded before the servers asks them once for each connection what is revoked: they and its
// connection log each refusal.
func TestABrokerStopsAskingServersThatRefuse(t *testing.T) {
	t.Parallel()
	b := natstest.Start(t, natstest.Options{NoBroker: true})
	refused := make(chan error, 1)
	nc := b.Connect(rights.Role{Name: rights.RoleCluster}, nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) {
		select {
		case refused <- err:
		default:
		}
	}))
	peer, err := revocations.Listen(nc, 100*time.Microsecond, natstest.Logger())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(peer.Close)
	if err := <-refused; !errors.Is(err, nats.ErrPermissionViolation) {
		t.Fatal(err)
	}
	before := nc.Stats().OutMsgs
	for range 100 { // each takes longer than several ticks
		if err := nc.Flush(); err != nil {
			t.Fatal(err)
		}
	}
	if n := nc.Stats().OutMsgs - before; n > 1 { // one may have been under way
		t.Errorf("it asked %d more times", n)
	}
}

// Keys of an older version sign for a role that is new, as do the server's, which has added it: an issuer that is
// upgraded before the servers has copied such.
func TestOlderKeysSignForANewRole(t *testing.T) {
	t.Parallel()
	b := natstest.Start(t, natstest.Options{NoBroker: true})
	dir := filepath.Join(t.TempDir(), "issuer")
	if err := rights.ShareKey(b.Dir, dir); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "auth", "keys.json")
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var keys identity.Keys
	if err := json.Unmarshal(data, &keys); err != nil {
		t.Fatal(err)
	}
	delete(keys.Signing, revoking.Name)
	if data, err = json.Marshal(&keys); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	issuer, err := rights.LoadIssuer(dir)
	if err != nil {
		t.Fatal(err)
	}
	c, err := issuer.Credential(b.URL(), revoking)
	if err != nil {
		t.Fatal(err)
	}
	nc, err := nats.Connect(b.URL(), nats.UserCredentialBytes([]byte(c.Creds)))
	if err != nil {
		t.Fatal(err)
	}
	nc.Close()
}

// Two thousand peers, come and gone, leave nothing on their connection.
func TestNothingIsLeftOf2000Peers(t *testing.T) {
	t.Parallel()
	b := natstest.Start(t, natstest.Options{NoBroker: true})
	follows, listens := b.Connect(revoking), b.Connect(clock)
	had := b.Subscriptions()
	for range 1000 {
		f, err := revocations.Follow(follows, b.Dir, time.Hour, natstest.Logger())
		if err != nil {
			t.Fatal(err)
		}
		l, err := revocations.Listen(listens, time.Hour, natstest.Logger())
		if err != nil {
			t.Fatal(err)
		}
		f.Close()
		l.Close()
	}
	for _, nc := range []*nats.Conn{follows, listens} {
		if n := nc.NumSubscriptions(); n != 0 {
			t.Errorf("%d subscriptions are left", n)
		}
		if err := nc.Flush(); err != nil {
			t.Fatal(err)
		}
	}
	natstest.Eventually(t, "the server holds no more subscriptions than before", func() bool { return b.Subscriptions() <= had })
}
