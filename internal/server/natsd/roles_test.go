package natsd_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/askbus/askbus/internal/bus/connection"
	"github.com/askbus/askbus/internal/protocol/subject"
	"github.com/askbus/askbus/internal/server/natsd"
	"github.com/askbus/askbus/internal/server/rights"
	"github.com/askbus/askbus/internal/testkit/natstest"
	"github.com/askbus/askbus/internal/testkit/waittest"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

var (
	agent     = rights.Role{Name: rights.RoleAgent, Tenant: "acme", Session: "s1"}
	all       = rights.Role{Name: rights.RoleResponder, Type: "web"}
	ofTenant  = rights.Role{Name: rights.RoleResponder, Type: "web", Tenant: "acme"}
	ofSession = rights.Role{Name: rights.RoleResponder, Type: "web", Tenant: "acme", Session: "s1"}
	ofHost    = rights.Role{Name: rights.RoleHost, Tenant: "acme", Session: "s1"}
	gateway   = rights.Role{Name: rights.RoleGateway}
	operator  = rights.Role{Name: rights.RoleOperator}
	issuer    = rights.Role{Name: rights.RoleIssuer}
	service   = rights.Role{Name: rights.RoleBroker}
	ledger    = rights.Role{Name: rights.RoleLedger}
	everyOne  = rights.Role{Name: rights.RoleAgent, Tenant: "acme"}
	repairs   = rights.Role{Name: rights.RoleMaintenance}
	nodesOf   = rights.Role{Name: rights.RoleCluster}
	clock     = rights.Role{Name: rights.RoleClock}
	revoking  = rights.Role{Name: rights.RoleRevocations}
)

// tested is what a role may and may not do, tried against the server.
type tested struct {
	role       rights.Role
	pub, noPub []string
	sub, noSub []string
}

// Only the broker's ledger connection may do any of this.
var forbidden = []string{
	"issuev1.credentials",
	"ledgerv1.00.acme.s1.a1.q", "ledgerv1.00.acme.s1.a1.o", "ledgerv1.00.acme.s1.a1.r.web", "$JS.API.INFO", "$JS.API.STREAM.MSG.GET.ASKS_00",
	"$JS.API.STREAM.PURGE.ASKS_00", "$JS.API.STREAM.DELETE.ASKS_00", "$JS.API.CONSUMER.INFO.ASKS_00.web-q", "$JS.API.DIRECT.GET.ASKS_00",
	"$JS.ACK.ASKS_00.web-q.1.1.1.1.1", "$JS.FC.x", "$KV.x.y", "$SYS.REQ.SERVER.PING", "outv1.acme.s1.a1.o", "outv1.acme.s1.a1.q",
	"_INBOX.b.x", "_INBOX.l.x", "_INBOX.x", "anything",
}

var unheard = []string{
	"issuev1.>", "issuev1.*", "issuev1.*.*",
	">", "*.>", "ledgerv1.>", "ledgerv1.00.acme.s1.a1.o", "$JS.>", "$JS.API.>", "$SYS.>", "_INBOX.>", "_INBOX.*.>", "_INBOX.l.>",
}

func table() []tested {
	return []tested{
		{
			role:  agent,
			pub:   []string{"askv1.acme.s1.ask.a1", "askv1.acme.s1.get.a1", "askv1.acme.s1.wait.a1", "askv1.acme.s1.withdraw.a1", "askv1.acme.s1.list"},
			noPub: []string{"issuev1.credential", "askv1.acme.s2.ask.a1", "askv1.other.s1.ask.a1", "askv1.acme.s1", "ansv1.web.acme.s1.answer.a1", "ansv1.web.acme.s1.look.a1", "ansv1.web.acme.next", "ansv1.web.list", "admv1.acme.s1.abort.a1", "herev1.acme.s1", "$SRV.PING", "_INBOX.a.acme.s1.x", "_INBOX.a.acme.s2.x"},
			sub:   []string{"outv1.acme.s1.*.o", "outv1.acme.s1.a1.o", "_INBOX.a.acme.s1.>", "_INBOX.a.acme.s1.x.*"},
			noSub: []string{"issuev1.credential", "outv1.acme.s1.*.q", "outv1.acme.s1.>", "outv1.acme.*.*.o", "outv1.acme.s2.*.o", "outv1.>", "_INBOX.a.>", "_INBOX.a.acme.s2.>", "_INBOX.a.acme.>", "_INBOX.a.acme.s1x.>", "askv1.>", "askv1.acme.s1.>", "ansv1.>", "ansv1.*.*.acme.s1.look.*", "herev1.>", "$SRV.>"},
		},
		{
			role:  everyOne,
			pub:   []string{"askv1.acme.s1.ask.a1", "askv1.acme.s2.get.a1", "askv1.acme.s1.list"},
			noPub: []string{"issuev1.credential", "askv1.other.s1.ask.a1", "ansv1.web.acme.s1.answer.a1", "admv1.acme.s1.abort.a1", "herev1.acme.s1", "$SRV.PING", "_INBOX.a.acme.s1.x", "_INBOX.at.acme.x"},
			sub:   []string{"outv1.acme.*.*.o", "outv1.acme.s1.*.o", "_INBOX.at.acme.>"},
			noSub: []string{"issuev1.credential", "outv1.acme.*.*.q", "outv1.*.*.*.o", "outv1.other.s1.*.o", "outv1.acme.>", "_INBOX.at.>", "_INBOX.at.other.>", "_INBOX.a.acme.s1.>", "askv1.>", "ansv1.>", "herev1.>", "$SRV.>"},
		},
		{
			role:  all,
			pub:   []string{"ansv1.web.acme.s1.answer.a1", "ansv1.web.other.s9.cancel.a1", "ansv1.web.list", "ansv1.web.next", "ansv1.web.done", "ansv1.web.acme.next", "ansv1.web.acme.done", "ansv1.web.acme.s1.look.a1"},
			noPub: []string{"issuev1.credential", "ansv1.slack.acme.s1.look.a1", "ansv1.slack.acme.next", "ansv1.slack.acme.s1.answer.a1", "ansv1.webx.list", "ansv1.slack.next", "askv1.acme.s1.ask.a1", "admv1.acme.s1.abort.a1", "herev1.acme.s1", "$SRV.PING", "_INBOX.r.web.x", "_INBOX.a.acme.s1.x"},
			sub:   []string{"outv1.*.*.*.q", "outv1.*.*.*.o", "outv1.acme.s1.*.o", "ansv1.*.*.*.*.look.*", "ansv1.*.*.acme.s1.look.a1", "herev1.>", "herev1.acme.>", "_INBOX.r.web.>"},
			noSub: []string{"issuev1.credential", "outv1.>", "outv1.*.*.*.*", "outv1.*.*.*.r.web", "_INBOX.r.>", "_INBOX.r.slack.>", "_INBOX.r.webx.>", "_INBOX.rt.web.>", "_INBOX.rs.web.>", "ansv1.>", "ansv1.web.>", "ansv1.*.*.*.*.*.*", "ansv1.*.*.*.*.answer.*", "askv1.>", "$SRV.>"},
		},
		{
			role:  ofTenant,
			pub:   []string{"ansv1.web.acme.s1.answer.a1", "ansv1.web.acme.list", "ansv1.web.acme.next", "ansv1.web.acme.done", "ansv1.web.acme.extend", "ansv1.web.acme.later", "ansv1.web.acme.s1.look.a1"},
			noPub: []string{"issuev1.credential", "ansv1.web.other.s1.answer.a1", "ansv1.web.other.s1.look.a1", "ansv1.slack.acme.s1.look.a1", "ansv1.web.other.next", "ansv1.slack.acme.next", "ansv1.web.list", "ansv1.web.next", "ansv1.web.done", "ansv1.web.acmex.list", "askv1.acme.s1.ask.a1", "herev1.acme.s1"},
			sub:   []string{"outv1.acme.*.*.q", "outv1.acme.*.*.o", "ansv1.*.*.acme.*.look.*", "herev1.acme.>", "_INBOX.rt.web.acme.>"},
			noSub: []string{"issuev1.credential", "outv1.*.*.*.q", "outv1.other.*.*.o", "outv1.acme.>", "ansv1.*.*.*.*.look.*", "ansv1.*.*.other.*.look.*", "ansv1.*.*.acme.>", "herev1.>", "herev1.other.>", "_INBOX.r.web.>", "_INBOX.rt.web.other.>", "_INBOX.rt.web.>"},
		},
		{
			role:  ofSession,
			pub:   []string{"ansv1.web.acme.s1.answer.a1", "ansv1.web.acme.s1.list", "ansv1.web.acme.s1.look.a1"},
			noPub: []string{"issuev1.credential", "ansv1.web.acme.s2.answer.a1", "ansv1.web.acme.s2.look.a1", "ansv1.web.acme.next", "ansv1.web.acme.list", "ansv1.web.list", "ansv1.web.next", "askv1.acme.s1.ask.a1"},
			sub:   []string{"outv1.acme.s1.*.q", "outv1.acme.s1.*.o", "ansv1.*.*.acme.s1.look.*", "herev1.acme.s1", "_INBOX.rs.web.acme.s1.>"},
			noSub: []string{"issuev1.credential", "outv1.acme.*.*.q", "outv1.acme.s2.*.o", "ansv1.*.*.acme.*.look.*", "ansv1.*.*.acme.s2.look.*", "ansv1.*.*.*.*.look.*", "herev1.acme.>", "herev1.acme.s2", "_INBOX.rt.web.acme.>", "_INBOX.rs.web.acme.s2.>", "_INBOX.rs.web.acme.>"},
		},
		{
			role:  ofHost,
			noPub: []string{"issuev1.credential", "askv1.acme.s1.ask.a1", "ansv1.web.acme.s1.answer.a1", "ansv1.native.acme.s1.answer.a1", "admv1.acme.s1.abort.a1", "herev1.acme.s1", "_INBOX.h.acme.s1.x"},
			sub:   []string{"_INBOX.h.acme.s1.>"},
			noSub: []string{"issuev1.credential", "outv1.acme.s1.*.o", "outv1.acme.s1.*.q", "_INBOX.h.>", "_INBOX.h.acme.s2.>", "_INBOX.a.acme.s1.>", "ansv1.>", "hostv1.>", "herev1.>"},
		},
		{
			role:  gateway,
			pub:   []string{"issuev1.credential", "ansv1.gateway.acme.s1.ask.a1", "ansv1.gateway.other.s2.withdraw.a1", "ansv1.gateway.acme.s1.answer.a1", "ansv1.gateway.list", "ansv1.gateway.acme.s1.look.a1"},
			noPub: []string{"ansv1.web.acme.s1.answer.a1", "ansv1.web.acme.s1.look.a1", "ansv1.web.acme.next", "ansv1.web.list", "admv1.acme.s1.abort.a1", "herev1.acme.s1", "$SRV.PING", "_INBOX.g.x", "_INBOX.a.acme.s1.x"},
			sub:   []string{"outv1.>", "ansv1.*.*.*.*.look.*", "herev1.>", "_INBOX.g.>"},
			noSub: []string{"issuev1.credential", "_INBOX.a.>", "_INBOX.op.>", "_INBOX.gx.>", "askv1.>", "ansv1.>", "$SRV.>"},
		},
		{
			role:  issuer,
			noPub: []string{"issuev1.credential", "askv1.acme.s1.ask.a1", "ansv1.web.acme.s1.answer.a1", "admv1.acme.s1.abort.a1", "herev1.acme.s1", "$SRV.PING", "_INBOX.g.x", "_INBOX.i.x"},
			sub:   []string{"issuev1.credential", "issuev1.*.person", "_INBOX.i.>"},
			noSub: []string{"issuev1.>", "outv1.>", "askv1.>", "ansv1.>", "herev1.>", "_INBOX.g.>", "$SRV.>"},
		},
		{
			role:  operator,
			pub:   []string{"admv1.acme.s1.abort.a1", "ansv1.operator.acme.s1.ask.a1", "ansv1.operator.acme.s1.answer.a1", "ansv1.operator.list", "$SRV.PING", "$SRV.STATS.askbus"},
			noPub: []string{"issuev1.credential", "ansv1.web.acme.s1.answer.a1", "ansv1.slack.next", "herev1.acme.s1", "_INBOX.op.x", "_INBOX.a.acme.s1.x"},
			sub:   []string{"outv1.>", "_INBOX.op.>"},
			noSub: []string{"issuev1.credential", "askv1.>", "ansv1.>", "admv1.>", "herev1.>", "$SRV.>", "_INBOX.a.>", "_INBOX.g.>", "_INBOX.b.>"},
		},
		{
			role:  service,
			pub:   []string{"_INBOX.a.acme.s1.x", "_INBOX.r.web.x", "_INBOX.rt.web.acme.x", "_INBOX.rs.web.acme.s1.x", "_INBOX.h.acme.s1.x", "_INBOX.op.x", "_INBOX.g.x", "herev1.acme.s1", "$SRV.STATS.askbus", "_INBOX.b.settings.x"},
			noPub: []string{"issuev1.credential", "askv1.acme.s1.ask.a1", "ansv1.web.list", "admv1.acme.s1.abort.a1", "$SRV.PING", "_INBOX.a"},
			sub:   []string{"askv1.>", "ansv1.>", "hostv1.>", "admv1.>", "outv1.>", "$SRV.>", "_INBOX.b.>"},
			noSub: []string{"issuev1.credential", "herev1.>", "_INBOX.a.>", "_INBOX.op.>"},
		},
		{
			role: ledger,
			pub: []string{
				"ledgerv1.00.acme.s1.a1.q", "ledgerv1.03.acme.s1.a1.o", "$JS.API.INFO", "$JS.API.STREAM.MSG.GET.ASKS_00", "$JS.API.STREAM.CREATE.ASKS_00", "$SYS.REQ.SERVER.PING.JSZ",
				"$JS.API.STREAM.PURGE.ASKS_00", "$JS.API.CONSUMER.CREATE.ASKS_00.x", "$JS.ACK.ASKS_00.web-q.1.1.1.1.1",
			},
			noPub: []string{
				"$JS.API.STREAM.DELETE.ASKS_00", "$JS.API.STREAM.UPDATE.ASKS_00", "$JS.API.STREAM.RESTORE.ASKS_00", "$JS.API.STREAM.SNAPSHOT.ASKS_00",
				"$JS.API.STREAM.MSG.DELETE.ASKS_00", "$JS.API.CONSUMER.DELETE.ASKS_00.web-q", "askv1.acme.s1.ask.a1", "outv1.acme.s1.a1.o", "_INBOX.a.acme.s1.x", "herev1.acme.s1", "$SRV.PING",
			},
			sub:   []string{"_INBOX.l.>"},
			noSub: []string{"outv1.>", "ledgerv1.>", "askv1.>", "$JS.>", "_INBOX.b.>", "_INBOX.a.>"},
		},
		{
			role: repairs, // it reads for backups, and publishes to no stream
			pub: []string{
				"$JS.API.INFO", "$JS.API.STREAM.INFO.ASKS_00", "$JS.API.STREAM.UPDATE.ASKS_00", "$JS.API.STREAM.SNAPSHOT.ASKS_00", "$JS.API.STREAM.RESTORE.ASKS_00",
				"$JS.API.STREAM.LEADER.STEPDOWN.ASKS_00", "$JS.API.STREAM.PEER.REMOVE.ASKS_00", "$JS.SNAPSHOT.RESTORE.ASKS_00.x",
				"$JS.API.DIRECT.GET.ASKS_00", "$JS.API.STREAM.MSG.GET.ASKS_00", "$JS.API.CONSUMER.LIST.ASKS_00", "$JS.API.CONSUMER.INFO.ASKS_00.web-q",
			},
			noPub: []string{
				"ledgerv1.00.acme.s1.a1.o", "$JS.API.STREAM.DELETE.ASKS_00", "$JS.API.STREAM.PURGE.ASKS_00", "$JS.API.STREAM.MSG.DELETE.ASKS_00", "$JS.API.STREAM.CREATE.X",
				"$JS.API.CONSUMER.DELETE.ASKS_00.web-q", "$JS.API.CONSUMER.CREATE.ASKS_00.x", "$JS.ACK.ASKS_00.web-q.1.1.1.1.1", "askv1.acme.s1.ask.a1", "outv1.acme.s1.a1.o", "$SYS.REQ.SERVER.PING", "_INBOX.l.x",
			},
			sub:   []string{"_INBOX.m.>"},
			noSub: []string{"outv1.>", "ledgerv1.>", "$JS.>", "_INBOX.l.>", "_INBOX.b.>"},
		},
		{
			role:  nodesOf,
			pub:   []string{"$JS.API.SERVER.REMOVE", "$SYS.REQ.SERVER.PING.JSZ"},
			noPub: []string{"$JS.API.META.LEADER.STEPDOWN", "$SYS.REQ.SERVER.PING.CONNZ", "$SYS.REQ.CLAIMS.UPDATE", "$SYS.REQ.ACCOUNT.PING.CONNZ", "$JS.API.ACCOUNT.PURGE.x"},
			sub:   []string{"_INBOX.c.>"},
			noSub: []string{"$SYS.ACCOUNT.>", "$SYS.SERVER.>", "_INBOX.m.>"},
		},
		{
			role:  clock,
			pub:   []string{"$SYS.REQ.SERVER.PING", "revokedv1.digest"},
			noPub: []string{"$JS.API.META.LEADER.STEPDOWN", "$JS.API.SERVER.REMOVE", "$SYS.REQ.SERVER.PING.JSZ", "$SYS.REQ.SERVER.PING.CONNZ", "$SYS.REQ.SERVER.x.KICK", "$SYS.REQ.CLAIMS.UPDATE", "_INBOX.t.x", "_INBOX.c.x", "revokedv1.list"},
			sub:   []string{"_INBOX.t.>", "revokedv1.list"},
			noSub: []string{"$SYS.ACCOUNT.>", "$SYS.SERVER.>", "$SYS.REQ.SERVER.PING", "_INBOX.c.>", "_INBOX.m.>", "revokedv1.digest"},
		},
		{
			role:  revoking,
			pub:   []string{"revokedv1.list", "revokedv1.digest"},
			noPub: []string{"$JS.API.SERVER.REMOVE", "$SYS.REQ.SERVER.PING", "$SYS.REQ.SERVER.PING.JSZ", "$SYS.REQ.SERVER.x.KICK", "$SYS.REQ.CLAIMS.UPDATE", "_INBOX.c.x"},
			sub:   []string{"revokedv1.list", "revokedv1.digest"},
			noSub: []string{"$SYS.ACCOUNT.>", "$SYS.SERVER.>", "$SYS.REQ.SERVER.PING", "_INBOX.c.>", "_INBOX.t.>"},
		},
	}
}

func TestEveryRoleHasExactlyItsRights(t *testing.T) {
	t.Parallel()
	b := natstest.Start(t, natstest.Options{NoBroker: true})
	for _, v := range table() {
		t.Run(v.role.User(), func(t *testing.T) {
			t.Parallel()
			if v.role != ledger && v.role != repairs && v.role != clock {
				v.noPub = append(v.noPub, forbidden...)
			}
			noSub := slices.Clone(v.noSub)
			for _, s := range unheard {
				if !slices.Contains(v.sub, s) && (v.role != ledger || s != "_INBOX.l.>") {
					noSub = append(noSub, s)
				}
			}
			for _, s := range v.pub {
				if err := try(b, v.role, func(nc *nats.Conn) error { return nc.PublishMsg(natstest.Signed(t, nc, &nats.Msg{Subject: s})) }); err != nil {
					t.Errorf("may not publish to %s: %v", s, err)
				}
			}
			for _, s := range v.noPub {
				if err := try(b, v.role, func(nc *nats.Conn) error { return nc.PublishMsg(natstest.Signed(t, nc, &nats.Msg{Subject: s})) }); err == nil {
					t.Errorf("may publish to %s", s)
				}
			}
			subscribe := func(s string) error {
				return try(b, v.role, func(nc *nats.Conn) error {
					_, err := nc.Subscribe(s, func(*nats.Msg) {})
					return err
				})
			}
			for _, s := range v.sub {
				if err := subscribe(s); err != nil {
					t.Errorf("may not subscribe to %s: %v", s, err)
				}
			}
			for _, s := range noSub {
				// A subscription that is wider than what is denied is allowed
				// only if it receives none of it.
				if err := subscribe(s); err == nil {
					t.Errorf("may subscribe to %s", s)
				}
			}
		})
	}
}

// try does something on a fresh connection and returns the server's error,
// which arrives before the reply to the flush.
func try(b *natstest.Bus, r rights.Role, do func(*nats.Conn) error) error {
	c, err := b.Credential(r)
	if err != nil {
		return err
	}
	nc, err := nats.Connect(c.URL, nats.UserCredentialBytes([]byte(c.Creds)), nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}))
	if err != nil {
		return err
	}
	defer nc.Close()
	if err := do(nc); err != nil {
		return err
	}
	if err := nc.Flush(); err != nil {
		return err
	}
	return nc.LastError()
}

// TestTheKeyInASubjectIsTheSenders checks that NATS refuses another user's key
// in a subject.
func TestTheKeyInASubjectIsTheSenders(t *testing.T) {
	t.Parallel()
	b := natstest.Start(t, natstest.Options{NoBroker: true})
	other, _, err := connection.On(b.Connect(ofSession)).Sender()
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range []struct {
		role rights.Role
		yes  string
		no   []string
	}{
		{all, "ansv1.web.%s.acme.s1.answer.a1", []string{"ansv1.slack.%s.acme.s1.answer.a1", "hostv1.%s.acme.s1.answer.a1"}},
		{ofTenant, "ansv1.web.%s.acme.s1.answer.a1", []string{"ansv1.web.%s.other.s1.answer.a1", "ansv1.web.%s.list"}},
		{ofSession, "ansv1.web.%s.acme.s1.answer.a1", []string{"ansv1.web.%s.acme.s2.answer.a1", "ansv1.web.%s.acme.list"}},
		{ofHost, "hostv1.%s.acme.s1.answer.a1", []string{"hostv1.%s.acme.s2.answer.a1", "hostv1.%s.other.s1.answer.a1", "ansv1.native.%s.acme.s1.answer.a1"}},
		{gateway, "ansv1.gateway.%s.acme.s1.answer.a1", []string{"ansv1.web.%s.acme.s1.answer.a1", "hostv1.%s.acme.s1.answer.a1"}},
		{operator, "ansv1.operator.%s.acme.s1.answer.a1", []string{"ansv1.web.%s.acme.s1.answer.a1", "hostv1.%s.acme.s1.answer.a1"}},
		{agent, "", []string{"ansv1.web.%s.acme.s1.answer.a1", "hostv1.%s.acme.s1.answer.a1"}},
	} {
		as := func(subj string, user func(own string) string) error {
			return try(b, v.role, func(nc *nats.Conn) error {
				own, _, err := connection.On(nc).Sender()
				if err != nil {
					t.Fatal(err)
				}
				return nc.Publish(fmt.Sprintf(subj, user(own)), nil)
			})
		}
		own := func(own string) string { return own }
		if v.yes != "" {
			if err := as(v.yes, own); err != nil {
				t.Errorf("%s may not publish to %s: %v", v.role.User(), v.yes, err)
			}
			v.no = append(v.no, "")
		}
		for _, subj := range v.no {
			user := own
			if subj == "" { // its own subject with another's key
				subj, user = v.yes, func(string) string { return other }
			}
			if err := as(subj, user); err == nil {
				t.Errorf("%s may publish to %s", v.role.User(), subj)
			}
		}
	}
}

func TestAResponderRepliesToNobody(t *testing.T) {
	t.Parallel()
	b := natstest.Start(t, natstest.Options{NoBroker: true})
	svc, web := b.Connect(service), b.Connect(all)
	asked, err := web.SubscribeSync("herev1.>")
	if err != nil {
		t.Fatal(err)
	}
	if err := web.Flush(); err != nil {
		t.Fatal(err)
	}
	if err := svc.PublishRequest("herev1.acme.s1", "_INBOX.b.here", nil); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), waittest.Limit)
	defer cancel()
	m, err := asked.NextMsgWithContext(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Respond([]byte("web")); err != nil {
		t.Fatal(err)
	}
	if err := web.Flush(); err != nil {
		t.Fatal(err)
	}
	if err := web.LastError(); err == nil || !strings.Contains(err.Error(), "_INBOX.b.here") {
		t.Errorf("a reply was let through: %v", err)
	}
}

// TestTheForgingTricksAreDead tries forgeries that worked with earlier
// permissions (docs/protocol.md, section 7).
func TestTheForgingTricksAreDead(t *testing.T) {
	t.Parallel()
	b := natstest.Start(t, natstest.Options{})
	victim := b.Connect(rights.Role{Name: rights.RoleAgent, Tenant: "acme", Session: "victim"})
	body := `{"specversion":"1.0","id":"e1","source":"/x","type":"dev.askbus.ask.requested.v1","data":{"id":"a1","questions":[{"text":"Delete it all?"}]}}`
	if m := ask(t, victim, "askv1.acme.victim.ask.a1", body); m.Header.Get("Nats-Service-Error-Code") != "" {
		t.Fatalf("%s", m.Data)
	}
	admin := b.Admin()
	js, err := jetstream.New(b.LedgerAdmin())
	if err != nil {
		t.Fatal(err)
	}
	held := func() map[string]string {
		at := map[string]string{}
		for info := range js.ListStreams(t.Context()).Info() {
			if info.Config.Name == subject.AuditStream {
				continue // records what was refused, a moment later
			}
			at[info.Config.Name] = fmt.Sprintf("%d messages up to %d", info.State.Msgs, info.State.LastSeq)
		}
		return at
	}
	home := ""
	for p := range 4 {
		s, err := js.Stream(t.Context(), fmt.Sprintf("ASKS_%02d", p))
		if err != nil {
			t.Fatal(err)
		}
		if s.CachedInfo().State.Msgs == 1 {
			home = fmt.Sprintf("%02d", p)
		}
	}
	before := held()
	q, o := "ledgerv1."+home+".acme.victim.a1.q", "ledgerv1."+home+".acme.victim.a1.o"
	forged := `{"ask_id":"a1","tenant":"acme","session":"victim","status":"answered","answers":[]}`
	tricks := map[string]*nats.Msg{
		"store an outcome":                       {Subject: o, Data: []byte(forged)},
		"store it and purge the question":        {Subject: o, Data: []byte(forged), Header: nats.Header{"Nats-Scheduler": {q}, "Nats-Schedule-Next": {"purge"}}},
		"schedule one onto another subject":      {Subject: "ledgerv1." + home + ".acme.s1.x.q", Header: nats.Header{"Nats-Schedule": {"@at 2020-01-01T00:00:00Z"}, "Nats-Schedule-Target": {o}}},
		"steal a message by its source":          {Subject: "ledgerv1." + home + ".acme.s1.x.q", Header: nats.Header{"Nats-Schedule": {"@at 2020-01-01T00:00:00Z"}, "Nats-Schedule-Target": {"ledgerv1." + home + ".acme.s1.x.o"}, "Nats-Schedule-Source": {q}}},
		"wipe the stream by a rollup":            {Subject: o, Header: nats.Header{"Nats-Rollup": {"all"}}},
		"a rollup through the broker":            {Subject: "askv1.acme.s1.ask.x", Header: nats.Header{"Nats-Rollup": {"all"}, "Nats-Schedule-Target": {o}}, Reply: o},
		"an ask with a ledger subject as reply":  {Subject: "askv1.acme.s1.get.a1", Reply: o, Data: []byte(forged)},
		"a list with a ledger subject as reply":  {Subject: "ansv1.web.list", Reply: o},
		"CONSUMER.INFO with a reply":             {Subject: "$JS.API.CONSUMER.INFO.ASKS_" + home + ".x", Reply: o},
		"STREAM.INFO with a reply":               {Subject: "$JS.API.STREAM.INFO.ASKS_" + home, Reply: o},
		"a direct get with a reply":              {Subject: "$JS.API.DIRECT.GET.ASKS_" + home, Reply: o, Data: []byte(`{"seq":1}`)},
		"PURGE":                                  {Subject: "$JS.API.STREAM.PURGE.ASKS_" + home},
		"MSG.DELETE":                             {Subject: "$JS.API.STREAM.MSG.DELETE.ASKS_" + home, Data: []byte(`{"seq":1}`)},
		"an ack":                                 {Subject: "$JS.ACK.ASKS_" + home + ".web-q.1.1.1.1.1", Reply: o},
		"$SRV.PING with a reply":                 {Subject: "$SRV.PING", Reply: o},
		"$SRV.INFO with a reply":                 {Subject: "$SRV.INFO.askbus", Reply: o},
		"$SRV.STATS with a reply":                {Subject: "$SRV.STATS.askbus", Reply: o},
		"presence with a reply":                  {Subject: "herev1.acme.victim", Reply: o},
		"the broker's inbox":                     {Subject: "_INBOX.b.here.x", Reply: o},
		"a token that is the ledger's":           {Subject: "ansv1.web.done", Data: []byte(`{"token":"` + o + `"}`)},
		"a republished outcome, without a store": {Subject: "outv1.acme.victim.a1.o", Data: []byte(forged), Header: nats.Header{"Nats-Last-Sequence": {"0"}}},
	}
	heard := make(chan *nats.Msg, 100)
	if _, err := admin.ChanSubscribe("outv1.acme.victim.>", heard); err != nil {
		t.Fatal(err)
	}
	if err := admin.Flush(); err != nil {
		t.Fatal(err)
	}
	for _, r := range []rights.Role{agent, all, ofTenant, ofSession, gateway, operator} {
		nc := b.Connect(r)
		for name, msg := range tricks {
			if err := nc.PublishMsg(natstest.Signed(t, nc, &nats.Msg{Subject: msg.Subject, Reply: msg.Reply, Header: maps.Clone(msg.Header), Data: msg.Data})); err != nil {
				t.Errorf("%s as %s: %v", name, r.User(), err)
			}
		}
		if err := nc.Flush(); err != nil {
			t.Fatal(err)
		}
	}
	// When the broker answers a later request, it has processed the earlier
	// ones.
	op := b.Connect(operator)
	for _, s := range []string{"$SRV.PING", "$SRV.STATS.askbus", "askv1.acme.s1.get.a1", "ansv1.operator.list", "ansv1.operator.done"} {
		ask(t, op, s, "{}")
	}
	if after := held(); !maps.Equal(before, after) {
		t.Errorf("the ledger changed: %v, before %v", after, before)
	}
	if len(heard) != 0 {
		m := <-heard
		t.Errorf("republished: %s %s", m.Subject, m.Data)
	}
	if m := ask(t, victim, "askv1.acme.victim.get.a1", ""); !strings.Contains(string(m.Data), `"state":"pending"`) {
		t.Errorf("the victim's ask: %s", m.Data)
	}
}

func ask(t *testing.T, nc *nats.Conn, subj, body string) *nats.Msg {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), waittest.Limit)
	defer cancel()
	m, err := nc.RequestMsgWithContext(ctx, natstest.Signed(t, nc, &nats.Msg{Subject: subj, Data: []byte(body)}))
	if err != nil {
		t.Fatalf("%s: %v", subj, err)
	}
	return m
}

func TestRolesAndUsers(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if _, err := natsd.Init(dir); err != nil {
		t.Fatal(err)
	}
	keys, err := rights.LoadIssuer(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range table() {
		got, err := rights.ParseUser(v.role.User())
		if err != nil || got != v.role {
			t.Errorf("%s reads back as %+v, %v", v.role.User(), got, err)
		}
		c, err := keys.Credential("nats://x", v.role)
		if err != nil || c.InboxPrefix != v.role.InboxPrefix() || c.Name != v.role.User() || !strings.Contains(c.Creds, "BEGIN NATS USER JWT") {
			t.Errorf("%+v, %v", c, err)
		}
		if _, err := json.Marshal(c); err != nil {
			t.Error(err)
		}
	}
	for name, r := range map[string]rights.Role{
		"an agent with a type":       {Name: rights.RoleAgent, Type: "web", Tenant: "a", Session: "b"},
		"an agent with a wildcard":   {Name: rights.RoleAgent, Tenant: "*", Session: "b"},
		"a session without tenant":   {Name: rights.RoleResponder, Type: "web", Session: "b"},
		"a type that is not a token": {Name: rights.RoleResponder, Type: "we.b"},
		"a gateway of a tenant":      {Name: rights.RoleGateway, Tenant: "acme"},
		"no role":                    {},
		"a name of 65 characters":    {Name: rights.RoleAgent, Tenant: strings.Repeat("x", 65), Session: "s"},
	} {
		if _, err := keys.Credential("nats://x", r); err == nil {
			t.Errorf("%s is given a credential", name)
		}
	}
}

func FuzzParseUser(f *testing.F) {
	for _, v := range table() {
		f.Add(v.role.User())
	}
	for _, s := range []string{"", "/", "agent//", "responder/web/acme/s1/x", "agent/*/>", "ledger"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, user string) {
		r, err := rights.ParseUser(user)
		if err != nil {
			return
		}
		if r.User() != user || r.Validate() != nil {
			t.Errorf("%q reads as %+v, which is %q", user, r, r.User())
		}
		rights := r.Rights()
		for _, s := range append(rights.Publish, rights.Subscribe...) {
			if strings.HasPrefix(s, "*") || s == ">" || strings.Contains(s, "../..") || strings.ContainsAny(s, " \t\r\n") {
				t.Errorf("%q may use %q", user, s)
			}
		}
	})
}
