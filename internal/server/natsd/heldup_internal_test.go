package natsd

import (
	"log/slog"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/server/rights"
	"github.com/nats-io/nats.go"
)

// The server reads on from a client that is denied much only when the pause in
// its log is over; it goes on to read from everybody else.
func TestADeniedClientIsHeldUpAlone(t *testing.T) {
	t.Parallel()
	const denials = 200
	srv, err := Start(Options{Dir: t.TempDir(), Addr: "127.0.0.1:0", Bounds: Bounds{Messages: -1, Denials: denials}, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(srv.Close)
	held, release := make(chan struct{}, denials), make(chan struct{})
	srv.log.clients.pause = func(time.Duration) { // nobody is denied yet
		held <- struct{}{}
		<-release
	}
	connect := func(session string) *nats.Conn {
		c, err := srv.Credential(rights.Role{Name: rights.RoleAgent, Tenant: "acme", Session: session})
		if err != nil {
			t.Fatal(err)
		}
		nc, err := nats.Connect(srv.URL(), nats.UserCredentialBytes([]byte(c.Creds)), nats.Timeout(time.Minute), nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(nc.Close)
		return nc
	}
	denied, quiet := connect("s1"), connect("s2")
	for range 2*denials + 1 { // a minute may turn
		if err := denied.Publish("askv1.acme.s2.ask.a1", nil); err != nil {
			t.Fatal(err)
		}
	}
	flushed := make(chan error, 1)
	go func() { flushed <- denied.FlushTimeout(time.Minute) }()
	<-held
	if err := quiet.FlushTimeout(time.Minute); err != nil {
		t.Errorf("another client: %v", err)
	}
	if fresh := connect("s3"); fresh.FlushTimeout(time.Minute) != nil {
		t.Error("a new client is not served")
	}
	select {
	case err := <-flushed:
		t.Errorf("the server answered the client that it holds up: %v", err)
	default:
	}
	close(release)
	if err := <-flushed; err != nil {
		t.Errorf("it is not served when the pause is over: %v", err)
	}
}
