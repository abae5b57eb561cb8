package attack_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/askbus/askbus/internal/bus/connection"
	"github.com/askbus/askbus/internal/protocol/assertion"
	"github.com/askbus/askbus/internal/protocol/subject"
	"github.com/askbus/askbus/internal/server/rights"
	"github.com/askbus/askbus/internal/testkit/natstest"
	"github.com/askbus/askbus/internal/testkit/waittest"
	"github.com/nats-io/nats.go"
)

// sender is a connection of one role that does not use askbus's client.
type sender struct {
	role rights.Role
	nc   *nats.Conn
	user string
	jwt  string
}

func connect(t *testing.T, b *natstest.Bus, r rights.Role) *sender {
	t.Helper()
	c, err := b.Asserting(r, assertion.Set{})
	if err != nil {
		t.Fatal(err)
	}
	nc, err := nats.Connect(c.URL, nats.UserCredentialBytes([]byte(c.Creds)), nats.CustomInboxPrefix(r.InboxPrefix()), nats.Timeout(waittest.Limit),
		nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}))
	if err != nil {
		t.Fatalf("connect as %s: %v", r.User(), err)
	}
	t.Cleanup(nc.Close)
	s := &sender{role: r, nc: nc}
	if s.user, s.jwt, err = connection.On(nc).Sender(); err != nil {
		t.Fatal(err)
	}
	return s
}

// own replaces [subject.Self] in a subject of the table with the sender's key.
func (s *sender) own(of string) string {
	if own, ok := subject.As(of, s.user); ok {
		return own
	}
	return of
}

// denied reports whether the server refuses something. Its error arrives before
// its reply to the flush.
func (s *sender) denied(t *testing.T, what, subj string, do func() error) bool {
	t.Helper()
	if err := do(); err != nil {
		t.Fatalf("%s as %s: %v", subj, s.role.User(), err)
	}
	if err := s.nc.Flush(); err != nil {
		t.Fatalf("%s as %s: %v", subj, s.role.User(), err)
	}
	err := s.nc.LastError()
	return err != nil && strings.Contains(err.Error(), what+` to "`+subj+`"`)
}

// TestEveryRoleMayWhatTheTableSays tries each line with each role.
func TestEveryRoleMayWhatTheTableSays(t *testing.T) {
	t.Parallel()
	b := natstest.Start(t, natstest.Options{NoBroker: true, Memory: true})
	pub, sub := publish(), subscribe()
	for name, role := range roles() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := connect(t, b, role)
			var tried sample
			for _, l := range pub {
				if !tried.sampled() {
					continue
				}
				subj := s.own(l.subject)
				denied := s.denied(t, "Publish", subj, func() error { return s.nc.Publish(subj, nil) })
				if may := slices.Contains(l.may, name); may == denied {
					t.Errorf("publish to %s: allowed %v, want %v", l.subject, !denied, may)
				}
			}
			for _, l := range sub {
				for _, queue := range []string{"", "q"} {
					if !tried.sampled() {
						continue
					}
					var made *nats.Subscription
					denied := s.denied(t, "Subscription", l.subject, func() (err error) {
						made, err = s.nc.QueueSubscribe(l.subject, queue, func(*nats.Msg) {})
						return err
					})
					if may := slices.Contains(l.may, name); may == denied {
						t.Errorf("subscribe to %s in queue group %q: allowed %v, want %v", l.subject, queue, !denied, may)
					}
					_ = made.Unsubscribe() // denied ones are already gone
				}
			}
		})
	}
}
