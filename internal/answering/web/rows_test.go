package web_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/answering/auth"
	"github.com/askbus/askbus/internal/answering/web"
	"github.com/askbus/askbus/pkg/ask"
)

// told is one event of a stream.
type told struct {
	name, mark string
	All        bool
	Gone       []string
	Rows       []struct{ Key, After, HTML string }
	Parts      map[string]string
	Waiting    int
	Touched    []string
	Any        bool
}

// toHello reads the events up to hello.
func toHello(next func() (told, bool)) {
	for e, _ := next(); e.name != "hello"; {
		e, _ = next()
	}
}

// follow opens a stream and returns a function that reads its next event.
func (u user) follow(path string) (next func() (told, bool), res *http.Response) {
	u.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	u.t.Cleanup(cancel)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.in.URL+path, nil)
	if err != nil {
		u.t.Fatal(err)
	}
	res, err = u.client.Do(req)
	if err != nil {
		u.t.Fatal(err)
	}
	u.t.Cleanup(func() { res.Body.Close() })
	lines := bufio.NewScanner(res.Body)
	lines.Buffer(nil, 1<<20)
	return func() (e told, ok bool) {
		for lines.Scan() {
			field, value, _ := strings.Cut(lines.Text(), ": ")
			switch field {
			case "event":
				e.name = value
			case "id":
				e.mark = value
			case "data":
				if err := json.Unmarshal([]byte(value), &e); err != nil { //nolint:musttag // names differ only in case
					u.t.Errorf("%s: %v", value, err)
				}
				return e, true
			}
		}
		return e, false
	}, res
}

var markOf = regexp.MustCompile(`data-mark="([^"]+)"`)

func (u user) mark(path string) string { return markOf.FindStringSubmatch(u.get(path).body)[1] }

func TestAStreamTellsWhatChangedSinceAMark(t *testing.T) {
	t.Parallel()
	b := newBus()
	team(b)
	in := serve(t, b)
	u := in.signedIn(t, mei)
	mark := u.mark("/")
	next, _ := u.follow("/events?mark=" + mark)
	if e, _ := next(); e.name != "hello" {
		t.Errorf("a page that is up to date gets %+v", e)
	}
	k := b.ask(urgentAsk(), 0)
	e, _ := next()
	if len(e.Rows) != 1 || e.Rows[0].Key != k.String() || e.Rows[0].After != "" || !contains(e.Rows[0].HTML, `data-key="`+k.String()+`"`) || e.Waiting != 5 ||
		e.Parts["count"] != "5 waiting" || len(e.Parts) != 1 || strings.Join(e.Touched, " ") != k.String() || e.All || e.Any {
		t.Errorf("one that was asked: %+v", e)
	}
	if _, err := b.end(at("a2"), ask.Outcome{Status: ask.StatusAnswered, By: &tom}); err != nil {
		t.Fatal(err)
	}
	e, _ = next()
	if len(e.Rows) != 0 || strings.Join(e.Gone, " ") != at("a2").String() || e.Waiting != 4 || !contains(e.Parts["ended"], "Storage of a2") {
		t.Errorf("one that ended: %+v", e)
	}
	last := e.mark
	if now := u.mark("/"); now != last {
		t.Errorf("a page has the mark %s, the stream %s", now, last)
	}
	// The page offers Mei the urgent ask. Streams tell that she looks at it, once the feed has drawn it.
	if e, _ = next(); strings.Join(e.Touched, " ") != k.String() || len(e.Rows)+len(e.Gone) != 0 || e.mark != last {
		t.Errorf("one that is looked at: %+v", e)
	}

	// The connection is cut off and reopened.
	again, _ := u.follow("/events?mark=" + mark)
	first, _ := again()
	second, _ := again()
	third, _ := again()
	hello, _ := again()
	if len(first.Rows) != 1 || len(second.Gone) != 1 || len(third.Touched) != 1 || hello.name != "hello" {
		t.Errorf("a page that missed three events gets %+v, %+v, %+v, %+v", first, second, third, hello)
	}
	for _, unknown := range []string{"", "?mark=rubbish"} {
		lost, _ := u.follow("/events" + unknown)
		if e, _ := lost(); !e.All || len(e.Rows) != 4 || e.mark != last || len(e.Parts) != 5 {
			t.Errorf("a page without a mark gets %+v", e)
		}
	}
	// Another listing has another stream.
	narrow, _ := u.follow("/events?agent=reviewer")
	if e, _ := narrow(); !e.All || len(e.Rows) != 2 || e.Rows[1].After != e.Rows[0].Key || !contains(e.Rows[0].HTML, "agent=reviewer") {
		t.Errorf("a listing: %+v", e)
	}
}

// TestEveryNewAskIsNamedWithItsRow checks that an ask which comes while a frame is being drawn is named in the event that adds
// its row: pages notify people only of those.
func TestEveryNewAskIsNamedWithItsRow(t *testing.T) {
	t.Parallel()
	b := newBus()
	more := make(chan ask.Ask, 1)
	b.drained = func() {
		select {
		case a := <-more:
			b.ask(a, 0)
		default:
		}
	}
	u := serve(t, b).signedIn(t, mei)
	next, _ := u.follow("/events?mark=" + u.mark("/"))
	toHello(next)
	for i := range 20 {
		more <- question(fmt.Sprint("meanwhile", i), database())
		b.ask(question(fmt.Sprint("first", i), database()), 0)
		for rows := 0; rows < 2; {
			e, ok := next()
			if !ok {
				t.Fatal("the stream has ended")
			}
			rows += len(e.Rows)
			for _, r := range e.Rows {
				if !slices.Contains(e.Touched, r.Key) {
					t.Errorf("the event that adds %s names %q", r.Key, e.Touched)
				}
			}
		}
	}
}

func TestARowChangesOnlyForThoseWhoSeeTheChange(t *testing.T) {
	t.Parallel()
	b := newBus()
	team(b)
	in := serve(t, b)
	u, v := in.signedIn(t, mei), in.signedIn(t, tom)
	next, _ := u.follow("/events?mark=" + u.mark("/"))
	theirs, _ := v.follow("/events?mark=" + v.mark("/"))
	for _, n := range []func() (told, bool){next, theirs} {
		if e, _ := n(); e.name != "hello" {
			t.Fatalf("%+v", e)
		}
	}
	v.post("/ask/"+at("b1").String()+"/attend", map[string][]string{"state": {"answering"}})
	if e, _ := next(); len(e.Rows) != 1 || !contains(e.Rows[0].HTML, "Tom is answering") || e.Rows[0].After != at("a0").String() {
		t.Errorf("%+v", e)
	}
	if e, _ := theirs(); len(e.Rows) != 0 || len(e.Touched) != 1 {
		t.Errorf("the answering person is told about their own attention: %+v", e)
	}
	v.post("/ask/"+at("b3").String()+"/handover", map[string][]string{"to": {"os:tom"}})
	e, _ := next()
	for len(e.Gone) == 0 { // attention is part of it
		e, _ = next()
	}
	if e.Gone[0] != at("b3").String() || e.Waiting != 3 {
		t.Errorf("handed to somebody else: %+v", e)
	}
}

func TestAStreamEndsWhenTheRightsOfItsPersonChange(t *testing.T) {
	t.Parallel()
	b := newBus()
	in := serve(t, b, func(o *web.Options) { o.Heartbeat = time.Hour })
	by := auth.Person{By: tom, Access: ask.Access{{Tenants: []string{"acme"}}}}
	u := in.as(t, by)
	next, _ := u.follow("/events")
	toHello(next)
	b.people.mu.Lock()
	for id, held := range b.people.held {
		held.Access = ask.Access{{Tenants: []string{"other"}}}
		b.people.held[id] = held
	}
	b.people.mu.Unlock()
	a := question("secret", database())
	a.Tenant = "acme"
	b.ask(a, 0)
	if e, open := next(); open {
		t.Errorf("with rights that have ended: %+v", e)
	}
}

// TestAStreamOmitsHiddenAsks checks that a stream names only asks that
// the person may see, including those that it does not list.
func TestAStreamOmitsHiddenAsks(t *testing.T) {
	t.Parallel()
	b := newBus()
	in := serve(t, b)
	u := in.as(t, auth.Person{By: tom, Access: ask.Access{{Tenants: []string{"acme"}}}})
	next, _ := u.follow("/events")
	toHello(next)
	for _, tenant := range []string{"other", "acme"} {
		a := question("a", database())
		a.Tenant = tenant
		b.ask(a, 0)
	}
	e, _ := next()
	if text := fmt.Sprint(e); contains(text, "other") || len(e.Touched) != 1 {
		t.Errorf("told %s", text)
	}
}

func TestPagesAndStreamsAreCompressed(t *testing.T) {
	t.Parallel()
	b := newBus()
	for i := range 300 {
		a := question(fmt.Sprintf("n%03d", i), text("t", fmt.Sprintf("What about number %03d?", i)))
		b.ask(a, time.Duration(i)*time.Second)
	}
	in := serve(t, b)
	u := in.signedIn(t, mei)
	raw := func(path, accept string) (*http.Response, int) {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, in.URL+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		if accept != "" {
			req.Header.Set("Accept-Encoding", accept)
		} else {
			req.Header.Set("Accept-Encoding", "identity")
		}
		res, err := u.client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasPrefix(path, "/events") {
			return res, 0
		}
		defer res.Body.Close()
		body, err := io.ReadAll(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		return res, len(body)
	}
	first, all := 0, 0
	paths := []string{"/"}
	for _, m := range regexp.MustCompile(`(?:src|href)="(/static/[^"]+)"`).FindAllStringSubmatch(u.get("/").body, -1) {
		paths = append(paths, m[1])
		if dir, ok := strings.CutSuffix(m[1], "app.js"); ok {
			for _, m := range imports(u.get(m[1]).body) {
				paths = append(paths, dir+m)
			}
		}
	}
	for _, path := range paths {
		res, n := raw(path, "gzip")
		_, plain := raw(path, "")
		if n > plain || res.Header.Get("Content-Encoding") == "gzip" && n == plain {
			t.Errorf("%s: %d bytes of %d", path, n, plain)
		}
		first, all = first+n, all+plain
	}
	if len(paths) < 15 {
		t.Errorf("only %d files: %v", len(paths), paths)
	}
	t.Logf("the first load with 300 pending: %d bytes, %d before compression", first, all)
	if first > 55_000 {
		t.Errorf("the first load has %d bytes", first)
	}
	for accept, want := range map[string]string{"gzip": "gzip", "": ""} {
		res, _ := raw("/events", accept)
		if got := res.Header.Get("Content-Encoding"); got != want {
			t.Errorf("a stream for %q is %q", accept, got)
		}
		res.Body.Close()
	}
}

func TestAPartOfAPageIsTheAskInFocus(t *testing.T) {
	t.Parallel()
	b := newBus()
	team(b)
	u := serve(t, b).signedIn(t, mei)
	for _, path := range []string{"/", askPathOf("b1"), "/?q=nothing"} {
		res := u.do(http.MethodGet, path, nil, "Askbus-Part", "card")
		if contains(res.body, `id="list"`) || !contains(res.body, `id="card"`) || len(res.body) > 12_000 || res.status != 200 {
			t.Errorf("%s: %d, %d bytes", path, res.status, len(res.body))
		}
	}
}

func TestTheResponseToAFormIsTheNextPage(t *testing.T) {
	t.Parallel()
	b := newBus()
	first := b.ask(question("first", database()), 2*time.Minute)
	second := b.ask(question("second", database()), time.Minute)
	u := serve(t, b).signedIn(t, mei)
	form := url.Values{"select:db": {"=pg"}}
	for _, step := range []struct{ path, at, shows string }{
		{"/ask/" + first.String() + "/answer", "/ask/" + second.String(), second.String()},
		{"/ask/" + first.String() + "/answer", "", ""}, // too late
		{"/ask/" + second.String() + "/answer", "/?", "Nothing waits for you"},
	} {
		res := u.do(http.MethodPost, step.path, form, "Askbus-Part", "card")
		at := res.header.Get("Askbus-At")
		if res.path != step.path || !strings.HasPrefix(at, step.at) || (at == "") != (step.at == "") || !contains(res.body, step.shows) || contains(res.body, `id="list"`) {
			t.Errorf("%s: %d at %q, %d bytes without %q", step.path, res.status, at, len(res.body), step.shows)
		}
	}
	if b.outcome(first) == nil || b.outcome(second) == nil {
		t.Error("an answer was not stored")
	}
}

// imports returns the names of the modules that a script imports.
func imports(script string) (names []string) {
	for _, m := range regexp.MustCompile(`(?m)^import (?:.* from )?'\./(\w+\.js)';$`).FindAllStringSubmatch(script, -1) {
		names = append(names, m[1])
	}
	return names
}

// No script imports one that imports it.
func TestScriptsImportInOneDirection(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("static/*.js")
	if err != nil || len(files) < 15 {
		t.Fatalf("%d scripts, %v", len(files), err)
	}
	from := map[string][]string{}
	for _, f := range files {
		data, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		from[filepath.Base(f)] = imports(string(data))
		if n := strings.Count("\n"+string(data), "\nimport "); n != len(from[filepath.Base(f)]) {
			t.Errorf("%s has %d imports, of which %d are read here", f, n, len(from[filepath.Base(f)]))
		}
	}
	var walk func(name string, above []string)
	walk = func(name string, above []string) {
		if slices.Contains(above, name) {
			t.Errorf("imports run in a circle: %v, %s", above, name)
			return
		}
		for _, next := range from[name] {
			walk(next, append(slices.Clone(above), name))
		}
	}
	for name := range from {
		walk(name, nil)
	}
}
