package oncall_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/bus/approvals/oncall"
)

// pagerDuty answers GET /oncalls as PagerDuty's REST API v2 documents it.
func pagerDuty(t *testing.T, entries []string) *httptest.Server {
	t.Helper()
	mux := http.NewServeMux()
	mux.HandleFunc("GET /oncalls", func(w http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		since, err1 := time.Parse(time.RFC3339, q.Get("since"))
		until, err2 := time.Parse(time.RFC3339, q.Get("until"))
		switch {
		case r.Header.Get("Authorization") != "Token token=s3cret":
			w.WriteHeader(http.StatusUnauthorized)
		case !strings.HasPrefix(r.Header.Get("Accept"), "application/vnd.pagerduty+json"):
			w.WriteHeader(http.StatusNotAcceptable)
		case err1 != nil, err2 != nil, until.Sub(since) > 90*24*time.Hour, q["schedule_ids[]"] == nil:
			w.WriteHeader(http.StatusBadRequest)
		case q.Get("offset") == "0": // a page of one, as with a smaller limit
			fmt.Fprintf(w, `{"oncalls":[%s],"limit":1,"offset":0,"more":true,"total":null}`, entries[0])
		default:
			fmt.Fprintf(w, `{"oncalls":[%s],"limit":100,"offset":1,"more":false,"total":null}`, strings.Join(entries[1:], ","))
		}
	})
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return s
}

func TestWhoIsOnCallByPagerDuty(t *testing.T) {
	t.Parallel()
	now := time.Now().UTC().Truncate(time.Second)
	entry := func(email, schedule string, level int, from, to time.Time) string {
		return fmt.Sprintf(`{"user":{"id":"PT23IWX","type":"user","summary":"Somebody","name":"Somebody","email":%q},"schedule":{"id":%q,"type":"schedule_reference","summary":"SRE"},"escalation_policy":{"id":"PT20YPA","type":"escalation_policy_reference"},"escalation_level":%d,"start":%q,"end":%q}`,
			email, schedule, level, from.Format(time.RFC3339), to.Format(time.RFC3339))
	}
	s := pagerDuty(t, []string{
		entry("Mei@example.com", "PI7DH85", 1, now.Add(-time.Hour), now.Add(time.Hour)),
		entry("mei@example.com", "PI7DH85", 2, now.Add(-time.Hour), now.Add(time.Hour)), // of another level
		entry("jo@example.com", "PI7DH85", 1, now.Add(time.Hour), now.Add(2*time.Hour)),
		entry("eve@example.com", "POTHER1", 1, now.Add(-time.Hour), now.Add(time.Hour)),
		`{"user":{"id":"PX","email":"boss@example.com"},"schedule":null,"escalation_level":3,"start":null,"end":null}`,
	})
	token := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(token, []byte("s3cret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	source := oncall.Source{PagerDuty: oncall.PagerDuty{API: s.URL, Schedules: "PI7DH85", TokenFile: token}}
	shifts, err := oncall.Fetch(t.Context(), &source, now)
	if err != nil {
		t.Fatal(err)
	}
	for after, want := range map[time.Duration]string{0: "mei@example.com", time.Hour: "jo@example.com", 3 * time.Hour: ""} {
		got := ""
		for _, c := range oncall.At(shifts, now.Add(after)) {
			got += c.Email
		}
		if got != want {
			t.Errorf("after %s: %q, want %q", after, got, want)
		}
	}
	if err := os.WriteFile(token, []byte("another"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := oncall.Fetch(t.Context(), &source, now); err == nil || !strings.Contains(err.Error(), "answered 401") || strings.Contains(err.Error(), "another") {
		t.Errorf("with another token: %v", err)
	}
	if err := os.WriteFile(token, []byte("s3cret"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		code       int
		body, want string // empty: nobody is on call
	}{
		{http.StatusOK, `{"oncalls":[],"more":false}`, ""},
		{http.StatusOK, `{}`, "no list of oncalls"},
		{http.StatusOK, `<html>`, "no list of oncalls"},
		{http.StatusForbidden, `{}`, "answered 403: it does not take the key"},
		{http.StatusNotFound, `{}`, "answered 404: it does not know one of the schedules"},
		{http.StatusTooManyRequests, `{}`, "answered 429: too many requests"},
		{http.StatusBadGateway, `{}`, "answered 502"},
	} {
		other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(c.code)
			_, _ = w.Write([]byte(c.body))
		}))
		t.Cleanup(other.Close)
		source.PagerDuty.API = other.URL
		shifts, err := oncall.Fetch(t.Context(), &source, now)
		if len(shifts) > 0 || (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%d %s: %v, %v", c.code, c.body, shifts, err)
		}
	}
	source.PagerDuty.TokenFile = "/nowhere"
	if _, err := oncall.Fetch(t.Context(), &source, now); err == nil || !strings.Contains(err.Error(), "token_file") {
		t.Errorf("without one: %v", err)
	}
}

const ics = "BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:x\r\nBEGIN:VEVENT\r\nUID:1\r\nDTSTAMP:20261101T000000Z\r\nSUMMARY:Mei\r\nDTSTART:%s\r\nDTEND:%s\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n"

func TestAddressesThatAreNotFollowed(t *testing.T) {
	t.Parallel()
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("another address was called") }))
	t.Cleanup(elsewhere.Close)
	mux := http.NewServeMux()
	mux.HandleFunc("/private/", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "https://10.1.2.3/secret", http.StatusFound)
	})
	mux.HandleFunc("/plain/", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, elsewhere.URL, http.StatusFound) })
	mux.HandleFunc("/loop/", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/loop/again", http.StatusFound) })
	mux.HandleFunc("/large/", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(make([]byte, 5<<20)) })
	mux.HandleFunc("/gone/", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusGone) })
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	for path, want := range map[string]string{"private": "private address", "plain": "without https", "loop": "too often", "large": "more than", "gone": "answered 410"} {
		_, err := oncall.Fetch(t.Context(), &oncall.Source{ICal: s.URL + "/" + path + "/token-of-mei"}, time.Now())
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "token-of-mei") {
			t.Errorf("%s: %v", path, err)
		}
	}
	for _, address := range []string{"http://calendar.example.com/x.ics", "ftp://localhost/x", "https://mei:secret@example.com/", "https:///x", "webcal://example.com/x"} {
		if oncall.CheckURL(address) == nil {
			t.Errorf("%s is taken", address)
		}
	}
}

func TestWhatWasReadLastStays(t *testing.T) {
	t.Parallel()
	var broken atomic.Bool
	var asked atomic.Int64
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		if broken.Load() {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		now := time.Now().UTC()
		fmt.Fprintf(w, ics, now.Add(-time.Hour).Format("20060102T150405Z"), now.Add(time.Hour).Format("20060102T150405Z"))
	}))
	t.Cleanup(s.Close)
	u, _ := url.Parse(s.URL)
	source := oncall.Source{ICal: "http://" + u.Host + "/x.ics", Every: time.Nanosecond}
	all := map[string]oncall.Source{"schedule sre": source}
	k := oncall.NewKeeper(func() map[string]oncall.Source { return all }, slog.New(slog.DiscardHandler))
	if r := k.Of(source); !r.At.IsZero() || len(r.Shifts) != 0 {
		t.Errorf("before it was read: %+v", r)
	}
	k.Refresh(t.Context())
	first := k.Of(source)
	if first.Err != nil || len(oncall.At(first.Shifts, time.Now())) != 1 {
		t.Fatalf("%+v", first)
	}
	broken.Store(true)
	k.Refresh(t.Context())
	if r := k.Of(source); r.Err == nil || !r.At.Equal(first.At) || len(oncall.At(r.Shifts, time.Now())) != 1 {
		t.Errorf("while it is broken: %+v", r)
	}
	source.Every = time.Hour // the operator changes how often it is read
	all["schedule sre"] = source
	k.Refresh(t.Context())
	if r := k.Of(source); r.Err == nil || !r.At.Equal(first.At) || len(oncall.At(r.Shifts, time.Now())) != 1 {
		t.Errorf("read at another interval: %+v", r)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	k.Run(ctx) // ends
	delete(all, "schedule sre")
	before := asked.Load()
	k.Refresh(t.Context())
	if r := k.Of(source); !r.At.IsZero() || asked.Load() != before {
		t.Errorf("after it was removed: %+v", r)
	}
}
