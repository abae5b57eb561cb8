package web

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/board"
	"github.com/askbus/askbus/pkg/card"
)

func listed(names ...string) []entry {
	list := make([]entry, len(names))
	for i, name := range names {
		id, version, _ := strings.Cut(name, "@")
		list[i] = entry{Row: card.Row{Key: ask.Key{Tenant: "t", Session: "s", ID: id}}, Version: id + version}
	}
	return list
}

// apply applies a delta as the page does.
func apply(list []string, d *delta) []string {
	list = slices.DeleteFunc(slices.Clone(list), func(k string) bool { return slices.Contains(d.Gone, k) })
	for _, r := range d.Rows {
		list = slices.DeleteFunc(list, func(k string) bool { return k == r.Key })
		list = slices.Insert(list, slices.Index(list, r.After)+1, r.Key)
	}
	return list
}

func keysOf(list []entry) (keys []string) {
	for i := range list {
		keys = append(keys, list[i].Key.String())
	}
	return keys
}

func TestADeltaTurnsOneListIntoTheOther(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	some := func() []entry {
		var names []string
		for i := range 12 {
			if r.IntN(3) > 0 {
				names = append(names, fmt.Sprintf("k%d@%d", i, r.IntN(2)))
			}
		}
		r.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
		return listed(names...)
	}
	for range 3000 {
		from, to := some(), some()
		var d delta
		d.changes(rowsOf(from), to, func(e *entry) string { return "<" + e.Version + ">" })
		if got := apply(keysOf(from), &d); !slices.Equal(got, keysOf(to)) {
			t.Fatalf("from %v to %v: %+v makes %v", keysOf(from), keysOf(to), d, got)
		}
	}
}

func TestADeltaIsSmall(t *testing.T) {
	t.Parallel()
	draw := func(e *entry) string { return "<" + e.Version + ">" }
	for name, c := range map[string]struct {
		from, to []entry
		want     string
	}{
		"one row is added":        {listed("a", "b"), listed("a", "n", "b"), "[{t/s/n t/s/a <n>}] []"},
		"one row is gone":         {listed("a", "b", "c"), listed("a", "c"), "[] [t/s/b]"},
		"one row changed":         {listed("a", "b", "c"), listed("a", "b@2", "c"), "[{t/s/b t/s/a <b2>}] []"},
		"the last moves to first": {listed("a", "b", "c"), listed("c", "a", "b"), "[{t/s/c  }] []"},
		"the first moves to last": {listed("a", "b", "c"), listed("b", "c", "a"), "[{t/s/a t/s/c }] []"},
	} {
		var d delta
		d.changes(rowsOf(c.from), c.to, draw)
		if got := fmt.Sprint(d.Rows, " ", d.Gone); got != c.want {
			t.Errorf("%s: %s", name, got)
		}
	}
}

func TestAPageThatIsBehindGetsTheKeptEvents(t *testing.T) {
	t.Parallel()
	f := &feed{news: make(chan struct{})}
	if _, late, _ := f.after(f.resume("m1")); late {
		t.Error("late before anything was drawn")
	}
	f.publish(nil, "m1")
	for i := range feedEvents {
		f.publish(&delta{Waiting: i}, fmt.Sprint("m", i+2))
	}
	for mark, want := range map[string]int{"m1": feedEvents, "m2": feedEvents - 1, "m40": feedEvents - 39, fmt.Sprint("m", feedEvents+1): 0, "never": -1, "": -1} {
		events, late, _ := f.after(f.resume(mark))
		if late != (want < 0) || !late && len(events) != want {
			t.Errorf("a page at %q gets %d events, late: %t", mark, len(events), late)
		}
	}
	f.publish(&delta{}, "more")
	if _, late, _ := f.after(f.resume("m1")); !late {
		t.Error("a page that is further behind than the log is not late")
	}
	f.publish(&delta{Parts: map[string]string{"problem": strings.Repeat("x", feedBytes)}}, "big")
	if _, late, _ := f.after(2); !late || f.bytes != 0 || len(f.log) != 0 {
		t.Errorf("the log exceeds its bounds: %d bytes in %d events", f.bytes, len(f.log))
	}
}

func TestAViewIsOnePersonsListing(t *testing.T) {
	t.Parallel()
	mei := board.Viewer{By: ask.By{Principal: "os:mei", Proof: "local"}}
	keys := map[string]string{}
	for name, v := range map[string]struct {
		me board.Viewer
		at listing
	}{
		"plain":     {mei, listing{}},
		"team":      {mei, listing{show: showTeam}},
		"other":     {board.Viewer{By: ask.By{Principal: "os:tom", Proof: "local"}}, listing{}},
		"in groups": {board.Viewer{By: ask.By{Principal: "os:mei", Proof: "local", Groups: []string{"g"}}}, listing{}},
		"nothing":   {board.Viewer{By: mei.By, Access: ask.Access{}}, listing{}},
		"a tenant":  {board.Viewer{By: mei.By, Access: ask.Access{{Tenants: []string{"acme"}}}}, listing{}},
		"Chinese":   {board.Viewer{By: mei.By, Language: "zh-CN"}, listing{}},
	} {
		key := viewKey(v.me, v.at)
		if was := keys[key]; was != "" {
			t.Errorf("%s and %s are one view", name, was)
		}
		keys[key] = name
	}
	if viewKey(mei, listing{part: true}) != viewKey(mei, listing{}) {
		t.Error("a part of a page is a view of its own")
	}
}

func TestSegmentsMakeAGzipFile(t *testing.T) {
	t.Parallel()
	var p packed
	file, want := p.head(), ""
	for _, text := range []string{"retry: 1000\n\n", strings.Repeat("the same words ", 500), "", "event: hello\n\n"} {
		file, want = append(file, segment([]byte(text))...), want+text
		p.add([]byte(text))
		// Everything up to here is readable before more data arrives.
		z, err := gzip.NewReader(bytes.NewReader(file))
		if err != nil {
			t.Fatal(err)
		}
		got := make([]byte, len(want))
		if _, err := io.ReadFull(z, got); err != nil || string(got) != want {
			t.Fatalf("%d of %d bytes: %v", len(got), len(want), err)
		}
	}
	z, err := gzip.NewReader(bytes.NewReader(append(file, p.tail()...)))
	if err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(z); err != nil || string(got) != want {
		t.Errorf("%d bytes, %v", len(got), err)
	}
}

func TestAcceptsGzip(t *testing.T) {
	t.Parallel()
	for header, want := range map[string]bool{
		"": false, "gzip": true, "gzip, deflate, br, zstd": true, "br;q=1.0, gzip;q=0.8": true, "gzip;q=0": false, "gzip; q=0.0": false, "x-gzip": false, "identity": false, "GZIP": true, "gzip;q=x": false,
	} {
		r := httptest.NewRequest("GET", "/", nil)
		r.Header.Set("Accept-Encoding", header)
		if accepts(r) != want {
			t.Errorf("%q: %t", header, !want)
		}
	}
}

func TestAVersionNamesWhatARowShows(t *testing.T) {
	t.Parallel()
	base := entry{Row: card.Row{Key: ask.Key{Tenant: "t", Session: "s", ID: "i"}}}
	seen := map[string]string{base.version("l1", "en"): "the row"}
	for name, change := range map[string]func(e *entry){
		"heading": func(e *entry) { e.Heading = "x" }, "agent": func(e *entry) { e.Asker.Agent = "x" }, "session": func(e *entry) { e.Asker.Session = "x" },
		"group": func(e *entry) { e.Group = "x" }, "others": func(e *entry) { e.Others = []string{"x"} }, "handed": func(e *entry) { e.Handed = "x" },
		"foreign": func(e *entry) { e.Foreign = true }, "priority": func(e *entry) { e.Priority.Words = "x" }, "ends": func(e *entry) { e.Ends = &card.Moment{} },
		"off": func(e *entry) { e.Off = &card.Moment{} }, "path": func(e *entry) { e.Path = "x" }, "direction": func(e *entry) { e.Dir = "rtl" },
	} {
		e := base
		change(&e)
		v := e.version("l1", "en")
		if was := seen[v]; was != "" {
			t.Errorf("%s: the same version as %s", name, was)
		}
		seen[v] = name
	}
	if base.version("l2", "en") == base.version("l1", "en") || base.version("l1", "zh") == base.version("l1", "en") {
		t.Error("another life or language has the same version")
	}
	words := base
	words.Waits.Words, words.Current = "5 min", true
	if words.version("l1", "en") != base.version("l1", "en") {
		t.Error("it changes as time passes")
	}
}
