package doctor_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/bus/broker"
	"github.com/askbus/askbus/internal/bus/ledger"
	"github.com/askbus/askbus/internal/bus/servertime"
	"github.com/askbus/askbus/internal/bus/state"
	"github.com/askbus/askbus/internal/process/finding"
	"github.com/askbus/askbus/internal/protocol/wire"
	"github.com/askbus/askbus/internal/role/doctor"
	"github.com/nats-io/nats.go"
)

// said checks for a finding with a state and words.
func said(t *testing.T, l finding.List, what string, state finding.State, words string) {
	t.Helper()
	for _, f := range l {
		if f.What == what && f.State == state && strings.Contains(f.Words, words) {
			return
		}
	}
	t.Errorf("no finding %q that is %s and says %q in\n%+v", what, state, words, l)
}

func TestEachFindingOfTheConnection(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 22, 0, 0, 0, 0, time.UTC)
	whole := doctor.LineFacts{URL: "nats://127.0.0.1:4222", Server: "2.15.2", MaxPayload: 1 << 20, Headers: true, Expires: now.Add(90 * 24 * time.Hour), Now: now}
	cert := func(ends time.Duration) *tls.ConnectionState {
		return &tls.ConnectionState{PeerCertificates: []*x509.Certificate{{NotAfter: now.Add(ends)}}}
	}
	if l := doctor.Line(whole); len(l) != 4 || l.Broken() > 0 || strings.Contains(string(l[2].State+l[3].State), "missing") {
		t.Errorf("a whole one: %+v", l)
	}
	for _, v := range []struct {
		change func(*doctor.LineFacts)
		what   string
		state  finding.State
		words  string
	}{
		{func(f *doctor.LineFacts) { f.Server = "2.12.1" }, "server", finding.Broken, "upgrade it to 2.14"},
		{func(f *doctor.LineFacts) { f.MaxPayload = 64 << 10 }, "payload", finding.Broken, "set it to 1MB"},
		{func(f *doctor.LineFacts) { f.Headers = false }, "payload", finding.Broken, "no_header_support"},
		{func(f *doctor.LineFacts) { f.URL = "nats://bus.example:4222" }, "TLS", finding.Missing, "in the clear"},
		{func(f *doctor.LineFacts) { f.TLS = &tls.ConnectionState{} }, "TLS", finding.Missing, "no certificate"},
		{func(f *doctor.LineFacts) { f.TLS = cert(365 * 24 * time.Hour) }, "TLS", finding.Good, "valid until"},
		{func(f *doctor.LineFacts) { f.TLS = cert(3 * 24 * time.Hour) }, "TLS", finding.Missing, "in 72h0m0s: renew it"},
		{func(f *doctor.LineFacts) { f.TLS = cert(-time.Hour) }, "TLS", finding.Broken, "expired at"},
		{func(f *doctor.LineFacts) { f.Expires = time.Time{} }, "credential", finding.Missing, "never expires"},
		{func(f *doctor.LineFacts) { f.Expires = now.Add(3 * 24 * time.Hour) }, "credential", finding.Missing, "get a fresh one"},
		{func(f *doctor.LineFacts) { f.Expires = now.Add(-time.Minute) }, "credential", finding.Broken, "expired at"},
	} {
		f := whole
		v.change(&f)
		said(t, doctor.Line(f), v.what, v.state, v.words)
	}
}

func TestEachFindingOfTheInbox(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 22, 0, 0, 0, 0, time.UTC)
	cert := func(ends time.Duration) *x509.Certificate { return &x509.Certificate{NotAfter: now.Add(ends)} }
	for _, v := range []struct {
		facts doctor.SiteFacts
		state finding.State
		words string
	}{
		{doctor.SiteFacts{URL: "http://127.0.0.1:8420"}, finding.Good, "on this machine"},
		{doctor.SiteFacts{URL: "http://ask.example.com"}, finding.Missing, "in the clear"},
		{doctor.SiteFacts{URL: "ask.example.com"}, finding.Broken, "invalid address"},
		{doctor.SiteFacts{URL: "https://ask.example.com", Leaf: cert(365 * 24 * time.Hour)}, finding.Good, "valid until"},
		{doctor.SiteFacts{URL: "https://ask.example.com", Leaf: cert(24 * time.Hour)}, finding.Missing, "renew it"},
		{doctor.SiteFacts{URL: "https://ask.example.com", Err: errors.New("connection refused")}, finding.Missing, "not checked, because it does not answer here: connection refused"},
		{doctor.SiteFacts{URL: "http://ask.example.com", Err: errors.New("connection refused")}, finding.Missing, "that ASKBUS_HTTP_URL is the address"},
		{doctor.SiteFacts{URL: "https://ask.example.com", Leaf: cert(365 * 24 * time.Hour), Status: 502}, finding.Broken, "answers with status 502"},
		{doctor.SiteFacts{URL: "http://127.0.0.1:8420", Err: errors.New("connection refused")}, finding.Broken, "it does not answer: connection refused; start it, or set ASKBUS_HTTP_URL"},
		{doctor.SiteFacts{URL: "https://ask.example.com", Err: &tls.CertificateVerificationError{Err: x509.HostnameError{Certificate: &x509.Certificate{}, Host: "ask.example.com"}}}, finding.Missing, "is not for the name"},
		{doctor.SiteFacts{URL: "https://ask.example.com", Err: &tls.CertificateVerificationError{Err: x509.UnknownAuthorityError{}}}, finding.Broken, "not trusted here"},
	} {
		v.facts.Now = now
		said(t, doctor.Inbox.Judge(v.facts), "inbox", v.state, v.words)
	}
	for off, words := range map[time.Duration]string{10 * time.Minute: "10m0s ahead of this machine's", -time.Hour: "1h0m0s behind this machine's"} {
		said(t, doctor.Inbox.Judge(doctor.SiteFacts{URL: "http://127.0.0.1:8420", Date: now.Add(off), Now: now}), "inbox's clock", finding.Missing, words)
	}
	said(t, doctor.Gateway.Judge(doctor.SiteFacts{URL: "http://127.0.0.1:8420", Date: now.Add(-time.Hour), Now: now}), "gateway's clock", finding.Missing, "1h0m0s behind this machine's: tokens expire")
	if l := doctor.Inbox.Judge(doctor.SiteFacts{URL: "http://127.0.0.1:8420", Date: now.Add(-time.Second), Now: now}); len(l) != 1 {
		t.Errorf("a clock that is right: %+v", l)
	}
}

func inspection() *ledger.Inspection {
	s := func(name string) ledger.StreamInspection {
		return ledger.StreamInspection{
			Name: name, There: true, Replicas: 3, Clustered: true, Leader: "n1", Unsure: time.Millisecond,
			Peers:     []ledger.PeerInspection{{Name: "n2", Current: true}, {Name: "n3", Current: true}},
			Consumers: []ledger.ConsumerInspection{{Name: "slack-q", Waiting: 1}, {Name: "slack-o"}},
		}
	}
	return &ledger.Inspection{MaxStore: -1, Settings: ledger.Settings{Partitions: 2, Replicas: 3}, Streams: []ledger.StreamInspection{s("ASKS_00"), s("ASKS_01"), s("STATE")}, Audit: ledger.AuditInspection{There: true, Used: 1, Copies: 3, AuditSettings: ledger.AuditSettings{Retention: time.Hour, Bytes: 1 << 30}}}
}

func TestEachFindingOfTheClocks(t *testing.T) {
	t.Parallel()
	now := time.Now()
	for _, v := range []struct {
		ahead map[string]time.Duration
		state finding.State
		words string
	}{
		{map[string]time.Duration{"n1": 0, "n2": 0, "n3": 500 * time.Millisecond}, finding.Good, "those of n1, n2, n3 and of this machine agree"},
		{map[string]time.Duration{"n1": 0, "n2": time.Hour, "n3": 0}, finding.Broken, "the clock of server n2 is 1h0m0s ahead of the others'; set it by NTP"},
		{map[string]time.Duration{"n1": 0, "n2": 2 * time.Second}, finding.Broken, "no majority agrees: n1 says"},
		{map[string]time.Duration{"askbus": -time.Minute}, finding.Missing, "this machine's clock is 1m0s ahead of the servers'"},
		{nil, finding.Broken, "no server told its time, so no broker starts"},
	} {
		s := servertime.NewServers(func() time.Time { return now }, 0)
		for server, ahead := range v.ahead {
			s.Note(server, servertime.Between(now, now.Add(time.Millisecond), now.Add(ahead)))
		}
		said(t, doctor.Clocks(s, now), "clocks", v.state, v.words)
	}
	in := inspection()
	said(t, doctor.LeadersClocks(in), "clocks", finding.Good, "agree")
	in.Streams[1].Ahead = time.Hour
	said(t, doctor.LeadersClocks(in), "clocks", finding.Broken, "ASKS_01 +3600.0 s")
	for i := range in.Streams {
		in.Streams[i].Ahead = -time.Minute
	}
	said(t, doctor.LeadersClocks(in), "clocks", finding.Missing, "this machine's clock is 1m0s ahead of the servers'")
}

func TestEachFindingOfTheLedger(t *testing.T) {
	t.Parallel()
	for _, f := range doctor.Ledger(inspection(), nil) {
		if f.State != finding.Good {
			t.Errorf("a whole one: %+v", f)
		}
	}
	for _, v := range []struct {
		change func(*ledger.Inspection)
		what   string
		state  finding.State
		words  string
	}{
		{func(in *ledger.Inspection) { in.MaxStore = 0 }, "JetStream", finding.Broken, "max_storage"},
		{func(in *ledger.Inspection) { in.Unlisted = context.DeadlineExceeded }, "backlog", finding.Broken, "/readyz of each says which cannot store"},
		{func(in *ledger.Inspection) { in.MaxStore, in.Used, in.Domain = 100, 95, "hub" }, "JetStream", finding.Broken, "95 bytes of 100 bytes are used, in the domain hub"},
		{func(in *ledger.Inspection) { in.Streams[1].There = false }, "partitions", finding.Broken, "missing: ASKS_01"},
		{func(in *ledger.Inspection) { in.Streams[0].Wrong = []string{"deny_delete is off"} }, "streams", finding.Broken, "ASKS_00: deny_delete is off"},
		{func(in *ledger.Inspection) { in.Streams[2].Used, in.Streams[2].Most = 80, 100 }, "shared state", finding.Missing, "80 bytes of 100 bytes are used: nothing new"},
		{func(in *ledger.Inspection) { s := &in.Streams[1]; s.Name, s.Used, s.Most = "FILES", 95, 100 }, "files", finding.Missing, "askbus ledger set --max-store"},
		{func(in *ledger.Inspection) { in.Streams[1].Leader = "" }, "replicas", finding.Broken, "no leader for ASKS_01"},
		{func(in *ledger.Inspection) { in.Streams[1].Peers[0].Offline = true }, "replicas", finding.Missing, "server n2 is offline (ASKS_01); "},
		{func(in *ledger.Inspection) { in.Streams[1].Peers[1] = ledger.PeerInspection{Name: "n3", Lag: 9} }, "replicas", finding.Missing, "server n3 is behind (ASKS_01 by 9); "},
		{func(in *ledger.Inspection) { in.Settings.Replicas = 1 }, "replicas", finding.Missing, "ledger set --replicas 3"},
		{func(in *ledger.Inspection) { in.Settings.Replicas = 2 }, "replicas", finding.Missing, "use 3 or 5"},
		{func(in *ledger.Inspection) { in.Audit.There = false }, "audit", finding.Broken, "its stream is missing"},
		{func(in *ledger.Inspection) { in.Audit.Wrong = []string{"deny_purge is off"} }, "audit", finding.Broken, "deny_purge is off"},
		{func(in *ledger.Inspection) { in.Audit.Lag = 20_000 }, "audit", finding.Missing, "20000 questions and outcomes"},
		{func(in *ledger.Inspection) { in.Audit.Refuse, in.Audit.Used = true, in.Audit.Bytes }, "audit", finding.Missing, "--audit-bytes"},
		{func(in *ledger.Inspection) { in.Audit.Copies = 1 }, "audit", finding.Missing, "1 replicas"},
		{func(in *ledger.Inspection) { in.Streams[0].Consumers[0].Waiting = 500 }, "backlog of slack", finding.Broken, "502 asks to post, and no replica takes work"},
		{func(in *ledger.Inspection) {
			in.Streams[0].Consumers[1] = ledger.ConsumerInspection{Name: "slack-o", Waiting: 500, UnderWay: 8}
		}, "backlog of slack (outcomes)", finding.Missing, "start more replicas"},
		{func(in *ledger.Inspection) { in.Streams[0].Consumers[0].Redelivered = 3 }, "backlog of slack", finding.Missing, "3 work items"},
	} {
		in := inspection()
		v.change(in)
		said(t, doctor.Ledger(in, nil), v.what, v.state, v.words)
	}
	said(t, doctor.Ledger(&ledger.Inspection{MaxStore: -1}, ledger.ErrNoLedger), "ledger", finding.Broken, "start a broker")
	said(t, doctor.Ledger(&ledger.Inspection{}, errors.New("timeout")), "ledger", finding.Broken, "timeout")
}

func TestEachFindingOfTheIssuer(t *testing.T) {
	t.Parallel()
	for _, v := range []struct {
		facts doctor.IssuerFacts
		state finding.State
		words string
	}{
		{doctor.IssuerFacts{Refused: "invalid"}, finding.Good, "it responds"},
		{doctor.IssuerFacts{Err: nats.ErrNoResponders}, finding.Missing, "none runs"},
		{doctor.IssuerFacts{Err: context.DeadlineExceeded}, finding.Broken, "does not respond"},
		{doctor.IssuerFacts{}, finding.Broken, "without a token"},
	} {
		said(t, doctor.Issuer(v.facts), "issuer", v.state, v.words)
	}
}

func TestEachFindingOfPush(t *testing.T) {
	t.Parallel()
	rings := inspection()
	rings.Streams[0].Consumers = append(rings.Streams[0].Consumers, ledger.ConsumerInspection{Name: "push-q"})
	for _, v := range []struct {
		facts doctor.PushFacts
		state finding.State
		words string
	}{
		{doctor.PushFacts{Err: errors.New("timeout")}, finding.Missing, "timeout"},
		{doctor.PushFacts{Ledger: inspection()}, finding.Good, "no browser"},
		{doctor.PushFacts{Browsers: 2}, finding.Missing, "not checked"},
		{doctor.PushFacts{Browsers: 2, Ledger: inspection()}, finding.Broken, "browsers (2), but none was ever sent"},
		{doctor.PushFacts{Browsers: 2, Ledger: rings}, finding.Good, "turned on in browsers (2)"},
	} {
		said(t, doctor.Push(v.facts), "push", v.state, v.words)
	}
}

func TestEachFindingOfTheBrokers(t *testing.T) {
	t.Parallel()
	of := func(id string, s broker.Settings) doctor.Broker {
		return doctor.Broker{ID: id, Version: "v1", Used: 81, Budget: 100, Settings: s}
	}
	one := doctor.Broker{ID: "a", Version: "v1", Used: 10, Budget: 100}
	for _, v := range []struct {
		all   []doctor.Broker
		err   error
		what  string
		state finding.State
		words string
	}{
		{[]doctor.Broker{one, one}, nil, "brokers", finding.Good, "2 of v1"},
		{[]doctor.Broker{one}, nil, "budget", finding.Good, "10 bytes of 100 bytes"},
		{nil, nil, "brokers", finding.Broken, "none responds"},
		{nil, errors.New("forbidden"), "brokers", finding.Broken, "use an operator's credential"},
		{[]doctor.Broker{one, {ID: "b", Version: "v2", Budget: 100}}, nil, "brokers", finding.Missing, "1 of v1, 1 of v2"},
		{[]doctor.Broker{{ID: "a", Used: 10}}, nil, "budget", finding.Missing, "--max-store"},
		{[]doctor.Broker{{ID: "a", Used: 70, Budget: 100}}, nil, "budget", finding.Missing, "from 80 % on"},
		{[]doctor.Broker{{ID: "a", Used: 81, Budget: 100}}, nil, "budget", finding.Broken, "new asks are refused"},
		{[]doctor.Broker{{ID: "a", Used: 60, Reserve: 36, Budget: 100}}, nil, "budget", finding.Broken, "new asks are refused"},
		{[]doctor.Broker{of("a", broker.Settings{MaxStore: 200, Server: "n1", ServerMaxStore: 100})}, nil, "budget", finding.Broken, "of server n1"},
		{[]doctor.Broker{of("a", broker.Settings{MaxStore: 200, Server: "n1", ServerMaxStore: 100})}, nil, "max-store", finding.Missing, "200 bytes at the brokers and 100 bytes at server n1"},
		{[]doctor.Broker{of("a", broker.Settings{MaxStore: 100})}, nil, "max-store", finding.Missing, "no NATS server says"},
		{[]doctor.Broker{of("a", broker.Settings{Host: "h1", MaxStore: 100}), of("b", broker.Settings{Host: "h2", MaxStore: 300})}, nil, "max-store", finding.Missing, "100 bytes at broker a on h1; 300 bytes at broker b on h2"},
		{[]doctor.Broker{of("a", broker.Settings{Host: "h1", Unread: []string{"p.yaml: invalid YAML"}}), of("b", broker.Settings{Host: "h2"})}, nil, "files", finding.Broken, "p.yaml: invalid YAML at broker a on h1: the previous content counts"},
		{[]doctor.Broker{of("a", broker.Settings{Host: "h1", Approvals: "12ab"}), of("b", broker.Settings{Host: "h2"})}, nil, "approvals", finding.Broken, "none at broker b on h2; of digest 12ab at broker a on h1"},
		{[]doctor.Broker{of("a", broker.Settings{Host: "h1", Policy: "12ab"}), of("b", broker.Settings{Host: "h2"})}, nil, "policy", finding.Missing, "none at broker b on h2; of digest 12ab at broker a on h1"},
	} {
		said(t, doctor.Brokers(v.all, v.err), v.what, v.state, v.words)
	}
}

func TestDeliveriesThatFailedAreNamed(t *testing.T) {
	t.Parallel()
	failures, err := json.Marshal(wire.WebhookFailures{Receiver: "callback builder", Count: 3, Ask: "s1/a1", Error: "the receiver answered 500", At: time.Date(2026, 11, 24, 9, 0, 0, 0, time.UTC)})
	if err != nil {
		t.Fatal(err)
	}
	found := doctor.Webhooks([]state.Entry{
		{Key: state.Key{Tenant: "acme", Name: "failed.callback.builder"}, Value: failures},
		{Key: state.Key{Tenant: "acme", Name: "callback.builder.s1.a2"}, Value: []byte("{}")},
	}, nil)
	if len(found) != 2 || found.Broken() != 0 || !strings.Contains(found[0].Words, "deliveries to callback builder of tenant acme that failed for good: 3") || !strings.Contains(found[0].Words, "s1/a1") || !strings.Contains(found[1].Words, "wait for their receivers: 1") {
		t.Errorf("%+v", found)
	}
	if found := doctor.Webhooks(nil, nil); len(found) != 0 {
		t.Errorf("nothing waits: %+v", found)
	}
}
