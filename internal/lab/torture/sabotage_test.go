//go:build sabotage

package torture_test

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/bus/sabotage"
	"github.com/askbus/askbus/internal/lab/torture"
)

// Each deliberately broken build is reported with the promise that it breaks; a correct build
// passes.
func TestBrokenBuildsAreReported(t *testing.T) {
	t.Parallel()
	small := torture.Options{Asks: 60, Open: 30, For: 14 * time.Second, Seed: 21, Ends: 4 * time.Second, Learns: 5 * time.Second}
	burst, long, posting := small, small, small
	burst.Asks, burst.Burst = 600, 600       // a late timer writes after an answer; so many are late on a quiet machine, too
	long.For, long.Long = 24*time.Second, 70 // a notice is missed only by who would not look again soon
	posting.Posts = 5 * time.Second
	voting := small
	voting.Votes = 100
	ladders := small
	ladders.For, ladders.Ladders, ladders.Steps = 34*time.Second, 100, 3*time.Second
	tests := []struct {
		kind sabotage.Kind
		opts torture.Options
		want torture.Rule
		says string // a part of a violation
	}{
		{sabotage.NoCompare, small, torture.OneOutcome, ""},
		{sabotage.LastWins, burst, torture.FirstWins, ""},
		{sabotage.AskUnstored, small, torture.AskKept, ""},
		{sabotage.AnswerUnkept, small, torture.AnswerKept, ""},
		{sabotage.TellOther, small, torture.ToldAsStored, ""},
		{sabotage.AnyAudience, small, torture.Audience, ""},
		{sabotage.NoExpiry, small, torture.Ends, ""},
		{sabotage.NoNotice, long, torture.AgentLearns, ""},
		{sabotage.NoWork, posting, torture.SurfaceLearns, ""},
		{sabotage.VoteUnkept, voting, torture.VoteKept, ""},
		{sabotage.ShortPolicy, voting, torture.PolicyReached, ""},
		{sabotage.StepTwice, ladders, torture.StepOnce, "was taken twice"},
		{sabotage.StepSkipped, ladders, torture.StepOnce, "not in order"},
		{sabotage.StepEarly, ladders, torture.StepOnce, "before its time"},
		{sabotage.StepLate, ladders, torture.StepOnce, "after the end"},
		{sabotage.StepLeftOut, ladders, torture.StepOnce, "was left out"},
		{sabotage.TwoVotes, voting, torture.OneVote, ""},
		{sabotage.StandInEnded, voting, torture.StandIn, "it was over"},
		{sabotage.StandInChain, voting, torture.StandIn, "nobody had said so"},
		{sabotage.ExcludedVotes, voting, torture.StandIn, "excludes"},
		{sabotage.None, torture.Options{Asks: 60, Open: 30, For: 14 * time.Second, Seed: 21}, "", ""},
	}
	if len(tests) != len(sabotage.Kinds())+1 {
		t.Fatal("a kind of sabotage has no test")
	}
	var all sync.WaitGroup // they mostly wait: several at once, whatever -parallel says
	slots := make(chan struct{}, 5)
	for _, tt := range tests {
		slots <- struct{}{}
		all.Go(func() {
			defer func() { <-slots }()
			// On a busy machine a small run may not get to what is broken. A chain needs somebody who stands in and is
			// away, and one run in five has a vote of theirs.
			var last string
			for range 24 {
				found, report := reported(t, tt.kind, tt.want, tt.says, tt.opts)
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

// reported runs a broken or a correct build.
func reported(t *testing.T, kind sabotage.Kind, want torture.Rule, says string, opts torture.Options) (bool, string) {
	t.Helper()
	var embedded torture.EmbeddedOptions
	embedded.Sabotage = kind
	bus, err := torture.StartEmbedded(t.Context(), embedded)
	if err != nil {
		t.Error(err)
		return false, ""
	}
	defer bus.Close()
	var out bytes.Buffer
	opts.Out = &out
	res, err := torture.Run(t.Context(), bus, opts)
	if want == "" && err != nil {
		t.Errorf("a correct build: %v\n%s", err, &out)
	}
	said := len(out.String()) > 0 && strings.Contains(out.String(), fmt.Sprintf("seed %d", opts.Seed))
	return errors.Is(err, torture.ErrViolated) && broken(res, want, says) && len(res.Shortest) > 0 && said, out.String()
}

func broken(res *torture.Result, rule torture.Rule, says string) bool {
	return slices.ContainsFunc(res.Violations, func(v torture.Violation) bool { return v.Rule == rule && strings.Contains(v.Text, says) })
}
