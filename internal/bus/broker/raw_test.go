package broker_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/protocol/cloudevent"
	"github.com/askbus/askbus/internal/protocol/subject"
	"github.com/askbus/askbus/internal/protocol/wire"
	"github.com/askbus/askbus/internal/server/rights"
	"github.com/askbus/askbus/internal/testkit/natstest"
	"github.com/askbus/askbus/internal/testkit/waittest"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// plain connects with a credential but without askbus's client.
func plain(t *testing.T, b *natstest.Bus, r rights.Role) *nats.Conn {
	t.Helper()
	return natstest.Plain(t, b.Server, r, nats.CustomInboxPrefix(r.InboxPrefix()))
}

func agent(session string) rights.Role {
	return rights.Role{Name: rights.RoleAgent, Tenant: "acme", Session: session}
}

func surface(typ string) rights.Role { return rights.Role{Name: rights.RoleResponder, Type: typ} }

func operator() rights.Role { return rights.Role{Name: rights.RoleOperator} }

func request(t *testing.T, nc *nats.Conn, subj string, header nats.Header, body string) *nats.Msg {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), waittest.Limit)
	defer cancel()
	reply, err := nc.RequestMsgWithContext(ctx, natstest.Signed(t, nc, &nats.Msg{Subject: subj, Header: header, Data: []byte(body)}))
	if err != nil {
		t.Fatalf("request %s: %v", subj, err)
	}
	return reply
}

// served is a request that is sent again while the ledger does not answer, as clients do.
func served(t *testing.T, nc *nats.Conn, subj, body string) (reply *nats.Msg) {
	t.Helper()
	natstest.Eventually(t, "the ledger answers", func() bool {
		reply = request(t, nc, subj, nil, body)
		return reply.Header.Get("Nats-Service-Error-Code") != "503"
	})
	return reply
}

// event returns a structured event in JSON.
func event(typ, id, data string) string {
	return fmt.Sprintf(`{"specversion":"1.0","id":"e1","source":"/test","type":%q,"subject":%q,"datacontenttype":"application/json","data":%s}`, typ, id, data)
}

func askData(id string) string {
	return fmt.Sprintf(`{"id":%q,"questions":[{"id":"db","text":"Which database?","options":[{"id":"pg","label":"PostgreSQL"},{"id":"lite","label":"SQLite"}]}]}`, id)
}

const by = `{"principal":"os:mei","name":"Mei"}`

func answerData(id, answerID, option string) string {
	return fmt.Sprintf(`{"ask_id":%q,"answer_id":%q,"answers":[{"question_id":"db","selected":[%q]}],"by":%s}`, id, answerID, option, by)
}

func askSubject(session, id string) string { return "askv1.acme." + session + ".ask." + id }

func answerSubject(typ, session, id string) string {
	return "ansv1." + typ + ".acme." + session + ".answer." + id
}

// asked stores an ask by a plain request.
func asked(t *testing.T, nc *nats.Conn, session, id string) {
	t.Helper()
	m := request(t, nc, askSubject(session, id), nil, event(cloudevent.TypeAsked, id, askData(id)))
	if code := m.Header.Get("Nats-Service-Error-Code"); code != "" {
		t.Fatalf("ask %s: %s %s", id, code, m.Data)
	}
}

// problem reads a refusal; the service error and its body must agree.
func problem(t *testing.T, m *nats.Msg) *ask.Error {
	t.Helper()
	code := m.Header.Get("Nats-Service-Error-Code")
	e := wire.DecodeProblem(m.Data)
	if code == "" || e == nil || fmt.Sprint(wire.HTTPStatus(e.Code)) != code {
		t.Fatalf("no refusal, code %q: %s", code, m.Data)
	}
	if ct := m.Header.Get("Content-Type"); ct != "application/problem+json" {
		t.Errorf("a problem has content type %q", ct)
	}
	if m.Header.Get("Nats-Service-Error") != strings.Join(strings.Fields(e.Detail), " ") || http.StatusText(wire.HTTPStatus(e.Code)) == "" || e.Code == "" {
		t.Errorf("a problem says %q, its header %q", e, m.Header.Get("Nats-Service-Error"))
	}
	return e
}

// data reads the event of a reply: its type and data.
func data(t *testing.T, m *nats.Msg) (typ string, fields map[string]any) {
	t.Helper()
	ev, _, err := cloudevent.FromReply(m)
	if err != nil {
		t.Fatalf("the reply is not an event: %v\n%s", err, m.Data)
	}
	if err := json.Unmarshal(ev.Data(), &fields); err != nil {
		t.Fatal(err)
	}
	return ev.Type(), fields
}

// stored counts the messages of every stream but the audit, which is written
// asynchronously.
func stored(t *testing.T, b *natstest.Bus) map[string]uint64 {
	t.Helper()
	js, err := jetstream.New(b.LedgerAdmin())
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]uint64{}
	list := js.ListStreams(t.Context())
	for info := range list.Info() {
		if info.Config.Name != subject.AuditStream {
			all[info.Config.Name] = info.State.LastSeq
		}
	}
	if list.Err() != nil || len(all) == 0 {
		t.Fatalf("streams %v, %v", all, list.Err())
	}
	return all
}

func TestAPlainClientAsksAndReceivesTheOutcomeInBothModes(t *testing.T) {
	t.Parallel()
	b := natstest.Start(t, natstest.Options{})
	nc, web := plain(t, b, agent("s1")), plain(t, b, surface("web"))
	binary := nats.Header{
		"ce-specversion": {"1.0"}, "CE-Id": {"e-1"}, "Ce-Source": {"/plain"}, "ce-TYPE": {cloudevent.TypeAsked},
		"ce-subject": {"binary"}, "content-type": {"application/json"}, "ce-traceparent": {"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"},
	}
	for _, v := range []struct {
		id, body string
		header   nats.Header
		binary   bool
	}{
		{"structured", event(cloudevent.TypeAsked, "structured", askData("structured")), nats.Header{"Content-Type": {"application/cloudevents+json; charset=utf-8"}}, false},
		{"bare", event(cloudevent.TypeAsked, "bare", askData("bare")), nil, false},
		{"binary", askData("binary"), binary, true},
	} {
		t.Run(v.id, func(t *testing.T) {
			t.Parallel()
			header := maps.Clone(v.header)
			if header == nil {
				header = nats.Header{}
			}
			header["askbus-wait"] = []string{"5m"}
			reply := make(chan *nats.Msg, 1)
			go func() {
				reply <- request(t, nc, askSubject("s1", v.id), header, v.body)
			}()
			// Until the ask is stored the reply is 404: retry.
			var won *nats.Msg
			for won == nil {
				m := request(t, web, answerSubject("web", "s1", v.id), nil, event(cloudevent.TypeAnswered, v.id, answerData(v.id, "w1", "pg")))
				if m.Header.Get("Nats-Service-Error-Code") != "404" {
					won = m
				}
			}
			m := <-reply
			typ, o := data(t, m)
			if typ != cloudevent.TypeResolved || o["status"] != "answered" || o["answer_id"] != "w1" || o["ask_id"] != v.id {
				t.Errorf("%s %v", typ, o)
			}
			if got := m.Header.Get("ce-type") != ""; got != v.binary {
				t.Errorf("the reply does not mirror the request's mode: %v", m.Header)
			}
			ev, _, _ := cloudevent.FromReply(m)
			if v.binary && (!strings.HasPrefix(ev.ID(), "acme/s1/"+v.id+"/") || ev.Extensions()["traceparent"] != binary["ce-traceparent"][0]) {
				t.Errorf("event %s", ev)
			}
			if ev.Extensions()["authid"] != "os:mei" || ev.Subject() != v.id || ev.Source() != "/askbus/responder/web" {
				t.Errorf("event %s", ev)
			}
		})
	}
}

func TestAskbusWaitEndsWithTheStatus(t *testing.T) {
	t.Parallel()
	b := natstest.Start(t, natstest.Options{})
	nc := plain(t, b, agent("s1"))
	body := event(cloudevent.TypeAsked, "a1", askData("a1"))
	for _, wait := range []string{"0s", "1ms", "30ms"} {
		typ, s := data(t, request(t, nc, askSubject("s1", "a1"), nats.Header{"Askbus-Wait": {wait}}, body))
		if typ != cloudevent.TypeStatus || s["state"] != "pending" || s["ask_id"] != "a1" {
			t.Errorf("ask with %s: %s %v", wait, typ, s)
		}
		typ, s = data(t, request(t, nc, "askv1.acme.s1.wait.a1", nats.Header{"Askbus-Wait": {wait}}, ""))
		if typ != cloudevent.TypeStatus || s["state"] != "pending" || s["retry"] != "wait" || s["hold"] != "30s" {
			t.Errorf("wait with %s: %s %v", wait, typ, s)
		}
		holder, _ := s["holder"].(string)
		if m := request(t, nc, subject.Alive("acme", "s1", holder), nil, ""); len(m.Data) != 0 || len(m.Header) != 0 {
			t.Errorf("%s says that it runs with %q", holder, m.Data)
		}
		if _, err := nc.Request(subject.Alive("acme", "s1", "gone"), nil, time.Second); !errors.Is(err, nats.ErrNoResponders) {
			t.Errorf("a broker that is gone: %v", err)
		}
	}
	for _, wait := range []string{"soon", "-1s", "5", ""} {
		if e := problem(t, request(t, nc, askSubject("s1", "a2"), nats.Header{"Askbus-Wait": {wait}}, event(cloudevent.TypeAsked, "a2", askData("a2")))); wire.HTTPStatus(e.Code) != 400 {
			t.Errorf("ask with %q: %v", wait, e)
		}
	}
	if e := problem(t, request(t, nc, "askv1.acme.s1.get.a2", nil, "")); wire.HTTPStatus(e.Code) != 404 {
		t.Errorf("something was stored: %v", e)
	}
	// A hold longer than the maximum of ten minutes is held all the same.
	reply := make(chan *nats.Msg, 1)
	go func() {
		reply <- request(t, nc, "askv1.acme.s1.wait.a1", nats.Header{"Askbus-Wait": {"9999h"}}, "")
	}()
	request(t, nc, "askv1.acme.s1.withdraw.a1", nil, event(cloudevent.TypeWithdrawn, "a1", `{"ask_id":"a1"}`))
	if typ, o := data(t, <-reply); typ != cloudevent.TypeResolved || o["status"] != "withdrawn" {
		t.Errorf("%s %v", typ, o)
	}
}

func TestADrainingBrokerAnswersHeldRequestsWithTheStatus(t *testing.T) {
	t.Parallel()
	b := natstest.Start(t, natstest.Options{NoBroker: true})
	stop := b.Broker(brokerOptions())
	nc := plain(t, b, agent("s1"))
	const n = 20
	replies := make(chan *nats.Msg, n)
	for i := range n {
		id := fmt.Sprintf("a%d", i)
		asked(t, nc, "s1", id)
		go func() {
			replies <- request(t, nc, "askv1.acme.s1.wait."+id, nats.Header{"Askbus-Wait": {"10m"}}, "")
		}()
	}
	heldAtLeast(t, b, n)
	stop()
	for range n {
		if typ, s := data(t, <-replies); typ != cloudevent.TypeStatus || s["state"] != "pending" {
			t.Errorf("%s %v", typ, s)
		}
	}
}

// heldAtLeast waits until the brokers report that they hold this many requests.
func heldAtLeast(t *testing.T, b *natstest.Bus, n int) {
	t.Helper()
	op := plain(t, b, operator())
	for {
		var stats struct {
			Endpoints []struct {
				Data struct {
					Held int `json:"held"`
				} `json:"data"`
			} `json:"endpoints"`
		}
		m := request(t, op, "$SRV.STATS.askbus", nil, "")
		if err := json.Unmarshal(m.Data, &stats); err != nil {
			t.Fatal(err)
		}
		if len(stats.Endpoints) > 0 && stats.Endpoints[0].Data.Held >= n {
			return
		}
		if t.Context().Err() != nil {
			t.Fatal("requests are not held")
		}
	}
}

func TestTheServiceIsFoundByDiscovery(t *testing.T) {
	t.Parallel()
	b := natstest.Start(t, natstest.Options{})
	op := plain(t, b, operator())
	if m := request(t, op, "$SRV.PING", nil, ""); !strings.Contains(string(m.Data), `"name":"askbus"`) {
		t.Errorf("ping: %s", m.Data)
	}
	m := request(t, op, "$SRV.INFO.askbus", nil, "")
	for _, want := range []string{`"askv1.*.*.ask.*"`, `"ansv1.gateway.*.*.*.ask.*"`, `"ansv1.*.*.*.*.answer.*"`, `"ansv1.*.*.next"`, `"hostv1.*.*.*.answer.*"`, `"admv1.*.*.abort.*"`} {
		if !strings.Contains(string(m.Data), want) {
			t.Errorf("the service does not name %s: %s", want, m.Data)
		}
	}
}
