package natsd_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/bus/connection"
	"github.com/askbus/askbus/internal/protocol/assertion"
	"github.com/askbus/askbus/internal/server/certificate"
	"github.com/askbus/askbus/internal/server/natsd"
	"github.com/askbus/askbus/internal/server/rights"
	"github.com/askbus/askbus/internal/testkit/certtest"
	"github.com/askbus/askbus/internal/testkit/natstest"
	question "github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/board"
	"github.com/askbus/askbus/pkg/client"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
)

// leafOf starts a nats-server with the configuration that "askbus auth config --leaf-of" prints, as a leaf node that
// reaches the bus at an address, with the credential of a role.
func leafOf(t *testing.T, b *natstest.Bus, at string, r rights.Role) *server.Server {
	t.Helper()
	creds, _ := handedOut(t, b.Dir, "", r)
	dir := t.TempDir()
	write(t, filepath.Join(dir, "leaf.creds"), creds.Creds)
	return startLeaf(t, b.Dir, rights.Leaf{Hub: []string{"nats://" + at}, Creds: filepath.Join(dir, "leaf.creds")})
}

// startLeaf starts a nats-server as a leaf node of the bus with these keys.
func startLeaf(t *testing.T, keys string, leaf rights.Leaf) *server.Server {
	t.Helper()
	dir := t.TempDir()
	conf, err := rights.LeafConfig(keys, leaf)
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "leaf.conf"), conf)
	o, err := server.ProcessConfigFile(filepath.Join(dir, "leaf.conf"))
	if err != nil {
		t.Fatal(err)
	}
	o.Host, o.Port, o.NoSigs, o.ServerName = "127.0.0.1", -1, true, "leaf"
	o.LeafNode.ReconnectInterval = 20 * time.Millisecond
	srv, err := server.NewServer(o)
	if err != nil {
		t.Fatal(err)
	}
	if os.Getenv("ASKBUS_TEST_LOG") != "" {
		srv.ConfigureLogger()
	}
	srv.Start()
	t.Cleanup(func() { srv.Shutdown(); srv.WaitForShutdown() })
	if !srv.ReadyForConnections(20 * time.Second) {
		t.Fatal("the leaf node does not start")
	}
	return srv
}

// at connects to a server as a role.
func at(t *testing.T, b *natstest.Bus, url string, r rights.Role) *nats.Conn {
	t.Helper()
	c, err := b.Asserting(r, assertion.Anything())
	if err != nil {
		t.Fatal(err)
	}
	c.URL = url
	nc, err := connection.Connect(c, natstest.Logger(), nats.ReconnectWait(10*time.Millisecond))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	return nc
}

// session returns an agent's session.
func session(t *testing.T, nc *nats.Conn) client.Session {
	t.Helper()
	c, err := client.New(nc, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c.Session("acme", "s1")
}

// People of another region answer through a leaf node there, and agents of it ask; while it is cut off, the bus's own
// region goes on, and afterwards it has what it missed.
func TestTwoRegionsAnswerEachOther(t *testing.T) {
	t.Parallel()
	b := natstest.Start(t, natstest.Options{Memory: true, Leaves: true})
	line := b.LineTo(b.LeafAddr())
	leaf := leafOf(t, b, line.Addr(), rights.Role{Name: rights.RoleLeaf})
	linked := func() {
		natstest.Eventually(t, "the leaf node is linked", func() bool { return leaf.NumLeafNodes() == 1 })
	}
	linked()
	agent := rights.Role{Name: rights.RoleAgent, Tenant: "acme", Session: "s1"}
	here, there := b.Screen(), b.ScreenOn(at(t, b, leaf.ClientURL(), rights.Role{Name: rights.RoleResponder, Type: "web"}))
	near, far := session(t, at(t, b, b.URL(), agent)), session(t, at(t, b, leaf.ClientURL(), agent))
	answered := func(s client.Session, by *natstest.Screen, id string) {
		t.Helper()
		if _, err := s.Ask(t.Context(), oneOption(id)); err != nil {
			t.Fatal(err)
		}
		by.Choose(by.Next(board.Pending), "o1")
		if o, err := s.Wait(t.Context(), id); err != nil || o.Status != question.StatusAnswered {
			t.Errorf("%s: %+v, %v", id, o, err)
		}
	}
	answered(near, there, "a1")
	here.Next(board.Pending)
	answered(far, here, "a2")
	there.Next(board.Pending)

	mend := line.Block()
	natstest.Eventually(t, "the leaf node is cut off", func() bool { return leaf.NumLeafNodes() == 0 })
	answered(near, here, "a3")
	if _, err := near.Ask(t.Context(), oneOption("a4")); err != nil {
		t.Fatal(err)
	}
	short, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if _, err := far.Ask(short, oneOption("a5")); err == nil {
		t.Error("an agent behind a leaf node that is cut off was told that its ask is stored")
	}
	mend()
	linked()
	// It is told within a minute, because its own connection was not cut; it may answer at once.
	there.Choose(here.Next(board.Pending), "o1")
	if o, err := near.Wait(t.Context(), "a4"); err != nil || o.Status != question.StatusAnswered {
		t.Errorf("a4: %+v, %v", o, err)
	}
}

// A bus whose certificate a private CA signed, and that asks for certificates, takes leaf nodes that name both in their
// configuration, and no others.
func TestALeafNodeConnectsOverMutualTLS(t *testing.T) {
	t.Parallel()
	servers, clients := certtest.New(t), certtest.New(t)
	dir, own, shown := t.TempDir(), certtest.At(t.TempDir()), certtest.At(t.TempDir())
	servers.Issue(own, time.Hour, "127.0.0.1")
	clients.Issue(shown, time.Hour, "leaf.example")
	keeper, err := certificate.Open(certificate.Files{Cert: own.Cert, Key: own.Key, ClientCA: clients.File}, certificate.Options{})
	if err != nil {
		t.Fatal(err)
	}
	srv, err := natsd.Start(natsd.Options{Dir: dir, Addr: "127.0.0.1:0", LeafAddr: "127.0.0.1:0", TLS: keeper.NATS(), Logger: natstest.Logger()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(srv.Close)
	creds, _ := handedOut(t, dir, "", rights.Role{Name: rights.RoleLeaf})
	leaf := rights.Leaf{Hub: []string{"tls://" + srv.LeafAddr()}, Creds: filepath.Join(t.TempDir(), "leaf.creds"), CA: servers.File, Cert: shown.Cert, Key: shown.Key}
	write(t, leaf.Creds, creds.Creds)
	stranger, silent := leaf, leaf
	stranger.CA = clients.File
	silent.Cert, silent.Key = "", ""
	refused := []*server.Server{startLeaf(t, dir, stranger), startLeaf(t, dir, silent)}
	let := startLeaf(t, dir, leaf)
	natstest.Eventually(t, "the leaf node is linked", func() bool { return let.NumLeafNodes() == 1 })
	for i, r := range refused {
		if r.NumLeafNodes() != 0 {
			t.Errorf("leaf node %d is linked without trust", i)
		}
	}
}

// A leaf node needs a credential of its own, which is no client's; a client's is no leaf node's. Through a leaf node
// nobody gets what is the broker's.
func TestWhoMayBeALeafNode(t *testing.T) {
	t.Parallel()
	b := natstest.Start(t, natstest.Options{Memory: true, Leaves: true})
	c, err := b.Credential(rights.Role{Name: rights.RoleLeaf})
	if err != nil {
		t.Fatal(err)
	}
	if nc, err := nats.Connect(b.URL(), nats.UserCredentialBytes([]byte(c.Creds))); err == nil {
		nc.Close()
		t.Error("a client connected with a leaf node's credential")
	}
	var refused []*server.Server
	for _, r := range []rights.Role{{Name: rights.RoleOperator}, {Name: rights.RoleBroker}, {Name: rights.RoleAgent, Tenant: "acme"}} {
		refused = append(refused, leafOf(t, b, b.LeafAddr(), r))
	}
	leaf := leafOf(t, b, b.LeafAddr(), rights.Role{Name: rights.RoleLeaf})
	natstest.Eventually(t, "the leaf node is linked", func() bool { return leaf.NumLeafNodes() == 1 })
	// No broker makes a second ledger there, even if the leaf node has JetStream.
	for _, r := range []rights.Role{{Name: rights.RoleLedger}, {Name: rights.RoleMaintenance}, {Name: rights.RoleBackup}} {
		c, err := b.Credential(r)
		if err != nil {
			t.Fatal(err)
		}
		c.URL = leaf.ClientURL()
		if nc, err := connection.Connect(c, natstest.Logger()); !errors.Is(err, nats.ErrAuthorization) || !strings.Contains(err.Error(), "or the server is a leaf node") {
			t.Errorf("%s at a leaf node: %v, want %v", r.Name, err, nats.ErrAuthorization)
			nc.Close()
		}
	}
	// A false broker behind a leaf node hears nothing of the bus's agents.
	service := at(t, b, leaf.ClientURL(), rights.Role{Name: rights.RoleBroker})
	heard := make(chan string, 100)
	if _, err := service.Subscribe("askv1.>", func(m *nats.Msg) { heard <- m.Subject }); err != nil {
		t.Fatal(err)
	}
	if err := service.Flush(); err != nil {
		t.Fatal(err)
	}
	agent := rights.Role{Name: rights.RoleAgent, Tenant: "acme", Session: "s1"}
	if _, err := session(t, b.Agent("acme", "s1")).Ask(t.Context(), oneOption("a1")); err != nil {
		t.Fatal(err)
	}
	forged, err := b.Agent("acme", "s1").SubscribeSync("_INBOX.a.acme.s1.x")
	if err != nil {
		t.Fatal(err)
	}
	if err := service.Publish("_INBOX.a.acme.s1.x", []byte("forged")); err != nil {
		t.Fatal(err)
	}
	if err := service.Publish("outv1.acme.s1.a1.o", []byte("forged")); err != nil && !strings.Contains(err.Error(), "permissions") {
		t.Fatal(err)
	}
	if err := service.Flush(); err != nil {
		t.Fatal(err)
	}
	// This goes the same way later, and its reply comes back the same way.
	if _, err := session(t, at(t, b, leaf.ClientURL(), agent)).Get(t.Context(), "a1"); err != nil {
		t.Fatal(err)
	}
	for len(heard) > 0 {
		if subj := <-heard; !strings.Contains(subj, ".get.") { // of the leaf node's own client
			t.Errorf("a false broker heard %s", subj)
		}
	}
	for i, leaf := range refused { // they tried all the time
		if leaf.NumLeafNodes() != 0 {
			t.Errorf("leaf node %d is linked with a client's credential", i)
		}
	}
	if n, _, err := forged.Pending(); err != nil || n != 0 {
		t.Errorf("a reply was forged through the leaf node: %d %v", n, err)
	}
}

// The broker believes the subject of shared state, which a leaf node says for its clients: passkeys, tokens and policies
// are not written through one.
func TestALeafNodeWritesNoPasskeyAndNoToken(t *testing.T) {
	t.Parallel()
	b := natstest.Start(t, natstest.Options{Memory: true, Leaves: true})
	leaf := leafOf(t, b, b.LeafAddr(), rights.Role{Name: rights.RoleLeaf})
	natstest.Eventually(t, "the leaf node is linked", func() bool { return leaf.NumLeafNodes() == 1 })
	heard := make(chan *nats.Msg, 100)
	admin := b.Admin()
	if _, err := admin.ChanSubscribe("kvv1.>", heard); err != nil {
		t.Fatal(err)
	}
	if err := admin.Flush(); err != nil {
		t.Fatal(err)
	}
	last := func(nc *nats.Conn, subj string, before ...string) {
		t.Helper()
		_, _ = nc.Request(subj, nil, 20*time.Second) // the whole way is open
		for _, s := range append(before, subj) {
			if err := nc.Publish(s, []byte(`{"value":"e30="}`)); err != nil {
				t.Fatal(err)
			}
		}
		for seen := 0; seen < 2; {
			select {
			case m := <-heard:
				if m.Subject == subj {
					seen++
				} else {
					t.Errorf("through a leaf node: %s", m.Subject)
				}
			case <-time.After(20 * time.Second):
				t.Fatalf("%s did not come through the leaf node", subj)
			}
		}
	}
	last(at(t, b, leaf.ClientURL(), rights.Role{Name: rights.RoleResponder, Type: "web"}), "kvv1.responder.web.passkeys.get.~.h1", "kvv1.responder.web.passkeys.put.~.h1")
	last(at(t, b, leaf.ClientURL(), rights.Role{Name: rights.RoleOperator}), "kvv1.operator.tokens.get.~.t1",
		"kvv1.operator.tokens.put.~.t1", "kvv1.operator.policy.put.acme.p", "kvv1.operator.revoked-people.put.~.h1")
}

// oneOption is an ask with one option.
func oneOption(id string) question.Ask {
	return question.Ask{ID: id, Questions: []question.Question{{ID: "q1", Text: "Go?", Kind: question.KindChoice, Options: []question.Option{{ID: "o1", Label: "yes"}}}}}
}
