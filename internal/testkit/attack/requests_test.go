package attack_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/askbus/askbus/internal/bus/audit"
	"github.com/askbus/askbus/internal/bus/connection"
	"github.com/askbus/askbus/internal/protocol/cloudevent"
	"github.com/askbus/askbus/internal/protocol/subject"
	"github.com/askbus/askbus/internal/server/natsd"
	"github.com/askbus/askbus/internal/server/rights"
	"github.com/askbus/askbus/internal/testkit/natstest"
	"github.com/askbus/askbus/internal/testkit/waittest"
	"github.com/nats-io/nats.go"
)

// request sends a request and waits for its reply.
func (s *sender) request(t *testing.T, subj string, header nats.Header, body string) *nats.Msg {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), waittest.Limit)
	defer cancel()
	m, err := s.nc.RequestMsgWithContext(ctx, &nats.Msg{Subject: subj, Header: header, Data: []byte(body)})
	if err != nil {
		t.Fatalf("request %s as %s: %v", subj, s.role.User(), err)
	}
	return m
}

// publish sends a valid request with these headers and the sender's JWT.
func (s *sender) publish(t *testing.T, subj, reply string, more nats.Header) {
	t.Helper()
	header := nats.Header{connection.HeaderCredential: {s.jwt}}
	maps.Copy(header, more)
	if err := s.nc.PublishMsg(&nats.Msg{Subject: subj, Reply: reply, Header: header, Data: []byte(bodyFor(subj))}); err != nil {
		t.Fatal(err)
	}
}

// bodyFor returns a valid body for a subject, so that the body is not the
// reason for a refusal.
func bodyFor(subj string) string {
	t := strings.Split(subj, ".")
	verb, id := t[len(t)-2], t[len(t)-1]
	event := func(typ, data string) string {
		return fmt.Sprintf(`{"specversion":"1.0","id":"e1","source":"/attack","type":%q,"subject":%q,"datacontenttype":"application/json","data":%s}`, typ, id, data)
	}
	switch subject.Verb(verb) {
	case "acme", "other":
		if id == string(subject.VerbRemove) { // an operator may
			return `{"dry_run":true}`
		}
	case subject.VerbAsk:
		return event(cloudevent.TypeAsked, fmt.Sprintf(`{"id":%q,"questions":[{"id":"q","text":"Delete it all?","kind":"boolean"}]}`, id))
	case subject.VerbAnswer:
		return event(cloudevent.TypeAnswered, fmt.Sprintf(`{"ask_id":%q,"answer_id":"w","answers":[{"question_id":"q","boolean":true}],"by":{}}`, id))
	case subject.VerbCancel:
		return event(cloudevent.TypeDeclined, fmt.Sprintf(`{"ask_id":%q,"answer_id":"w","by":{}}`, id))
	case subject.VerbRepeat:
		return fmt.Sprintf(`{"ask_id":"%s-1"}`, id)
	case subject.VerbWithdraw:
		return event(cloudevent.TypeWithdrawn, fmt.Sprintf(`{"ask_id":%q}`, id))
	case subject.VerbAbort:
		return event(cloudevent.TypeAborted, fmt.Sprintf(`{"ask_id":%q,"by":{"principal":"os:x"}}`, id))
	}
	return "{}"
}

// scene is a bus with a victim's ask, and three witnesses: of all messages in
// the clients' account, of all in the ledger's account, and of what is written
// to the streams.
type scene struct {
	*natstest.Bus
	victim *sender

	mu     sync.Mutex
	bus    []*nats.Msg
	ledger []*nats.Msg // including deliveries to consumers, under the stream's subjects
	writes []*nats.Msg

	sample
}

// sample chooses what is tried under the race detector: each 20th ([waittest.Fewer]) of what runs the same code. The
// run without the detector tries each.
type sample struct{ seen int }

func (s *sample) sampled() bool {
	s.seen++
	return s.seen%waittest.Fewer == 0
}

const victimsAsk = "askv1.acme.victim.ask.v1"

func stage(t *testing.T) *scene {
	t.Helper()
	s := &scene{Bus: natstest.Start(t, natstest.Options{Memory: true, Bounds: natsd.Bounds{Messages: -1}})}
	agent := roles()["agent"]
	agent.Session = "victim"
	s.victim = connect(t, s.Bus, agent)
	if m := s.victim.request(t, victimsAsk, nil, bodyFor(victimsAsk)); m.Header.Get("Nats-Service-Error-Code") != "" {
		t.Fatalf("%s", m.Data)
	}
	reader := s.Connect(roles()["auditor"])
	natstest.Eventually(t, "the server has copied the ask into the audit", func() bool { // the witness would hear it
		p, err := audit.Read(t.Context(), reader, "", audit.Query{Ask: "v1"})
		return err == nil && len(p.Items) == 1
	})
	admin, ledger := s.Admin(), s.LedgerAdmin()
	for _, w := range []struct {
		nc      *nats.Conn
		subject string
		to      *[]*nats.Msg
	}{{admin, ">", &s.bus}, {ledger, ">", &s.ledger}, {ledger, subject.LedgerRoot + ".>", &s.writes}} {
		if _, err := w.nc.Subscribe(w.subject, func(m *nats.Msg) {
			s.mu.Lock()
			defer s.mu.Unlock()
			*w.to = append(*w.to, m)
		}); err != nil {
			t.Fatal(err)
		}
		if err := w.nc.Flush(); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// settled waits until everything sent before has been processed, and fails the
// test unless the victim is unharmed. A sender's requests are served in order,
// and the witnesses receive messages in order.
func (s *scene) settled(t *testing.T, senders ...*sender) {
	t.Helper()
	mark := s.Admin()
	for i, from := range senders {
		if err := from.nc.Flush(); err != nil {
			t.Fatal(err)
		}
		subj := fmt.Sprintf("_INBOX.mark.%d", i)
		if err := mark.Publish(subj, nil); err != nil {
			t.Fatal(err)
		}
	}
	// The broker queues requests per session and credential: an ask through
	// each used session comes after all others of it.
	op := connect(t, s.Bus, roles()["operator"])
	for _, at := range []string{"acme.s1", "acme.s2", "other.s1", "acme.victim"} {
		op.request(t, op.own("ansv1.operator.~."+at+".wait.settled"), nil, "")
	}
	op.request(t, "$SRV.PING", nil, "")
	natstest.Eventually(t, "the witness has heard everything", func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return slices.ContainsFunc(s.bus, func(m *nats.Msg) bool { return m.Subject == fmt.Sprintf("_INBOX.mark.%d", len(senders)-1) })
	})
	s.unharmed(t)
}

// unharmed fails the test unless the victim's ask is unchanged.
func (s *scene) unharmed(t *testing.T) {
	t.Helper()
	var m *nats.Msg
	natstest.Eventually(t, "the ledger answers", func() bool { // the attacks keep it busy
		m = s.victim.request(t, "askv1.acme.victim.get.v1", nil, "")
		return m.Header.Get("Nats-Service-Error-Code") != "503"
	})
	if !strings.Contains(string(m.Data), `"state":"pending"`) {
		t.Errorf("the victim's ask: %s", m.Data)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, m := range s.writes {
		if strings.Contains(m.Subject, ".acme.victim.") {
			t.Errorf("written: %s %q", m.Subject, m.Header)
		}
	}
}

// How many of the roles of a line send in a test.
const (
	oneRole   = 1   // the result depends only on the subject
	everyRole = 100 // the result also depends on the sender's permissions
)

// served sends as the roles of each line that can be published and that the
// broker serves. It returns the senders.
func (s *scene) served(t *testing.T, most int, each func(from *sender, subj string)) []*sender {
	t.Helper()
	senders := map[string]*sender{}
	for _, l := range publish() {
		root, _, _ := strings.Cut(l.subject, ".")
		if len(l.may) == 0 || !slices.Contains([]string{subject.Agents, subject.Responders, subject.Hosts, subject.Operators, subject.State, subject.Audit}, root) {
			continue
		}
		for _, name := range l.may[:min(most, len(l.may))] {
			from := senders[name]
			if from == nil {
				from = connect(t, s.Bus, roles()[name])
				senders[name] = from
			}
			each(from, from.own(l.subject))
		}
	}
	return slices.Collect(maps.Values(senders))
}

// forged returns headers with a meaning to the server or the ledger. No broker
// writes these values.
func forged() nats.Header {
	const target = "ledgerv1.00.acme.victim.v1.o"
	return nats.Header{
		"Nats-Rollup": {"all"}, "Nats-Schedule": {"@at 2001-01-01T00:00:00Z"}, "Nats-Schedule-Target": {target}, "Nats-Schedule-Source": {"ledgerv1.00.acme.victim.v1.q"},
		"Nats-Schedule-TTL": {"7s"}, "Nats-Schedule-Rollup": {"sub"}, "Nats-Scheduler": {target}, "Nats-Schedule-Next": {"purge-forged"},
		"Nats-Expected-Last-Sequence": {"424242"}, "Nats-Expected-Last-Subject-Sequence": {"424243"}, "Nats-Expected-Last-Subject-Sequence-Subject": {target},
		"Nats-Expected-Stream": {"FORGED"}, "Nats-Expected-Last-Msg-Id": {"forged-last"}, "Nats-Msg-Id": {"forged"}, "Nats-TTL": {"9s"}, "Nats-Marker-Reason": {"Forged"},
		"Nats-Incr": {"+7"}, "Nats-Batch-Id": {"forged"}, "Nats-Batch-Sequence": {"77"}, "Nats-Batch-Commit": {"forged"}, "Nats-Required-Api-Level": {"99"},
		"Nats-Stream": {"FORGED"}, "Nats-Subject": {target}, "Nats-Sequence": {"99999"}, "Nats-Stream-Source": {"forged"}, "Nats-Service-Error-Code": {"999"}, "Status": {"999"},
		"Askbus-Created": {"forged"}, "Askbus-Digest": {"forged"}, "Askbus-Will": {"forged"}, "Askbus-Asker": {"forged"}, "Askbus-User": {"forged"}, "Askbus-Token": {"forged"}, "Askbus-Protocol": {"forged"},
	}
}

// TestForgedHeadersReachNoStream sends each header with each request.
func TestForgedHeadersReachNoStream(t *testing.T) {
	t.Parallel()
	s := stage(t)
	evil := forged()
	senders := s.served(t, oneRole, func(from *sender, subj string) {
		for name, values := range evil {
			if s.sampled() {
				from.publish(t, subj, "", nats.Header{name: values})
			}
		}
		from.publish(t, subj, "", evil)
	})
	s.settled(t, senders...)
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, m := range s.writes {
		for name, values := range m.Header {
			if want := evil[name]; want != nil && slices.Contains(values, want[0]) {
				t.Errorf("%s is written with the sender's header %s: %q", m.Subject, name, values)
			}
		}
	}
	if len(s.writes) == 0 {
		t.Error("nothing was written at all: the requests did not reach the broker")
	}
}

// TestTracesGoNowhere asks the server to send a message trace to a subject that
// the sender may not publish to.
func TestTracesGoNowhere(t *testing.T) {
	t.Parallel()
	s := stage(t)
	to := []string{"_INBOX.a.acme.victim.t", "outv1.acme.victim.v1.o", "ledgerv1.00.acme.victim.v1.o", "$JS.API.STREAM.PURGE.ASKS_00", "herev1.acme.t", "_INBOX.b.t", "statev1.policy.acme.t"}
	senders := s.served(t, everyRole, func(from *sender, subj string) {
		for _, dest := range to {
			if s.sampled() {
				from.publish(t, subj, "", nats.Header{"Nats-Trace-Dest": {dest}})
			}
		}
	})
	s.settled(t, senders...)
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, m := range slices.Concat(s.bus, s.ledger) {
		if slices.Contains(to, m.Subject) {
			t.Errorf("a trace was sent to %s", m.Subject)
		}
	}
}

// hostile returns reply subjects that are not the sender's inbox.
func hostile() []string {
	all := []string{
		"$JS.API.STREAM.PURGE.HOSTILE", "$JS.API.INFO.hostile", "$JS.ACK.ASKS_00.web-q.1.1.1.1.1", "ledgerv1.00.acme.victim.v1.o", "ledgerv1.state.tokens.~.k",
		"outv1.acme.victim.v1.o", "statev1.tokens.~.k", "$SRV.PING", "$SYS.REQ.SERVER.PING", "herev1.acme.victim", "askv1.acme.victim.withdraw.hostile", "hostv1." + other + ".acme.victim.answer.v1",
		"ansv1.slack." + other + ".acme.victim.answer.v1", "admv1.acme.victim.abort.v1", "kvv1.operator.tokens.get.hostile.k", "anything", "_INBOX.x", "_INBOX", "_inbox.a.acme.s1.x", "_INBOX.A.acme.s1.x", "_INBOX.a.Acme.s1.x",
		"_INBOX.b.hostile", "_INBOX.l.hostile", "_INBOX.m.hostile", "_INBOX.c.hostile", "_INBOX.a.acme.victim.hostile", "_INBOX.h.acme.victim.hostile", "_INBOX.rs.slack.acme.victim.hostile",
		"_INBOX.at.victims.hostile", "_INBOX.rt.slack.victims.hostile", "_INBOX.r.victims.hostile", "_INBOX.a.acme.s1", "_INBOX.a.acme.s11.hostile", "_INBOX.opx.hostile", "_INBOX.gx.hostile",
	}
	for _, r := range roles() { // a wildcard below its own prefix is not its inbox either
		all = append(all, r.InboxPrefix()+".*", r.InboxPrefix()+".>", r.InboxPrefix()+".x..y", r.InboxPrefix()+".")
	}
	return all
}

// TestForeignRepliesAreNotSent uses each of them in each request.
func TestForeignRepliesAreNotSent(t *testing.T) {
	t.Parallel()
	s := stage(t)
	to := hostile()
	senders := s.served(t, oneRole, func(from *sender, subj string) {
		for _, reply := range to {
			if s.sampled() {
				from.publish(t, subj, reply, nil)
			}
		}
	})
	s.settled(t, senders...)
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, m := range slices.Concat(s.bus, s.ledger) {
		if slices.Contains(to, m.Subject) && m.Subject != "$SRV.PING" { // the suite's own
			t.Errorf("the broker replied to %s: %.80q", m.Subject, m.Data)
		}
	}
}

// inboxes returns the inbox prefixes of every role and width, of the attacker's
// own tenant and session and of others.
func inboxes() map[string]rights.Role {
	all := map[string]rights.Role{}
	for _, r := range roles() {
		all[r.InboxPrefix()] = r
		if r.Session != "" {
			r.Session = "victim"
			all[r.InboxPrefix()] = r
		}
		if r.Tenant != "" {
			r.Tenant = "victims"
			all[r.InboxPrefix()] = r
		}
	}
	return all
}

// related reports whether two credentials are of the same role and type, one of
// them within the tenant and session of the other. Such a pair is not told
// apart: both may send the request, and its subject has no width
// (docs/threat-model.md). All other pairs are.
func related(a, b rights.Role) bool {
	return a.Name != rights.RoleAuditor && a.Name == b.Name && a.Type == b.Type && (a.Tenant == "" || b.Tenant == "" || a.Tenant == b.Tenant) && (a.Session == "" || b.Session == "" || a.Session == b.Session)
}

// TestRepliesGoToTheInboxOfTheirRole sends each request as each role that may,
// once for the inbox of each role: the broker replies below the sender's own,
// and below no other.
func TestRepliesGoToTheInboxOfTheirRole(t *testing.T) {
	t.Parallel()
	s := stage(t)
	type pair struct {
		from, to rights.Role
		subject  string
	}
	named := map[string]pair{}
	all := inboxes()
	senders := s.served(t, everyRole, func(from *sender, subj string) {
		for prefix, to := range all {
			if from.role != to && !s.sampled() {
				continue
			}
			reply := fmt.Sprintf("%s.named.%d", prefix, len(named))
			named[reply] = pair{from.role, to, subj}
			from.publish(t, subj, reply, nil)
		}
	})
	s.settled(t, senders...)
	s.mu.Lock()
	defer s.mu.Unlock()
	heard := map[rights.Role]bool{}
	for _, m := range s.bus {
		p, ok := named[m.Subject]
		if !ok {
			continue
		}
		if p.from == p.to {
			heard[p.from] = true
		} else if !related(p.from, p.to) {
			t.Errorf("%s sent %s and had the broker reply to %s, an inbox of %s: %.80q", p.from.User(), p.subject, m.Subject, p.to.User(), m.Data)
		}
	}
	for _, from := range senders {
		if !heard[from.role] {
			t.Errorf("%s got no reply below its own inbox: its requests did not reach the broker", from.role.User())
		}
	}
}

// TestMalformedTokensNameNothing puts something else in place of each token.
func TestMalformedTokensNameNothing(t *testing.T) {
	t.Parallel()
	s := stage(t)
	evil := []string{"*", ">", "**", "a*", "$JS", "é", "a/b", "a b", "x.y", "x.v1", ".", "..", "\u202e", strings.Repeat("x", 65), "VICTIM", "Victim", "v1%00", "~"}
	senders := s.served(t, everyRole, func(from *sender, subj string) {
		tokens := strings.Split(subj, ".")
		for i := range tokens {
			for _, e := range evil {
				if !s.sampled() {
					continue
				}
				changed := slices.Clone(tokens)
				changed[i] = e
				subj := strings.Join(changed, ".")
				_ = from.nc.PublishMsg(&nats.Msg{Subject: subj, Data: []byte(bodyFor(subj)), Header: nats.Header{connection.HeaderCredential: {from.jwt}}}) // the library refuses some
			}
			up := slices.Clone(tokens)
			up[i] = strings.ToUpper(up[i])
			_ = from.nc.PublishMsg(&nats.Msg{Subject: strings.Join(up, "."), Data: []byte(bodyFor(subj))})
		}
	})
	s.settled(t, senders...)
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, m := range s.writes {
		if _, _, _, ok := subject.ParseLedger(m.Subject); ok {
			continue
		}
		if _, _, ok := subject.ParseLedgerAudit(m.Subject); ok {
			continue
		}
		if _, _, ok := subject.ParseStateEntry(m.Subject); !ok {
			t.Errorf("written to %s", m.Subject)
		}
	}
}

// TestNobodyJoinsTheBrokersQueueGroup tries each endpoint in its own group.
func TestNobodyJoinsTheBrokersQueueGroup(t *testing.T) {
	t.Parallel()
	b := natstest.Start(t, natstest.Options{Memory: true})
	all := endpoints(t, b)
	var tried sample
	for name, role := range roles() {
		if name == "broker" {
			continue
		}
		s := connect(t, b, role)
		for _, e := range all {
			if e.Queue == "" {
				t.Fatalf("%s has no queue group", e.Subject)
			}
			if tried.sampled() && !s.denied(t, "Subscription", e.Subject, func() error {
				_, err := s.nc.QueueSubscribe(e.Subject, e.Queue, func(*nats.Msg) {})
				return err
			}) {
				t.Errorf("%s joins the queue group %s of %s", name, e.Queue, e.Subject)
			}
		}
	}
}

// TestDoubledHeadersAreRefused sends events in binary mode with a duplicate
// header, in the same or another spelling.
func TestDoubledHeadersAreRefused(t *testing.T) {
	t.Parallel()
	s := stage(t)
	agent := connect(t, s.Bus, roles()["agent"])
	const subj = "askv1.acme.s1.ask.d"
	good := nats.Header{"ce-specversion": {"1.0"}, "ce-id": {"e"}, "ce-source": {"/x"}, "ce-type": {cloudevent.TypeAsked}, "ce-subject": {"d"}, "Content-Type": {"application/json"}}
	data := `{"id":"d","questions":[{"id":"q","text":"Delete it all?","kind":"boolean"}]}`
	for name, values := range good {
		if name == "Content-Type" { // it is not an attribute, and the first one counts
			continue
		}
		for how, twice := range map[string]nats.Header{
			"one name":         {name: append(slices.Clone(values), values[0]+"x")},
			"one name, other":  {name: append([]string{"x" + values[0]}, values...)},
			"another spelling": {name: values, strings.ToUpper(name): {values[0] + "x"}},
		} {
			h := maps.Clone(good)
			maps.Copy(h, twice)
			if m := agent.request(t, subj, h, data); m.Header.Get("Nats-Service-Error-Code") != "400" {
				t.Errorf("%s, %s: %q %s", name, how, m.Header, m.Data)
			}
		}
	}
	for how, twice := range map[string]nats.Header{
		"one name": {"Askbus-Wait": {"0s", "10m"}}, "another spelling": {"Askbus-Wait": {"0s"}, "askbus-wait": {"10m"}},
	} {
		h := maps.Clone(good)
		maps.Copy(h, twice)
		if m := agent.request(t, subj, h, data); m.Header.Get("Nats-Service-Error-Code") != "400" {
			t.Errorf("Askbus-Wait, %s: %q %s", how, m.Header, m.Data)
		}
	}
	if m := agent.request(t, subj, good, data); m.Header.Get("Nats-Service-Error-Code") != "" {
		t.Errorf("the control is refused: %s", m.Data)
	}
	s.unharmed(t)
}
