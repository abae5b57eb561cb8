package bench_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/lab/bench"
	"github.com/askbus/askbus/internal/server/rights"
	"github.com/askbus/askbus/internal/testkit/natstest"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/responder"
	"github.com/nats-io/nats.go"
)

// inbox replaces the web inbox: the test sets its responses to answers.
type inbox struct {
	answer *responder.Responder
	says   func(stored bool) int
	stores bool
}

// RoundTrip implements [http.RoundTripper].
func (i inbox) RoundTrip(req *http.Request) (*http.Response, error) {
	status := http.StatusSeeOther
	if req.Method == http.MethodPost {
		body, err := io.ReadAll(req.Body)
		if err != nil {
			return nil, err
		}
		form, err := url.ParseQuery(string(body))
		if err != nil {
			return nil, err
		}
		parts := strings.Split(req.URL.Path, "/") // /ask/tenant/session/id/answer
		stored := false
		if i.stores {
			_, err = i.answer.Answer(req.Context(), ask.Key{Tenant: parts[2], Session: parts[3], ID: parts[4]}, ask.Reply{
				AnswerID: form.Get("answer_id"), Answers: []ask.Answer{{QuestionID: "go", Selected: []string{"yes"}}}, By: ask.By{Principal: "os:mei", Proof: ask.ProofOS},
			})
			if err != nil && !errors.Is(err, ask.ErrResolved) {
				return nil, err
			}
			stored = err == nil
		}
		status = i.says(stored)
	}
	return &http.Response{StatusCode: status, Body: http.NoBody, Header: http.Header{}, Request: req}, nil
}

func TestADrillAccountsForEveryAsk(t *testing.T) {
	t.Parallel()
	b := natstest.Start(t, natstest.Options{})
	r, err := responder.New(b.Responder("web"), "web", responder.Options{})
	if err != nil {
		t.Fatal(err)
	}
	honest := func(stored bool) int {
		if stored {
			return http.StatusSeeOther
		}
		return http.StatusConflict
	}
	agrees := func(bool) int { return http.StatusSeeOther }
	for name, c := range map[string]struct {
		inbox         inbox
		settle        time.Duration // what is lost is waited for to its end
		lost, doubled bool
		late          bool
	}{
		"an inbox that tells the truth":     {inbox{r, honest, true}, time.Minute, false, false, false},
		"one that accepts every answer":     {inbox{r, agrees, true}, time.Minute, false, true, false},
		"one that accepts and does nothing": {inbox{r, agrees, false}, time.Second, true, true, false},
		"one that nobody may answer in":     {inbox{r, func(bool) int { return http.StatusForbidden }, false}, time.Second, true, false, true},
		"one that is away":                  {inbox{r, func(bool) int { return http.StatusServiceUnavailable }, false}, time.Second, false, false, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var d bench.Drill
			as := func() bool {
				return d.Asks > 0 && d.Lost > 0 == c.lost && d.Doubled > 0 == c.doubled && d.Late > 0 == c.late && d.Failed() == (c.lost || c.doubled || c.late)
			}
			// On a busy machine some people have not read their ask within a second. They get longer; what
			// the inbox does wrong stays wrong.
			for settle := c.settle; settle <= time.Minute && !as(); settle *= 4 {
				var err error
				if d, err = bench.MeasureDrill(t.Context(), bench.DrillOptions{
					Rate: 100, For: 200 * time.Millisecond, Sessions: 2, Tenant: "acme", Settle: settle, People: 2, Inbox: c.inbox,
					Dial: func(role rights.Role) (*nats.Conn, error) { return b.Connect(role), nil },
					Link: func(int) (string, error) { return "http://inbox/login?t=x", nil },
				}); err != nil {
					t.Fatal(err)
				}
			}
			if !as() {
				t.Errorf("%+v", d)
			}
			var said strings.Builder
			if err := d.Write(&said); err != nil || strings.Contains(said.String(), "FAILED") != d.Failed() {
				t.Errorf("%v\n%s", err, said.String())
			}
		})
	}
}

// Clients that repeat nothing count what they are told, and a connection that nobody takes apart from it.
func TestPlainClientsCountEachRequest(t *testing.T) {
	t.Parallel()
	b := natstest.Start(t, natstest.Options{})
	r, err := responder.New(b.Responder("web"), "web", responder.Options{})
	if err != nil {
		t.Fatal(err)
	}
	stopped := false
	var mu sync.Mutex
	stopping := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		if stopped = !stopped; stopped {
			http.Error(w, "stopping", http.StatusServiceUnavailable)
			return
		}
		w.WriteHeader(http.StatusCreated)
	}))
	defer stopping.Close()
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	for at, want := range map[string]func(bench.Plain) bool{
		stopping.URL: func(p bench.Plain) bool {
			return p.Failed > 0 && p.Why["POST "+stopping.Listener.Addr().String()+": 503 stopping\n"] > 0
		},
		gone.URL: func(p bench.Plain) bool { return p.Failed == 0 && p.Refused > 0 },
	} {
		d, err := bench.MeasureDrill(t.Context(), bench.DrillOptions{
			Rate: 20, For: time.Second, Sessions: 1, Tenant: "acme", People: 1, Plain: 1, Gateway: at, Settle: time.Minute,
			Inbox: inbox{r, func(bool) int { return http.StatusSeeOther }, true}, NewTransport: func() *http.Transport { return &http.Transport{} },
			Token: func(context.Context) (string, error) { return "askb_x", nil },
			Dial:  func(role rights.Role) (*nats.Conn, error) { return b.Connect(role), nil },
			Link:  func(int) (string, error) { return gone.URL + "/login?t=x", nil },
		})
		if err != nil {
			t.Fatal(err)
		}
		if !want(d.Plain) || d.Plain.Failed > 0 && !d.Failed() {
			t.Errorf("%s: %s", at, d.Plain)
		}
	}
}
