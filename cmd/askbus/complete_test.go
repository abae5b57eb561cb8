package main

import (
	"slices"
	"strings"
	"testing"
)

// complete returns what a shell offers for an unfinished command line.
func (pl place) complete(args ...string) []string {
	pl.t.Helper()
	last := len(args) - 1
	args = append(append([]string{"__complete"}, slices.Insert(slices.Clone(args[:last]), 1, "--dir", pl.dir)...), args[last])
	p := start(pl.t, "", args...)
	if code := p.wait(); code != 0 {
		pl.t.Fatalf("exit %d: %s", code, p.err)
	}
	var words []string
	for l := range strings.Lines(p.out.String()) {
		if !strings.HasPrefix(l, ":") {
			words = append(words, strings.TrimSpace(l))
		}
	}
	return words
}

func TestCompletionOffersWaitingAsks(t *testing.T) { //nolint:tparallel // subtests in turn: parallel ones begin after every other test, and its server would run until then
	t.Parallel()
	pl, _ := up(t)
	pl.must(3, "ask", "--file", example("four-questions.json"), "--id", "four", "--session", "build", "--wait", "0")
	pl.must(3, "ask", "--question", "Which database?", "--option", "PostgreSQL", "--option", "SQLite", "--id", "db", "--session", "build", "--wait", "0")
	pl.must(3, "ask", "--question", "Old?", "--id", "old", "--session", "other", "--wait", "0")
	pl.must(0, "withdraw", "other/old")
	for _, c := range []struct {
		args  []string
		has   []string // prefixes of the offers
		hasNo []string
	}{
		{[]string{"answer", ""}, []string{"build/four\t", "build/db\t"}, []string{"other/", "db"}},
		{[]string{"answer", "d"}, []string{"db\t"}, []string{"build"}},
		{[]string{"get", "other/"}, []string{"other/old\t"}, nil},
		{[]string{"wait", "build/f"}, []string{"build/four\t"}, []string{"build/db"}},
		{[]string{"list", "--session", ""}, []string{"build\t2 wait"}, []string{"other"}},
		{[]string{"list", "--state", ""}, []string{"pending", "resolved", "all"}, nil},
		{[]string{"status", "--format", ""}, []string{"tmux", "plain", "json"}, nil},
		{[]string{"answer", "db", "--select", ""}, []string{"o1\tPostgreSQL", "o2\tSQLite"}, []string{"q1="}},
		{[]string{"answer", "build/four", "--select", ""}, []string{"lang=\t", "features=\t"}, []string{"public", "start"}},
		{[]string{"answer", "four", "--select", "lang="}, []string{"lang=go\tGo"}, nil},
		{[]string{"answer", "four", "--select", "features=invoices,"}, []string{"features=invoices,tax\t"}, nil},
		{[]string{"answer", "four", "--boolean", "public="}, []string{"public=true", "public=false"}, nil},
		{[]string{"answer", "four", "--date", ""}, []string{"start=\t"}, []string{"lang"}},
		{[]string{"help", "li"}, []string{"list\t"}, []string{"ask"}},
		{[]string{"ask", "--priority", ""}, []string{"urgent"}, nil},
	} {
		t.Run(strings.Join(c.args, " "), func(t *testing.T) {
			got := place{t, pl.dir}.complete(c.args...)
			starts := func(s string) bool {
				return slices.ContainsFunc(got, func(word string) bool { return strings.HasPrefix(word, s) })
			}
			for _, s := range c.has {
				if !starts(strings.TrimSpace(s)) {
					t.Errorf("no %q in %q", s, got)
				}
			}
			for _, s := range c.hasNo {
				if starts(s) {
					t.Errorf("%q in %q", s, got)
				}
			}
		})
	}
}

func TestCompletionIsQuietWithoutABus(t *testing.T) {
	t.Parallel()
	if got := (place{t, t.TempDir()}).complete("answer", ""); len(got) != 0 {
		t.Errorf("offered %q", got)
	}
}
