package fakeslack_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/lab/fakeslack"
)

func start(t *testing.T, opts fakeslack.Options) *fakeslack.Server {
	t.Helper()
	s, err := fakeslack.Start(opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	s.AddUser(fakeslack.User{ID: "U1", Name: "mei"})
	s.AddChannel(fakeslack.Channel{ID: "C1", Name: "asks", Members: []string{"U1", fakeslack.BotUser}})
	return s
}

// call calls a method with a JSON body.
func call(t *testing.T, s *fakeslack.Server, method string, body map[string]any) (code string, res *http.Response) {
	t.Helper()
	data, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL()+method, bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", "Bearer "+s.Settings().BotToken)
	res, err = http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	var out struct {
		OK    bool   `json:"ok"`
		Error string `json:"error"`
	}
	if err := json.NewDecoder(res.Body).Decode(&out); err != nil {
		t.Fatal(err)
	}
	return out.Error, res
}

func TestTiersRefillWithTheClock(t *testing.T) {
	t.Parallel()
	clock := fakeslack.NewHand(time.Unix(1_800_000_000, 0))
	s := start(t, fakeslack.Options{Clock: clock})
	at := s.PostAsApp("C1", `[]`)
	update := func() (string, *http.Response) {
		return call(t, s, "chat.update", map[string]any{"channel": "C1", "ts": at.TS, "text": "x"})
	}
	for range 50 {
		if code, _ := update(); code != "" {
			t.Fatal(code)
		}
	}
	code, res := update()
	wait, err := strconv.Atoi(res.Header.Get("Retry-After"))
	if code != "ratelimited" || res.StatusCode != http.StatusTooManyRequests || err != nil || wait < 1 {
		t.Fatalf("the 51st in a minute: %s %s %v", code, res.Status, res.Header)
	}
	clock.Advance(time.Duration(wait) * time.Second)
	if code, _ := update(); code != "" {
		t.Errorf("after Retry-After: %s", code)
	}
	// A channel allows one message per second, in addition to the workspace's limit.
	for range 5 {
		if code, _ := call(t, s, "chat.postMessage", map[string]any{"channel": "C1", "text": "x"}); code != "" {
			t.Fatal(code)
		}
	}
	if code, _ := call(t, s, "chat.postMessage", map[string]any{"channel": "C1", "text": "x"}); code != "ratelimited" {
		t.Errorf("the sixth message in a second: %q", code)
	}
}

// An unacknowledged event is delivered at once, after one minute and after five; a click is never
// repeated.
func TestEventsAreRepeatedAndClicksAreNot(t *testing.T) {
	t.Parallel()
	clock := fakeslack.NewHand(time.Unix(1_800_000_000, 0))
	s := start(t, fakeslack.Options{Clock: clock})
	var events, clicks, retries atomic.Int32
	app := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.Header.Get("Content-Type"), "application/json") {
			events.Add(1)
			if r.Header.Get("X-Slack-Retry-Num") != "" {
				retries.Add(1)
			}
		} else {
			clicks.Add(1)
		}
		w.WriteHeader(http.StatusInternalServerError)
	}))
	defer app.Close()
	s.DeliverTo(app.URL, app.URL, app.URL)
	s.Write("U1", "C1", "", "hello")
	at := s.PostAsApp("C1", `[{"type":"actions","elements":[{"type":"button","action_id":"b","text":{"type":"plain_text","text":"B"}}]}]`)
	if d := s.Click("U1", at, "B"); d.Acked {
		t.Error("acknowledged")
	}
	for want := int32(2); want <= 4; want++ {
		for events.Load() < want { // the timer is set when the attempt before has ended
			clock.Advance(10 * time.Second)
		}
	}
	for range 60 {
		clock.Advance(time.Minute)
	}
	if events.Load() != 4 || retries.Load() != 3 || clicks.Load() != 1 {
		t.Errorf("%d events (%d retries), %d clicks", events.Load(), retries.Load(), clicks.Load())
	}
}

// An update that echoes a post's text may exceed its limit: then the buttons stay active.
func TestAnUpdateIsStricterThanAPost(t *testing.T) {
	t.Parallel()
	s := start(t, fakeslack.Options{NoLimits: true})
	at := s.PostAsApp("C1", `[{"type":"actions","elements":[{"type":"button","action_id":"b","text":{"type":"plain_text","text":"B"}}]}]`)
	long := strings.Repeat("x", 4001)
	if code, _ := call(t, s, "chat.postMessage", map[string]any{"channel": "C1", "text": long}); code != "" {
		t.Errorf("a post of 4,001: %s", code)
	}
	if code, _ := call(t, s, "chat.update", map[string]any{"channel": "C1", "ts": at.TS, "text": long}); code != "msg_too_long" {
		t.Errorf("an update to 4,001: %q", code)
	}
	block := []map[string]any{{"type": "section", "text": map[string]any{"type": "mrkdwn", "text": long[:3001]}}}
	if code, _ := call(t, s, "chat.update", map[string]any{"channel": "C1", "ts": at.TS, "text": "x", "blocks": block}); code != "invalid_blocks" {
		t.Errorf("a section of 3,001: %q", code)
	}
	if m, _ := s.Message(at); !m.Live() {
		t.Error("the refused update changed the message")
	}
}
