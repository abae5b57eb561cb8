package torture_test

import (
	"bytes"
	"errors"
	"fmt"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/sabotage"
	"github.com/askbus/askbus/internal/torture"
)

// Each deliberately broken build is reported, by the promise that it breaks; a
// whole one passes.
func TestBrokenBuildsAreReported(t *testing.T) {
	t.Parallel()
	small := torture.Options{Asks: 60, Open: 30, For: 14 * time.Second, Seed: 21, Ends: 4 * time.Second, Learns: 5 * time.Second}
	burst, long, posting := small, small, small
	burst.Asks, burst.Burst = 150, 150       // a late timer writes behind an answer
	long.For, long.Long = 24*time.Second, 70 // a notice is missed only by who would not look again soon
	posting.Posts = 5 * time.Second
	tests := []struct {
		kind sabotage.Kind
		opts torture.Options
		want torture.Rule
	}{
		{sabotage.NoCompare, small, torture.OneOutcome},
		{sabotage.LastWins, burst, torture.FirstWins},
		{sabotage.AskUnstored, small, torture.AskKept},
		{sabotage.AnswerUnkept, small, torture.AnswerKept},
		{sabotage.TellOther, small, torture.ToldAsStored},
		{sabotage.AnyAudience, small, torture.Audience},
		{sabotage.NoExpiry, small, torture.Ends},
		{sabotage.NoNotice, long, torture.AgentLearns},
		{sabotage.NoWork, posting, torture.SurfaceLearns},
		{sabotage.None, torture.Options{Asks: 60, Open: 30, For: 14 * time.Second, Seed: 21}, ""},
	}
	if len(tests) != len(sabotage.Kinds())+1 {
		t.Fatal("a kind of sabotage has no test")
	}
	var all sync.WaitGroup // they mostly wait: several at once, whatever -parallel says
	slots := make(chan struct{}, 3)
	for _, tt := range tests {
		slots <- struct{}{}
		all.Go(func() {
			defer func() { <-slots }()
			// On a busy machine a small run may not get to what is broken.
			var last string
			for range 4 {
				found, report := reported(t, tt.kind, tt.want, tt.opts)
				if found || tt.want == "" {
					return
				}
				last = report
				tt.opts.Seed++
			}
			t.Errorf("%s is not reported as %s:\n%s", tt.kind, tt.want, last)
		})
	}
	all.Wait()
}

// reported runs a build that is broken on purpose, or a whole one.
func reported(t *testing.T, kind sabotage.Kind, want torture.Rule, opts torture.Options) (bool, string) {
	t.Helper()
	bus, err := torture.StartEmbedded(t.Context(), torture.EmbeddedOptions{Sabotage: kind})
	if err != nil {
		t.Error(err)
		return false, ""
	}
	defer bus.Close()
	var out bytes.Buffer
	opts.Out = &out
	res, err := torture.Run(t.Context(), bus, opts)
	if want == "" && err != nil {
		t.Errorf("a whole build: %v\n%s", err, &out)
	}
	said := len(out.String()) > 0 && strings.Contains(out.String(), fmt.Sprintf("seed %d", opts.Seed))
	return errors.Is(err, torture.ErrViolated) && broken(res, want) && len(res.Shortest) > 0 && said, out.String()
}

func broken(res *torture.Result, rule torture.Rule) bool {
	return slices.ContainsFunc(res.Violations, func(v torture.Violation) bool { return v.Rule == rule })
}

// Only torture may break promises: nobody else imports the package, but for
// those that carry it out and the hidden command.
func TestNobodyElseImportsSabotage(t *testing.T) {
	t.Parallel()
	allowed := []string{"internal/torture", "internal/ledger", "internal/broker", "cmd/askbus/torture.go", "pkg/client/fire_test.go", "pkg/client/away_test.go"}
	root := filepath.Join("..", "..")
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".go") {
			return err
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
		if err != nil {
			return nil //nolint:nilerr // a file that does not parse imports nothing
		}
		rel, err := filepath.Rel(root, path)
		for _, imp := range f.Imports {
			if imp.Path.Value == `"github.com/askbus/askbus/internal/sabotage"` &&
				!slices.ContainsFunc(allowed, func(a string) bool { return strings.HasPrefix(filepath.ToSlash(rel), a) }) {
				t.Errorf("%s imports sabotage", rel)
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
