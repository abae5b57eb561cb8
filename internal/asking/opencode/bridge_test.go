package opencode_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/asking/opencode"
	"github.com/askbus/askbus/internal/testkit/natstest"
	"github.com/askbus/askbus/internal/testkit/waittest"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/board"
)

// recorded returns a body that opencode 1.18.33 sent: see testdata/README.md.
func recorded(t testing.TB, name string) string {
	t.Helper()
	data, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// occurred returns the first recorded event of a type that has a text in it.
func occurred(t testing.TB, typ, with string) string {
	t.Helper()
	for line := range strings.Lines(recorded(t, "events.txt")) {
		if strings.Contains(line, `"type":"`+typ+`"`) && strings.Contains(line, with) {
			return line
		}
	}
	t.Fatalf("no event %s with %q is recorded", typ, with)
	return ""
}

// fake is a server of opencode that says what was recorded.
type fake struct {
	*httptest.Server
	t testing.TB

	mu       sync.Mutex
	bodies   map[string]string // by path
	password string
	streams  map[chan string]bool

	decisions chan decision
	followed  chan struct{}
}

// decision is what a bridge sent.
type decision struct{ path, query, body string }

func newFake(t testing.TB) *fake {
	t.Helper()
	f := &fake{t: t, bodies: map[string]string{}, streams: map[chan string]bool{}, decisions: make(chan decision, 100), followed: make(chan struct{}, 100)}
	f.set("/path", recorded(t, "path.json"))
	f.empty()
	for _, name := range []string{"bash", "edit"} {
		var m struct {
			Info struct {
				ID        string `json:"id"`
				SessionID string `json:"sessionID"`
			} `json:"info"`
		}
		body := recorded(t, "message-"+name+".json")
		if err := json.Unmarshal([]byte(body), &m); err != nil {
			t.Fatal(err)
		}
		f.set("/session/"+m.Info.SessionID+"/message/"+m.Info.ID, body)
	}
	var v2 struct {
		Data []struct {
			SessionID string `json:"sessionID"`
			Source    struct {
				MessageID string `json:"messageID"`
			} `json:"source"`
		} `json:"data"`
	}
	if err := json.Unmarshal([]byte(recorded(t, "api-permission.json")), &v2); err != nil {
		t.Fatal(err)
	}
	f.set("/api/session/"+v2.Data[0].SessionID+"/message/"+v2.Data[0].Source.MessageID, recorded(t, "api-message.json"))
	f.Server = httptest.NewServer(f)
	t.Cleanup(f.Close)
	t.Cleanup(f.CloseClientConnections)
	return f
}

// empty is a server that has nothing pending.
func (f *fake) empty() {
	for _, path := range []string{"/question", "/permission"} {
		f.set(path, "[]")
		f.set("/api"+path+"/request", `{"data":[]}`)
	}
	f.set("/session/status", recorded(f.t, "status.json"))
	f.set("/api/session/active", recorded(f.t, "api-active.json"))
}

func (f *fake) set(path, body string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.bodies[path] = body
}

// say sends an event to every bridge.
func (f *fake) say(event string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for stream := range f.streams {
		stream <- event
	}
}

// cut ends every stream of events.
func (f *fake) cut() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for stream := range f.streams {
		close(stream)
		delete(f.streams, stream)
	}
}

func (f *fake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	body, known := f.bodies[r.URL.Path]
	_, password, _ := r.BasicAuth()
	refused := password != f.password
	f.mu.Unlock()
	switch {
	case refused:
		w.WriteHeader(http.StatusUnauthorized)
	case r.URL.Path == "/global/event":
		f.stream(w, r)
	case r.Method == http.MethodPost:
		sent, _ := io.ReadAll(r.Body)
		f.decisions <- decision{r.URL.Path, r.URL.RawQuery, string(sent)}
		switch {
		case known && body == "": // the request is gone
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusNotFound)
			_, _ = io.WriteString(w, recorded(f.t, "not-found.json"))
		case strings.HasPrefix(r.URL.Path, "/api/"):
			w.WriteHeader(http.StatusNoContent)
		default:
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, "true")
		}
	case !known: // as opencode: its page
		w.Header().Set("Content-Type", "text/html")
		_, _ = io.WriteString(w, "<!doctype html>")
	default:
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, body)
	}
}

func (f *fake) stream(w http.ResponseWriter, r *http.Request) {
	events := make(chan string, 100)
	w.Header().Set("Content-Type", "text/event-stream")
	_, _ = io.WriteString(w, occurred(f.t, "server.connected", "")+"\n")
	_ = http.NewResponseController(w).Flush()
	f.mu.Lock()
	f.streams[events] = true
	f.mu.Unlock()
	defer func() { f.mu.Lock(); delete(f.streams, events); f.mu.Unlock() }()
	for {
		select {
		case event, open := <-events:
			if !open {
				return
			}
			_, _ = io.WriteString(w, event+"\n")
			_ = http.NewResponseController(w).Flush()
		case <-r.Context().Done():
			return
		}
	}
}

// next returns the next decision that a bridge sends.
func (f *fake) next() decision {
	f.t.Helper()
	return receive(f.t, f.decisions, "a decision")
}

func receive[T any](t testing.TB, from <-chan T, what string) T {
	t.Helper()
	select {
	case v := <-from:
		return v
	case <-time.After(waittest.Limit):
		t.Fatal("never: " + what)
		panic("unreachable")
	}
}

// running is a bridge.
type running struct {
	t         testing.TB
	stop      context.CancelFunc
	done      chan error
	following chan struct{}
	finish    sync.Once
}

// stand starts a bridge that follows a server.
func stand(t testing.TB, bus *natstest.Bus, f *fake, change ...func(*opencode.Server, *opencode.Caller, *opencode.Options)) *running {
	t.Helper()
	r := begin(t, bus, f, change...)
	receive(t, r.following, "the bridge follows the server")
	return r
}

func begin(t testing.TB, bus *natstest.Bus, f *fake, change ...func(*opencode.Server, *opencode.Caller, *opencode.Options)) *running {
	t.Helper()
	base, err := opencode.ParseURL(f.URL)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	r := &running{t: t, stop: stop, done: make(chan error, 1), following: make(chan struct{}, 100)}
	server := &opencode.Server{Base: base, User: "opencode"}
	who := opencode.Caller{Tenant: "acme", Session: func(string) string { return "s-1" }}
	opts := opencode.Options{Logger: natstest.Logger(), Retry: time.Millisecond, Following: func() { r.following <- struct{}{} }}
	for _, c := range change {
		c(server, &who, &opts)
	}
	open := natstest.Opener{Conn: bus.Agent("acme", "s-1")}
	go func() { r.done <- opencode.Run(ctx, server, open, who, opts) }()
	t.Cleanup(func() { r.end() })
	return r
}

// end stops the bridge as SIGTERM does, and waits for its end.
func (r *running) end() {
	r.finish.Do(func() {
		r.stop()
		if err := receive(r.t, r.done, "the bridge ends"); err != nil {
			r.t.Error(err)
		}
	})
}

func lasting(_ *opencode.Server, who *opencode.Caller, _ *opencode.Options) {
	who.MinProof = ask.ProofOS
}

var mei = ask.By{Principal: "os:mei", Proof: ask.ProofOS}

func answer(t testing.TB, s *natstest.Screen, rec ask.Record, given ask.Answer) {
	t.Helper()
	given.QuestionID = rec.Ask.Questions[0].ID
	if _, err := s.Answer(t.Context(), rec.Ask.Key(), ask.Reply{By: mei, Answers: []ask.Answer{given}}); err != nil {
		t.Error(err)
	}
}

func only(t testing.TB, list string, n int, wrapped bool) string {
	t.Helper()
	var outer struct {
		Data []json.RawMessage `json:"data"`
	}
	var all []json.RawMessage
	if err := json.Unmarshal([]byte(list), &all); err != nil && !wrapped {
		t.Fatal(err)
	}
	if wrapped {
		if err := json.Unmarshal([]byte(list), &outer); err != nil {
			t.Fatal(err)
		}
		return `{"data":[` + string(outer.Data[n]) + `]}`
	}
	return "[" + string(all[n]) + "]"
}

func TestAQuestionIsAnsweredElsewhere(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ path, file, typ, reply string }{
		{"/question", "question.json", "question.asked", "/question/que_20bcdb1c7001nudZNk3SvjmTv6/reply?directory=%2Fhome%2Fdev%2Fproject"},
		{"/api/question/request", "api-question.json", "question.v2.asked", "/api/session/ses_df4322c2affecvjGIAHeVlgXQy/question/que_20bcdd706001bHGeA6Xe2wIW8Q/reply?"},
	} {
		bus := natstest.Start(t, natstest.Options{})
		screen, f := bus.Screen(), newFake(t)
		stand(t, bus, f)
		f.set(c.path, recorded(t, c.file))
		f.say(occurred(t, c.typ, ""))
		rec := screen.Next(board.Pending)
		if q := rec.Ask.Questions[0]; q.Text != "Which database?" || len(q.Options) != 2 || !rec.Ask.WhileWaiting || rec.Ask.Permits() || rec.Ask.Agent.Name != "opencode" {
			t.Fatalf("the card: %+v", rec.Ask)
		}
		answer(t, screen, rec, ask.Answer{Selected: []string{rec.Ask.Questions[0].Options[1].ID}})
		if got := f.next(); got.path+"?"+got.query != c.reply || got.body != `{"answers":[["Postgres, 17"]]}` {
			t.Errorf("opencode is sent %+v, not %s", got, c.reply)
		}
	}
}

func TestADeclinedQuestionIsRejected(t *testing.T) {
	t.Parallel()
	bus := natstest.Start(t, natstest.Options{})
	screen, f := bus.Screen(), newFake(t)
	f.set("/question", recorded(t, "question.json"))
	stand(t, bus, f)
	rec := screen.Next(board.Pending)
	if _, err := bus.Dialog("web").Decline(t.Context(), rec.Ask.Key(), ask.Reply{By: mei}, "not now"); err != nil {
		t.Fatal(err)
	}
	if got := f.next(); !strings.HasSuffix(got.path, "/reject") || got.body != "" {
		t.Errorf("opencode is sent %+v", got)
	}
}

func TestAPermissionIsDecidedElsewhere(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		path, list string
		change     func(*opencode.Server, *opencode.Caller, *opencode.Options)
		shows      []string
		options    string
		given      ask.Answer
		body       string
	}{
		"once":             {"/permission", only(t, recorded(t, "permission.json"), 0, false), nil, []string{"run this command", "npm view ./none > out.txt", "/home/dev/project"}, "allow refuse stop", ask.Answer{Selected: []string{"allow"}}, `{"reply":"once"}`},
		"refused":          {"/permission", only(t, recorded(t, "permission.json"), 0, false), nil, nil, "allow refuse stop", ask.Answer{Selected: []string{"refuse"}, Notes: "use \"yarn\""}, `{"reply":"reject","message":"use \"yarn\""}`},
		"stopped":          {"/permission", only(t, recorded(t, "permission.json"), 0, false), nil, nil, "allow refuse stop", ask.Answer{Selected: []string{"stop"}}, `{"reply":"reject"}`},
		"always":           {"/permission", only(t, recorded(t, "permission.json"), 0, false), lasting, []string{"bash(npm view ./none *)"}, "allow scope-0 refuse stop", ask.Answer{Selected: []string{"scope-0"}}, `{"reply":"always"}`},
		"an edit":          {"/permission", only(t, recorded(t, "permission.json"), 1, false), nil, []string{"edit `/home/dev/project/f.txt`", "-two\n+three"}, "allow refuse stop", ask.Answer{Selected: []string{"allow"}}, `{"reply":"once"}`},
		"of the newer API": {"/api/permission/request", only(t, recorded(t, "api-permission.json"), 0, true), nil, []string{"run this command", "npm view ./none > out.txt"}, "allow refuse stop", ask.Answer{Selected: []string{"allow"}}, `{"reply":"once"}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bus := natstest.Start(t, natstest.Options{})
			screen, f := bus.Screen(), newFake(t)
			f.set(c.path, c.list)
			if c.change == nil {
				c.change = func(*opencode.Server, *opencode.Caller, *opencode.Options) {}
			}
			stand(t, bus, f, c.change)
			rec := screen.Next(board.Pending)
			q := rec.Ask.Questions[0]
			var ids, labels []string
			for _, o := range q.Options {
				ids, labels = append(ids, o.ID), append(labels, o.Label)
			}
			card := q.Text + "\n" + rec.Ask.Context + "\n" + strings.Join(labels, "\n")
			for _, want := range c.shows {
				if !strings.Contains(card, want) {
					t.Errorf("no %q in\n%s", want, card)
				}
			}
			if got := strings.Join(ids, " "); got != c.options || !rec.Ask.Permits() {
				t.Errorf("offers %s, not %s; a permission: %v", got, c.options, rec.Ask.Permits())
			}
			answer(t, screen, rec, c.given)
			if got := f.next(); got.body != c.body {
				t.Errorf("opencode is sent %+v", got)
			}
		})
	}
}

// What opencode does not say of a call is asked with what it says; nothing is invented.
func TestAPermissionOfAnUnknownToolShowsAllThatIsKnown(t *testing.T) {
	t.Parallel()
	bus := natstest.Start(t, natstest.Options{})
	screen, f := bus.Screen(), newFake(t)
	f.set("/permission", `[{"id":"per_1","sessionID":"ses_1","permission":"external_directory","patterns":["/etc/<a>*"],"metadata":{"parent":"\u202e/etc"},"always":[]}]`)
	f.set("/session/status", `{"ses_1":{"type":"busy"}}`)
	stand(t, bus, f)
	rec := screen.Next(board.Pending)
	if q := rec.Ask.Questions[0]; q.Text != "May the agent use the tool `external_directory`?" || !strings.Contains(rec.Ask.Context, "/etc/<a>*") || !strings.Contains(rec.Ask.Context, "parent") {
		t.Errorf("the card: %s\n%s", q.Text, rec.Ask.Context)
	}
}

func TestWhatIsDecidedInOpencodeIsWithdrawn(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		path, file, typ string
		leaves          func(f *fake)
		reason          string
	}{
		"answered":          {"/question", "question.json", "question.replied", nil, "decided in opencode"},
		"rejected":          {"/api/question/request", "api-question.json", "question.v2.rejected", nil, "decided in opencode"},
		"a permission":      {"/api/permission/request", "api-permission.json", "permission.v2.replied", nil, "decided in opencode"},
		"its turn ended":    {"/question", "question.json", "", func(f *fake) { f.set("/question", "[]") }, "decided or left in opencode"},
		"a stale one stays": {"/question", "question.json", "", func(f *fake) { f.set("/session/status", "{}") }, "decided or left in opencode"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bus := natstest.Start(t, natstest.Options{})
			screen, f := bus.Screen(), newFake(t)
			f.set(c.path, recorded(t, c.file))
			stand(t, bus, f)
			rec := screen.Next(board.Pending)
			if c.leaves == nil {
				f.say(occurred(t, c.typ, ""))
			} else {
				c.leaves(f)
				f.say(`data: {"directory":"/home/dev/project","payload":{"type":"session.idle","properties":{"sessionID":"ses_df4325588ffeFTXwTpH2LQcO3T"}}}` + "\n")
			}
			gone := screen.Next(board.Resolved)
			if o := gone.Outcome; o.Status != ask.StatusWithdrawn || o.Reason != c.reason {
				t.Errorf("ended as %s: %s", o.Status, o.Reason)
			}
			_, err := screen.Answer(t.Context(), rec.Ask.Key(), ask.Reply{By: mei, Response: "late"})
			if !errors.Is(err, ask.ErrResolved) || len(f.decisions) > 0 {
				t.Errorf("a late answer: %v, and opencode is sent %d decisions", err, len(f.decisions))
			}
		})
	}
}

func TestTwoBridgesOfOneServerAskOnce(t *testing.T) {
	t.Parallel()
	bus := natstest.Start(t, natstest.Options{})
	screen, f := bus.Screen(), newFake(t)
	f.set("/question", recorded(t, "question.json"))
	localhost := func(s *opencode.Server, _ *opencode.Caller, _ *opencode.Options) {
		s.Base.Host = "localhost:" + s.Base.Port()
	}
	asked := make(chan string, 10)
	waits := func(_ *opencode.Server, _ *opencode.Caller, o *opencode.Options) {
		o.Waiting = func(a *ask.Ask) func() { asked <- a.ID; return func() {} }
	}
	one, two := stand(t, bus, f, waits), stand(t, bus, f, waits, localhost)
	first := receive(t, asked, "the first waits")
	if second := receive(t, asked, "the second waits"); first != second {
		t.Fatalf("two asks, %s and %s", first, second)
	}
	screen.Next(board.Pending)
	one.end() // withdraws it; the other asks again, because opencode still does
	if o := screen.Next(board.Resolved).Outcome; o.Reason != "the bridge to opencode was stopped" {
		t.Errorf("ended because: %s", o.Reason)
	}
	rec := screen.Next(board.Pending)
	if rec.Ask.ID == first {
		t.Error("an ask that had ended is open")
	}
	answer(t, screen, rec, ask.Answer{Selected: []string{rec.Ask.Questions[0].Options[0].ID}})
	if got := f.next(); got.body != `{"answers":[["SQLite"]]}` {
		t.Errorf("opencode is sent %+v", got)
	}
	two.end()
}

func TestTwoServersDoNotMix(t *testing.T) {
	t.Parallel()
	bus := natstest.Start(t, natstest.Options{})
	screen := bus.Screen()
	one, two := newFake(t), newFake(t)
	for _, f := range []*fake{one, two} { // even with the same request
		f.set("/question", recorded(t, "question.json"))
		stand(t, bus, f)
		rec := screen.Next(board.Pending)
		answer(t, screen, rec, ask.Answer{Selected: []string{rec.Ask.Questions[0].Options[0].ID}})
		f.next()
	}
	if len(one.decisions) > 0 {
		t.Error("the first server was sent the second's answer")
	}
}

// A bridge that is killed leaves its ask; the next one finds the answer that came meanwhile.
func TestAnAnswerOutlivesABridge(t *testing.T) {
	t.Parallel()
	bus := natstest.Start(t, natstest.Options{})
	screen, f := bus.Screen(), newFake(t)
	f.set("/permission", only(t, recorded(t, "permission.json"), 0, false))
	// As if it was killed: its server is out of reach when the answer comes, and it is when the bridge ends.
	f.set("/permission/per_20bcdb982001rUwKK7zti7tGWo/reply", "")
	one := stand(t, bus, f)
	rec := screen.Next(board.Pending)
	answer(t, screen, rec, ask.Answer{Selected: []string{"allow"}})
	f.next()
	one.end()
	stand(t, bus, f)
	if got := f.next(); got.body != `{"reply":"once"}` {
		t.Errorf("opencode is sent %+v", got)
	}
}

func TestAServerThatRestarts(t *testing.T) {
	t.Parallel()
	bus := natstest.Start(t, natstest.Options{})
	screen, f := bus.Screen(), newFake(t)
	f.set("/question", recorded(t, "question.json"))
	r := stand(t, bus, f)
	screen.Next(board.Pending)
	f.set("/question", "[]")
	f.cut()
	receive(t, r.following, "it is followed again")
	if o := screen.Next(board.Resolved).Outcome; o.Status != ask.StatusWithdrawn {
		t.Errorf("ended as %s", o.Status)
	}
	f.set("/permission", only(t, recorded(t, "permission.json"), 1, false))
	f.say(occurred(t, "permission.asked", "f.txt"))
	if rec := screen.Next(board.Pending); !rec.Ask.Permits() {
		t.Errorf("%+v", rec.Ask)
	}
}

func TestAServerThatIsGoneHasLeftItsRequests(t *testing.T) {
	t.Parallel()
	bus := natstest.Start(t, natstest.Options{})
	screen, f := bus.Screen(), newFake(t)
	f.set("/question", recorded(t, "question.json"))
	r := stand(t, bus, f, func(_ *opencode.Server, _ *opencode.Caller, o *opencode.Options) { o.Gone = time.Millisecond })
	first := screen.Next(board.Pending)
	f.set("/path", "no JSON")
	f.cut()
	if o := screen.Next(board.Resolved).Outcome; o.Reason != "the server of opencode is gone" {
		t.Errorf("ended because: %s", o.Reason)
	}
	f.set("/path", recorded(t, "path.json")) // only the network was
	receive(t, r.following, "it is followed again")
	if again := screen.Next(board.Pending); again.Ask.ID == first.Ask.ID {
		t.Error("an ask that had ended is open")
	}
}

func TestOpenRequestsAreBounded(t *testing.T) {
	t.Parallel()
	bus := natstest.Start(t, natstest.Options{})
	f := newFake(t)
	var list []string
	for i := range 7 {
		list = append(list, fmt.Sprintf(`{"id":"que_%d","sessionID":"ses_1","questions":[{"question":"Which of %d?","header":"H","options":[{"label":"A","description":""}]}]}`, i, i))
	}
	f.set("/question", "["+strings.Join(list, ",")+"]")
	f.set("/session/status", `{"ses_1":{"type":"busy"}}`)
	asked := make(chan string, 10)
	stand(t, bus, f, func(_ *opencode.Server, _ *opencode.Caller, o *opencode.Options) {
		o.Most, o.Waiting = 4, func(a *ask.Ask) func() { asked <- a.ID; return func() {} }
	})
	for range 4 {
		receive(t, asked, "all that fit are asked")
	}
	f.set("/question", "["+strings.Join(list[4:], ",")+"]") // these have ended
	f.say(occurred(t, "question.asked", ""))
	for range 3 {
		receive(t, asked, "the others are asked")
	}
	if len(asked) > 0 {
		t.Error("something is asked twice")
	}
}

func TestServersThatAreNoUse(t *testing.T) {
	t.Parallel()
	bus := natstest.Start(t, natstest.Options{})
	f := newFake(t)
	f.password = "right"
	wrong := func(s *opencode.Server, _ *opencode.Caller, _ *opencode.Options) { s.Password = "wrong" }
	right := func(s *opencode.Server, _ *opencode.Caller, _ *opencode.Options) { s.Password = "right" }
	r := begin(t, bus, f, wrong)
	if err := receive(t, r.done, "an error"); !errors.Is(err, opencode.ErrPassword) {
		t.Error(err)
	}
	r.finish.Do(func() {})
	stand(t, bus, f, right).end()
	f.mu.Lock()
	delete(f.bodies, "/path")
	f.mu.Unlock()
	r = begin(t, bus, f, right)
	if err := receive(t, r.done, "an error"); !errors.Is(err, opencode.ErrForeign) {
		t.Error(err)
	}
	r.finish.Do(func() {})
}

func TestAddresses(t *testing.T) {
	t.Parallel()
	for s, want := range map[string]string{
		"http://127.0.0.1:4096/": "", "http://localhost:1": "", "http://[::1]:4096": "", "https://opencode.example.com/x": "",
		"http://10.0.0.7:4096": "not this machine", "http://user:pw@127.0.0.1:4096": "OPENCODE_SERVER_PASSWORD", "127.0.0.1:4096": "invalid address", "http://127.0.0.1:1?x=1": "leave out", "http://127.0.0.1.example.com": "not this machine",
	} {
		u, err := opencode.ParseURL(s)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) || err != nil && strings.Contains(err.Error(), "pw") {
			t.Errorf("%s: %v, %v", s, u, err)
		}
	}
}

// The password goes nowhere else.
func TestRedirectsAreNotFollowed(t *testing.T) {
	t.Parallel()
	elsewhere := make(chan struct{}, 10)
	to := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { elsewhere <- struct{}{} }))
	t.Cleanup(to.Close)
	from := httptest.NewServer(http.RedirectHandler(to.URL, http.StatusFound))
	t.Cleanup(from.Close)
	base, err := url.Parse(from.URL)
	if err != nil {
		t.Fatal(err)
	}
	err = opencode.Run(t.Context(), &opencode.Server{Base: base, Password: "pw"}, natstest.Opener{}, opencode.Caller{}, opencode.Options{})
	if !errors.Is(err, opencode.ErrForeign) || len(elsewhere) > 0 {
		t.Errorf("%v, and %d requests elsewhere", err, len(elsewhere))
	}
}
