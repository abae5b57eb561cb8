package webhooks_test

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/answering/webhooks"
	"github.com/askbus/askbus/internal/bus/state"
	"github.com/askbus/askbus/internal/server/rights"
	"github.com/askbus/askbus/internal/testkit/natstest"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/client"
	"github.com/askbus/askbus/pkg/responder"
	"github.com/nats-io/nats.go"
)

const secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"

// world is a bus, a receiver with several paths, and replicas of the surface.
type world struct {
	t      *testing.T
	bus    *natstest.Bus
	srv    *httptest.Server
	dir    string
	client *client.Client
	asks   client.Session
	got    chan call
	apps   []*webhooks.App

	operator *nats.Conn
	bucket   *state.Bucket

	mu     sync.Mutex
	says   map[string]http.HandlerFunc // by path; default: 200
	ahead  time.Duration               // of the replicas' clock
	failed []webhooks.Failure
}

// call is a verified request.
type call struct {
	path, id string
	header   http.Header
	body     []byte
	message
}

type message struct {
	Type string          `json:"type"`
	Data json.RawMessage `json:"data"`
}

func (c *call) outcome(t *testing.T) (o ask.Outcome) {
	t.Helper()
	if err := json.Unmarshal(c.Data, &o); err != nil {
		t.Fatal(err)
	}
	return o
}

func newWorld(t *testing.T, opts natstest.Options) *world {
	t.Helper()
	w := &world{t: t, bus: natstest.Start(t, opts), dir: t.TempDir(), got: make(chan call, 10_000), says: map[string]http.HandlerFunc{}}
	w.operator = w.bus.Connect(rights.Role{Name: rights.RoleOperator})
	w.bucket = state.Open(w.operator, state.Operator(), state.Deliveries)
	w.srv = httptest.NewServer(http.HandlerFunc(w.receive))
	t.Cleanup(w.srv.Close)
	c, err := client.New(w.bus.Connect(rights.Role{Name: rights.RoleAgent, Tenant: "acme"}), client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	w.client, w.asks = c, c.Session("acme", "s1")
	w.write("secret", secret)
	return w
}

func (w *world) write(name, text string) {
	w.t.Helper()
	if err := os.WriteFile(filepath.Join(w.dir, name), []byte(text), 0o600); err != nil {
		w.t.Fatal(err)
	}
}

// receive verifies a request as any receiver does, with code that is not the sender's.
func (w *world) receive(rw http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the sender was killed
	}
	id, at := r.Header.Get("Webhook-Id"), r.Header.Get("Webhook-Timestamp")
	key, _ := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, "whsec_"))
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(id + "." + at + "."))
	mac.Write(body)
	if want := "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil)); r.Header.Get("Webhook-Signature") != want {
		w.t.Errorf("the signature is %q, want %q", r.Header.Get("Webhook-Signature"), want)
	}
	c := call{path: r.URL.Path, id: id, header: r.Header, body: body}
	if err := json.Unmarshal(body, &c.message); err != nil {
		w.t.Error(err)
	}
	w.got <- c
	w.mu.Lock()
	h := w.says[r.URL.Path]
	w.mu.Unlock()
	if h != nil {
		h(rw, r)
	}
}

func status(n int) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(n) }
}

func (w *world) say(path string, h http.HandlerFunc) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.says[path] = h
}

// pass moves the clock of the replicas.
func (w *world) pass(d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ahead += d
}

// passNext moves it to the next attempt of each delivery that waits. A clock that moves while one is sent
// lets its claim lapse.
func (w *world) passNext() {
	w.t.Helper()
	for _, e := range w.entries() {
		var d struct {
			Next  time.Time `json:"next"`
			Claim string    `json:"claim"`
		}
		if err := json.Unmarshal(e.Value, &d); err != nil {
			w.t.Fatal(err)
		}
		if wait := d.Next.Sub(w.now()); wait > 0 && d.Claim == "" {
			w.pass(wait)
		}
	}
}

func (w *world) now() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return time.Now().Add(w.ahead)
}

func (w *world) failures() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.failed)
}

// entry is an entry of a file.
func (w *world) entry(name string) string {
	return fmt.Sprintf("  - { name: %s, tenant: acme, url: %s/%s, secret_file: secret, allow_private: true }\n", name, w.srv.URL, name)
}

// replica runs the surface with a file until stop, and returns when every callback of it is
// registered.
func (w *world) replica(file string) (stop func()) {
	w.t.Helper()
	stop = w.start(w.bus.Responder(webhooks.Type), file)
	names := state.Open(w.operator, state.Operator(), state.Callbacks)
	f, err := webhooks.ParseFile([]byte(file), w.dir, nil)
	if err != nil {
		w.t.Fatal(err)
	}
	natstest.Eventually(w.t, "the callbacks are registered", func() bool {
		all, err := names.List(w.t.Context())
		return err == nil && len(all) == len(f.Callbacks)
	})
	return stop
}

func (w *world) start(nc *nats.Conn, file string) (stop func()) {
	w.t.Helper()
	w.write("webhooks.yaml", file)
	app, err := webhooks.New(nc, webhooks.Options{
		File: filepath.Join(w.dir, "webhooks.yaml"), BaseURL: "https://bus.example.com/", Now: w.now, Look: 5 * time.Millisecond, Logger: natstest.Logger(),
		Failed: func(f webhooks.Failure) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.failed = append(w.failed, f)
		},
	})
	if err != nil {
		w.t.Fatal(err)
	}
	w.apps = append(w.apps, app)
	ctx, cancel := context.WithCancel(context.WithoutCancel(w.t.Context()))
	done := make(chan error, 1)
	go func() { done <- app.Run(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil && !nc.IsClosed() {
			w.t.Error(err)
		}
	})
	w.t.Cleanup(stop)
	return stop
}

func (w *world) ask(id, callback string) ask.Key {
	w.t.Helper()
	a := database(id)
	a.Callback = callback
	return w.put(a)
}

func (w *world) put(a ask.Ask) ask.Key {
	w.t.Helper()
	st, err := w.asks.Ask(w.t.Context(), a)
	if err != nil {
		w.t.Fatal(err)
	}
	return ask.Key{Tenant: "acme", Session: "s1", ID: st.ID}
}

func (w *world) answer(k ask.Key) {
	w.t.Helper()
	r, err := responder.New(w.bus.Responder("web"), "web", responder.Options{})
	if err != nil {
		w.t.Fatal(err)
	}
	if _, err := r.Answer(w.t.Context(), k, ask.Reply{By: ask.By{Principal: "oidc:mei", Name: "Mei", Proof: "oidc"}, Answers: []ask.Answer{{QuestionID: "db", Selected: []string{"pg"}}}}); err != nil {
		w.t.Fatal(err)
	}
}

// next returns the next verified request.
func (w *world) next() call {
	w.t.Helper()
	select {
	case c := <-w.got:
		return c
	case <-time.After(30 * time.Second):
		w.t.Fatal("nothing was sent")
	}
	panic("unreachable")
}

// nothingLeft waits until the bucket has no delivery any more.
func (w *world) nothingLeft() {
	w.t.Helper()
	natstest.Eventually(w.t, "no delivery waits", func() bool { return len(w.waiting()) == 0 })
}

// entries returns the entries of the bucket.
func (w *world) entries() []state.Entry {
	w.t.Helper()
	all, err := w.bucket.List(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	return all
}

// waiting returns the keys of the bucket.
func (w *world) waiting() (names []string) {
	w.t.Helper()
	for _, e := range w.entries() {
		names = append(names, e.Key.Name)
	}
	return names
}

// post sends an answer to an answer address, as a receiver does.
func (w *world) post(app *webhooks.App, url, body string) (int, string) {
	w.t.Helper()
	rec := httptest.NewRecorder()
	r := httptest.NewRequestWithContext(w.t.Context(), http.MethodPost, strings.TrimPrefix(url, "https://bus.example.com"), bytes.NewReader([]byte(body)))
	app.Handler().ServeHTTP(rec, r)
	return rec.Code, rec.Body.String()
}

func database(id string) ask.Ask {
	return ask.Ask{ID: id, Questions: []ask.Question{{ID: "db", Text: "Which database?", Options: []ask.Option{{ID: "pg", Label: "PostgreSQL"}, {ID: "lite", Label: "SQLite"}}}}}
}
