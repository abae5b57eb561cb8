package tui_test

import (
	"flag"
	"fmt"
	"image/color"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/askbus/askbus/internal/answering/tui"
	"github.com/askbus/askbus/internal/testkit/waittest"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/charmbracelet/x/ansi"
	"github.com/charmbracelet/x/exp/teatest/v2"
)

func plain(s string) string { return ansi.Strip(s) }

// scene is a screen with a golden file.
type scene struct {
	asks  []ask.Ask
	keys  string // after the first ask is open
	words string
	end   *ask.Outcome
	votes []ask.Vote // on the first ask
	loads int        // asks that the keys bring up
}

// watched signals when an ask is shown, so that no key is sent too early.
type watched struct {
	tea.Model
	loaded chan struct{}
}

func (w watched) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	m, cmd := w.Model.Update(msg)
	if tui.IsRecord(msg) {
		w.loaded <- struct{}{}
	}
	return watched{m, w.loaded}, cmd
}

func database() ask.Ask {
	return ask.Ask{
		Title: "Ledger storage", Context: "I am writing the ledger service and must choose its storage.",
		Questions: []ask.Question{{ID: "db", Header: "DB", Text: "Which database should the ledger use?", Options: []ask.Option{
			{ID: "pg", Label: "PostgreSQL", Description: "already deployed", Recommended: true, Preview: &ask.Preview{Body: "+--------+   +----+\n| ledger |-->| PG |\n+--------+   +----+"}},
			{ID: "lite", Label: "SQLite", Description: "one file", Preview: &ask.Preview{Body: "+--------+\n| ledger |--> file\n+--------+"}},
		}}},
	}
}

func scenes() map[string]scene {
	one := func(q ask.Question) []ask.Ask { return []ask.Ask{{Questions: []ask.Question{q}}} }
	four := ask.Ask{Title: "Set up the billing project", Questions: []ask.Question{
		{ID: "lang", Header: "Language", Text: "Which language?", Options: []ask.Option{{Label: "Go"}, {Label: "TypeScript"}}},
		{ID: "parts", Text: "Which parts?", Multiple: true, Options: []ask.Option{{Label: "invoices"}, {Label: "tax"}, {Label: "refunds"}}},
		{ID: "n", Kind: ask.KindNumber, Text: "How many replicas?", Limits: ask.Limits{Min: new(1.0), Max: new(9.0), Integer: true}},
		{ID: "why", Kind: ask.KindText, Text: "Anything else?", Optional: true},
	}}
	var thirty []ask.Option
	for i := range 30 {
		thirty = append(thirty, ask.Option{Label: fmt.Sprintf("region-%02d", i+1)})
	}
	zh := ask.Ask{Title: "支付服务的数据保留", Context: "支付服务需要确定数据保留多久。", Agent: ask.Agent{Name: "构建代理"}, Questions: []ask.Question{{ID: "keep", Header: "保留", Text: "支付记录要保留多久？请考虑审计要求和存储成本。", Options: []ask.Option{
		{ID: "a", Label: "七年", Description: "满足审计要求，成本最高", Recommended: true}, {ID: "b", Label: "三年", Description: "多数地区足够"}, {ID: "c", Label: "一年"},
	}}}}
	deploy := ask.Ask{
		Title: "Deploy the payments service", Questions: []ask.Question{{ID: "go", Kind: ask.KindBoolean, Text: "Deploy build 42?"}},
		Approval: &ask.Approval{
			AnyOf: []ask.Alternative{{AllOf: []ask.Factor{{Need: 1, From: []string{"os:mei", "slack:U1"}}, {Need: 1, From: []string{"group:security"}}}, Reason: ask.ReasonRequired, ReasonPrompt: "the ticket"}},
			Deny:  &ask.Denial{Need: 2},
		},
	}
	voted := func(principal, name string, choice ask.Choice, reason string) ask.Vote {
		responder, _, _ := strings.Cut(strings.Replace(principal, "os:", "cli:", 1), ":")
		return ask.Vote{AnswerID: principal, By: ask.By{Principal: principal, Name: name, Proof: "local", Responder: responder}, Choice: choice, Reason: reason, At: began.Add(2 * time.Minute)}
	}
	return map[string]scene{
		"choice":   {asks: []ask.Ask{database()}, keys: "2"},
		"several":  {asks: one(ask.Question{ID: "p", Text: "Which parts?", Multiple: true, MinItems: 1, MaxItems: 2, Options: []ask.Option{{Label: "invoices"}, {Label: "tax"}, {Label: "refunds"}}}), keys: "1 3 down"},
		"other":    {asks: []ask.Ask{database()}, keys: "o", words: "CockroachDB, 因为它分布式"},
		"text":     {asks: one(ask.Question{ID: "t", Kind: ask.KindText, Text: "A name for the new service?", Placeholder: "lower-case, no spaces", Limits: ask.Limits{MaxLength: 200}}), words: "ledger-service"},
		"number":   {asks: one(ask.Question{ID: "n", Kind: ask.KindNumber, Text: "How many replicas?", Limits: ask.Limits{Min: new(1.0), Max: new(9.0), Integer: true}}), words: "12", keys: "enter"},
		"boolean":  {asks: one(ask.Question{ID: "b", Kind: ask.KindBoolean, Text: "Shall the API be public?"}), keys: "1 n", words: "after the review"},
		"date":     {asks: one(ask.Question{ID: "d", Kind: ask.KindDate, Text: "When do we start?", Limits: ask.Limits{MinDate: "2026-11-23"}}), words: "2026-12-01"},
		"steps":    {asks: []ask.Ask{four}, keys: "1 enter 1 2 enter"},
		"review":   {asks: []ask.Ask{four}, keys: "1 enter 1 2 enter 3 enter enter"},
		"decline":  {asks: []ask.Ask{database()}, keys: "x", words: "not before the audit"},
		"thirty":   {asks: one(ask.Question{ID: "r", Text: "Which region?", Options: thirty}), keys: strings.Repeat("down ", 25)},
		"find":     {asks: one(ask.Question{ID: "r", Text: "Which region?", Options: thirty}), keys: "/", words: "n-2"},
		"audience": {asks: []ask.Ask{{Audience: []string{"group:finance"}, Questions: database().Questions}}},
		"excluded": {asks: []ask.Ask{{ExcludeAsker: true, Asker: []string{"os:mei"}, Questions: database().Questions}}},
		"chinese":  {asks: []ask.Ask{zh}, keys: "1"},
		"rtl":      {asks: one(ask.Question{ID: "r", Text: "أي قاعدة بيانات نستخدم؟", Options: []ask.Option{{Label: "PostgreSQL", Description: "تعمل بالفعل"}, {Label: "SQLite"}}})},
		"ended": {asks: []ask.Ask{database()}, keys: "1", end: &ask.Outcome{
			Status: ask.StatusAnswered, At: began.Add(5*time.Minute - 3*time.Second), Answers: []ask.Answer{{QuestionID: "db", Selected: []string{"pg"}}}, By: &ask.By{Principal: "slack:U1", Name: "Ben", Responder: "slack"},
		}},
		"votes":       {asks: []ask.Ask{deploy, database()}, votes: []ask.Vote{voted("slack:U1", "Ben", ask.ChoiceApprove, "OPS-17"), voted("web:U2", "Ana", ask.ChoiceWithdrawn, "")}, keys: "1 n", words: "OPS-17, see the runbook"},
		"voted":       {asks: []ask.Ask{deploy}, votes: []ask.Vote{voted("slack:U1", "Ben", ask.ChoiceDeny, "not on a Friday"), voted("os:mei", "Mei", ask.ChoiceApprove, "OPS-17")}},
		"votes-list":  {asks: []ask.Ask{deploy, database()}, votes: []ask.Vote{voted("slack:U1", "Ben", ask.ChoiceApprove, "OPS-17")}, keys: "esc"},
		"votes-ended": {asks: []ask.Ask{deploy}, votes: nil, end: &ask.Outcome{Status: ask.StatusExpired, At: began.Add(5*time.Minute - 3*time.Second), Votes: []ask.Vote{voted("slack:U1", "Ben", ask.ChoiceApprove, "OPS-17")}}},
		"list": {asks: []ask.Ask{
			{Priority: ask.PriorityUrgent, Title: "Deploy now?", Questions: []ask.Question{{Text: "Deploy?"}}},
			database(), zh,
			{Session: "nightly", Title: strings.Repeat("A long title that does not fit its line ", 3), Questions: []ask.Question{{Text: "Go?"}}},
		}, keys: "esc esc j", loads: 1},
	}
}

// TestScreens renders every kind of question at three sizes, light and dark, through a real
// program.
func TestScreens(t *testing.T) {
	t.Parallel()
	for _, language := range []string{"en", "zh"} {
		for name, sc := range scenes() {
			t.Run(language+"/"+name, func(t *testing.T) {
				t.Parallel()
				sc.look(t, name, language)
			})
		}
	}
}

// look compares a scene in a language with its golden file.
func (sc scene) look(t *testing.T, name, language string) {
	t.Helper()
	var all strings.Builder
	for _, size := range [][2]int{{80, 24}, {120, 40}, {60, 20}} {
		light, dark := sc.draw(t, language, size, false), sc.draw(t, language, size, true)
		if plain(light) != plain(dark) {
			t.Errorf("light and dark say different things:\n%s\n%s", plain(light), plain(dark))
		}
		if light == dark {
			t.Error("light and dark look the same")
		}
		for line := range strings.SplitSeq(plain(light), "\n") {
			if w := ansi.StringWidth(line); w > size[0] {
				t.Errorf("%d cells at %d: %q", w, size[0], line)
			}
		}
		if n := strings.Count(light, "\n") + 1; n != size[1] {
			t.Errorf("%d lines at %d", n, size[1])
		}
		fmt.Fprintf(&all, "== %dx%d\n%s\n", size[0], size[1], trimRight(plain(light)))
	}
	if language != "en" {
		name = language + "/" + name
	}
	golden(t, name, all.String())
}

// draw plays a scene and returns its last screen.
func (sc scene) draw(t *testing.T, language string, size [2]int, dark bool) string {
	t.Helper()
	b := &bus{}
	for _, a := range sc.asks {
		b.asked(a)
	}
	if len(sc.votes) > 0 {
		b.records[0].Votes = sc.votes
	}
	opts := options(b)
	opts.Viewer.Lang = language
	m, err := tui.NewModel(opts)
	if err != nil {
		t.Fatal(err)
	}
	w := watched{m, make(chan struct{}, 8)}
	tm := teatest.NewTestModel(t, w, teatest.WithInitialTermSize(size[0], size[1]))
	<-w.loaded
	if dark {
		tm.Send(tea.BackgroundColorMsg{Color: color.Black})
	}
	send := func(names string) {
		for name := range strings.FieldsSeq(names) {
			tm.Send(key(name))
		}
	}
	send("enter")
	if sc.words != "" && sc.keys == "enter" {
		tm.Type(sc.words)
		send(sc.keys)
	} else {
		send(sc.keys)
		tm.Type(sc.words)
	}
	if sc.end != nil {
		b.end("a1", *sc.end)
		tm.Send(tui.Changed())
	}
	for range sc.loads {
		<-w.loaded
	}
	if err := tm.Quit(); err != nil {
		t.Fatal(err)
	}
	last, _ := tm.FinalModel(t, teatest.WithFinalTimeout(waittest.Limit)).(watched)
	return tui.Screen(last.Model)
}

func trimRight(s string) string {
	lines := strings.Split(s, "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	return strings.Join(lines, "\n")
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name+".golden")
	if f := flag.Lookup("update"); f != nil && f.Value.String() == "true" { // teatest has it
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil || string(want) != got {
		t.Errorf("%v: the screen is not that of %s (-update rewrites it):\n%s", err, path, got)
	}
}
