package gateway_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/asking/gateway"
	"github.com/askbus/askbus/internal/asking/gateway/token"
	"github.com/askbus/askbus/internal/bus/state"
	"github.com/askbus/askbus/internal/server/rights"
	"github.com/askbus/askbus/internal/testkit/natstest"
	"github.com/askbus/askbus/pkg/ask"
)

// events is an open stream of server-sent events.
type events struct {
	t    *testing.T
	got  chan event
	stop context.CancelFunc
}

type event struct{ name, id, data string }

// events opens a stream.
func (d *fixture) events(secret, query, last string) *events {
	d.t.Helper()
	ctx, cancel := context.WithCancel(d.t.Context())
	d.t.Cleanup(cancel)
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, d.url+"/v1/events"+query, nil)
	if err != nil {
		d.t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+secret)
	if last != "" {
		r.Header.Set("Last-Event-ID", last)
	}
	res, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		d.t.Fatal(err)
	}
	if res.StatusCode != 200 || res.Header.Get("Content-Type") != "text/event-stream" {
		d.t.Fatalf("%s %s", res.Status, res.Header.Get("Content-Type"))
	}
	s := &events{d.t, make(chan event, 5000), cancel}
	go func() {
		defer close(s.got)
		defer func() { _ = res.Body.Close() }()
		lines, e := bufio.NewScanner(res.Body), event{}
		lines.Buffer(nil, 1<<20)
		for lines.Scan() {
			field, value, _ := strings.Cut(lines.Text(), ": ")
			switch field {
			case "event":
				e.name = value
			case "id":
				e.id = value
			case "data":
				e.data = value
			case "":
				if e.name != "" {
					s.got <- e
				}
				e = event{}
			}
		}
	}()
	return s
}

// until returns the events up to the next of this name; the zero event: the stream ended.
func (s *events) until(name string) (all []event) {
	s.t.Helper()
	for {
		select {
		case e, open := <-s.got:
			if all = append(all, e); e.name == name || !open {
				return all
			}
		case <-time.After(30 * time.Second):
			s.t.Fatalf("no event %s; there were %v", name, all)
		}
	}
}

// of returns the asks of events with this name.
func of(all []event, name string) (ids []string) {
	for _, e := range all {
		var at struct {
			ID string `json:"ask_id"`
		}
		if e.name == name && json.Unmarshal([]byte(e.data), &at) == nil {
			ids = append(ids, at.ID)
		}
	}
	return ids
}

func asking(id string) string {
	return fmt.Sprintf(`{"id":%q,"questions":[{"id":"db","text":"Which database?","options":[{"id":"pg","label":"PostgreSQL"},{"id":"lite","label":"SQLite"}]}]}`, id)
}

func TestAsksAreStreamedAndResumedAtAnotherGateway(t *testing.T) {
	t.Parallel()
	d := open(t, gateway.Options{})
	agent := d.agent("s1")
	d.do(agent, "POST", "/v1/asks", asking("a1")).want(t, 201)
	s := d.events(agent, "", "")
	if all := s.until("synced"); fmt.Sprint(of(all, "ask")) != "[a1]" || all[0].name != "reset" {
		t.Errorf("at first %v", all)
	}
	d.do(agent, "POST", "/v1/asks", asking("a2")).want(t, 201)
	if all := s.until("synced"); fmt.Sprint(of(all, "ask")) != "[a2]" {
		t.Errorf("then %v", all)
	}
	pg := ask.Answer{QuestionID: "db", Selected: []string{"pg"}}
	d.answers(d.key("s1", "a1"), pg)
	all := s.until("synced")
	if fmt.Sprint(of(all, "outcome")) != "[a1]" || !strings.Contains(all[0].data, `"selected":["pg"]`) {
		t.Errorf("then %v", all)
	}
	last := all[len(all)-1].id
	s.stop()

	d.answers(d.key("s1", "a2"), pg)
	d.do(agent, "POST", "/v1/asks", asking("a3")).want(t, 201)
	other := (&fixture{t: t, bus: d.bus, tokens: d.tokens}).run(d.bus.Connect(rights.Role{Name: rights.RoleGateway}), state.CacheOptions{Poll: 50 * time.Millisecond}, gateway.Options{})
	natstest.Eventually(t, "the other gateway knows the token", func() bool {
		res, err := other.try(agent, "GET", "/v1/asks", "")
		return err == nil && res.status == 200
	})
	all = other.events(agent, "", last).until("synced")
	if fmt.Sprint(of(all, "ask"), of(all, "outcome")) != "[a3] [a2]" || all[0].name == "reset" {
		t.Errorf("resumed: %v", all)
	}
	if all = other.events(agent, "?last_event_id=nonsense", "").until("synced"); fmt.Sprint(of(all, "ask"), of(all, "outcome")) != "[a3] []" || all[0].name != "reset" {
		t.Errorf("after an unknown id: %v", all)
	}
}

func TestAStreamHasTheRightsOfItsToken(t *testing.T) {
	t.Parallel()
	d := open(t, gateway.Options{})
	d.do(d.agent("s1"), "POST", "/v1/asks", asking("a1")).want(t, 201)
	d.do(d.agent("s2"), "POST", "/v1/asks", asking("a2")).want(t, 201)
	d.do(d.token(token.Token{Role: token.Agent, Tenant: "umbrella", Sessions: []string{"s1"}}), "POST", "/v1/asks", asking("a3")).want(t, 201)
	for name, c := range map[string]struct{ secret, query, want string }{
		"one session":   {d.agent("s1"), "", "[a1]"},
		"a pattern":     {d.agent("s2*"), "", "[a2]"},
		"a screen":      {d.screen("s2"), "", "[a2]"},
		"a responder":   {d.responder(), "", "[a1 a2]"},
		"and a session": {d.responder(), "?session=s2", "[a2]"},
	} {
		ids := of(d.events(c.secret, c.query, "").until("synced"), "ask")
		if len(ids) == 2 && ids[0] > ids[1] {
			ids[0], ids[1] = ids[1], ids[0]
		}
		if fmt.Sprint(ids) != c.want {
			t.Errorf("%s: %v, want %s", name, ids, c.want)
		}
	}
	d.do(d.agent("s1"), "GET", "/v1/events?session=s2", "").want(t, 403)
	d.do(d.agent("s1"), "GET", "/v1/events?tenant=umbrella", "").want(t, 403)
	d.do("", "GET", "/v1/events", "").want(t, 401)
}

func TestAStreamEndsWithItsTokenAndWithItsGateway(t *testing.T) {
	t.Parallel()
	d := open(t, gateway.Options{})
	id, secret := d.issued(token.Token{Role: token.Agent, Sessions: []string{"s1"}})
	revoked, other := d.events(secret, "", ""), d.events(d.agent("s1"), "", "")
	revoked.until("synced")
	other.until("synced")
	d.revoke(id)
	if all := revoked.until("end"); !strings.Contains(all[len(all)-1].data, "revoked") {
		t.Errorf("it ended with %v", all)
	}
	revoked.until("closed")
	stopped := make(chan struct{})
	go func() { defer close(stopped); d.stop() }()
	if all := other.until("closed"); all[len(all)-1].name != "" {
		t.Errorf("the gateway stopped, and the stream got %v", all)
	}
	<-stopped
}

func TestStreamsLeaveNothing(t *testing.T) { // not parallel: it counts what is left
	d := open(t, gateway.Options{})
	agent := d.agent("s1")
	d.bus.LeavesNothing(t, func(int) error {
		s := d.events(agent, "", "")
		s.until("synced")
		s.stop()
		s.until("closed")
		return nil
	})
}
