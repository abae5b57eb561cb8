package natsd_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/askbus/askbus/internal/server/storecheck"
	"github.com/askbus/askbus/internal/testkit/natstest"
	question "github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/client"
	"github.com/askbus/askbus/pkg/responder"
)

// A stream whose configuration is damaged or missing keeps every ask: the
// repair writes the configuration again.
func TestAStreamsConfigurationIsWrittenAgain(t *testing.T) {
	t.Parallel()
	const asks = 40
	b, c := asker(t, natstest.Options{})
	each(t, asks, func(ctx context.Context, id string) error {
		_, err := c.Ask(ctx, simple(id))
		return err
	})
	waitForMark(t, b.Dir, fmt.Sprintf(`"ASKS_00":%d`, asks+1))
	waitForBlocks(t, b.Dir)
	crashed := copied(t, b.Dir)
	b.Close()
	for when, from := range map[string]string{"after a crash": crashed, "after a clean stop": b.Dir} {
		for what, damaged := range map[string]struct{ removed, flipped, emptied string }{
			"no checksum":             {removed: "meta.sum"},
			"no configuration":        {removed: "meta.inf"},
			"a damaged configuration": {flipped: "meta.inf"},
			"an empty configuration":  {emptied: "meta.inf"},
			"neither":                 {removed: "meta.inf meta.sum"},
		} {
			t.Run(what+" "+when, func(t *testing.T) {
				t.Parallel()
				dir := copied(t, from)
				want, err := os.ReadFile(filepath.Join(streamDir(t, dir), "meta.inf"))
				if err != nil {
					t.Fatal(err)
				}
				stream := streamDir(t, dir)
				for name := range strings.FieldsSeq(damaged.removed) {
					remove(t, filepath.Join(stream, name))
				}
				if damaged.flipped != "" {
					flip(t, filepath.Join(stream, damaged.flipped), 40)
				}
				if damaged.emptied != "" {
					truncate(t, filepath.Join(stream, damaged.emptied), 0)
				}
				wants(t, refused(t, dir, "127.0.0.1:0"), "ASKS_00 cannot be read", "meta.inf", "askbus ledger repair")
				r, err := storecheck.Repair(dir, false)
				if err != nil || len(r.Damages) != 1 || !r.Damages[0].Whole || len(r.Damages[0].Asks) > 0 {
					t.Fatalf("%+v, %v", r, err)
				}
				if got, err := os.ReadFile(filepath.Join(streamDir(t, dir), "meta.inf")); err != nil || string(got) != string(want) {
					t.Errorf("the configuration is %s, %v, and was %s", got, err, want)
				}
				srv := natstest.Serve(t, dir, "127.0.0.1:0", 0)
				if n := messages(t, srv); n != asks+1 {
					t.Errorf("%d of %d asks are left", n, asks)
				}
			})
		}
	}
}

// Without a list that remembers it, only a configuration that lacks nothing but
// its checksum can be used. Otherwise the stream is moved aside, and its asks
// are named.
func TestAStreamOfUnknownConfigurationIsMovedAside(t *testing.T) {
	t.Parallel()
	b, c := asker(t, natstest.Options{})
	if _, err := c.Ask(t.Context(), simple("a1")); err != nil {
		t.Fatal(err)
	}
	waitForBlocks(t, b.Dir)
	b.Close()
	for _, name := range []string{"blocks", "clean-stop"} {
		remove(t, filepath.Join(b.Dir, name))
	}
	unsummed := copied(t, b.Dir)
	remove(t, filepath.Join(streamDir(t, unsummed), "meta.sum"))
	if r, err := storecheck.Repair(unsummed, false); err != nil || len(r.Damages) != 1 || !r.Damages[0].Whole {
		t.Fatalf("%+v, %v", r, err)
	}
	starts(t, unsummed)
	flip(t, filepath.Join(streamDir(t, b.Dir), "meta.inf"), 40)
	r, err := storecheck.Repair(b.Dir, false)
	if err != nil || len(r.Damages) != 1 || !slices.Equal(r.Damages[0].Asks, []string{"acme/s1/a1"}) {
		t.Fatalf("%+v, %v", r, err)
	}
	if _, err := os.Stat(filepath.Join(r.Aside, "ASKS_00", "msgs", "1.blk")); err != nil {
		t.Error(err)
	}
	starts(t, b.Dir)
}

// Check names exactly the asks whose stored outcome is lost, whether their
// question is left or not.
func TestCheckNamesTheAsksWhoseOutcomeIsLost(t *testing.T) {
	t.Parallel()
	const asks, ended = 260, 120
	b, c := asker(t, natstest.Options{})
	fill(t, c, asks)
	each(t, ended, func(ctx context.Context, id string) error {
		_, err := c.Withdraw(ctx, id, "")
		return err
	})
	waitForBlocks(t, b.Dir)
	waitForMark(t, b.Dir, fmt.Sprintf(`"ASKS_00":%d`, asks+ended+1))
	waitForCopies(t, b, asks+ended)
	crashed := copied(t, b.Dir)
	b.Close()
	files := len(blockFiles(t, b.Dir))
	for when, from := range map[string]string{"after a crash": crashed, "after a clean stop": b.Dir} {
		for back := range 2 {
			t.Run(fmt.Sprintf("file %d from the end is missing %s", back, when), func(t *testing.T) {
				t.Parallel()
				dir := copied(t, from)
				remove(t, blockFiles(t, dir)[files-1-back])
				r, err := storecheck.Check(dir)
				if err != nil || len(r.Damages) != 1 {
					t.Fatalf("check: %+v, %v", r, err)
				}
				if _, err := storecheck.Repair(dir, false); err != nil {
					t.Fatal(err)
				}
				var lost []string
				again := natstest.Again(t, dir)
				s, err := client.New(again.Agent("acme", "s1"), client.Options{})
				if err != nil {
					t.Fatal(err)
				}
				for i := range ended {
					id := fmt.Sprintf("a%d", i)
					rec, err := s.Session("acme", "s1").Get(t.Context(), id)
					if e, ok := errors.AsType[*question.Error](err); err != nil && (!ok || e.Code != question.CodeNotFound) {
						t.Fatal(err)
					}
					if err != nil || rec.Outcome == nil {
						lost = append(lost, "acme/s1/"+id)
					}
				}
				slices.Sort(lost)
				named := r.Damages[0].Outcomes
				t.Logf("%d outcomes are lost, %d are named; %d asks are lost altogether", len(lost), len(named), len(r.Damages[0].Asks))
				if len(lost) == 0 || !slices.Equal(named, lost) {
					t.Errorf("check names %d asks whose outcome is lost: %s\nand these %d have none: %s", len(named), strings.Join(named, " "), len(lost), strings.Join(lost, " "))
				}
			})
		}
	}
}

// Check names the asks whose last votes are lost: they are pending with earlier
// ones, and people can vote again.
func TestCheckNamesTheAsksWhoseVotesAreLost(t *testing.T) {
	t.Parallel()
	const asks = 200
	b, c := asker(t, natstest.Options{})
	r, err := responder.New(b.Responder("web"), "web", responder.Options{})
	if err != nil {
		t.Fatal(err)
	}
	vote := func(r *responder.Responder, id, who string) error {
		_, err := r.Answer(t.Context(), question.Key{Tenant: "acme", Session: "s1", ID: id}, question.Reply{
			AnswerID: who, By: question.By{Principal: "os:" + who, Groups: []string{"sre"}, Proof: question.ProofOS},
			Answers: []question.Answer{{QuestionID: "go", Boolean: new(true)}},
		})
		if !errors.Is(err, question.ErrVoted) {
			return fmt.Errorf("%s votes on %s: %w", who, id, err)
		}
		return nil
	}
	for _, id := range []string{"kept", "lost"} {
		deploy := question.Ask{ID: id, Questions: []question.Question{{ID: "go", Text: "Deploy?", Kind: question.KindBoolean}}}
		deploy.Approval = &question.Approval{AnyOf: []question.Alternative{{Need: 3, From: []string{"group:sre"}}}}
		if _, err := c.Ask(t.Context(), deploy); err != nil {
			t.Fatal(err)
		}
		if err := vote(r, id, "mei"); err != nil {
			t.Fatal(err)
		}
	}
	fill(t, c, asks)
	if err := vote(r, "lost", "jo"); err != nil {
		t.Fatal(err)
	}
	waitForBlocks(t, b.Dir)
	_, js := admin(t, b.Server)
	natstest.Eventually(t, "the audit has a copy of the last vote", func() bool {
		asks, err1 := js.Stream(t.Context(), "ASKS_00")
		audit, err2 := js.Stream(t.Context(), "AUDIT")
		if err1 != nil || err2 != nil {
			return false
		}
		m, err := audit.GetMsg(t.Context(), audit.CachedInfo().State.LastSeq)
		return err == nil && strings.Contains(m.Header.Get("Nats-Stream-Source"), fmt.Sprintf(" %d ", asks.CachedInfo().State.LastSeq))
	})
	b.Close()
	files := blockFiles(t, b.Dir)
	if len(files) < 2 {
		t.Fatal("all votes are in one file")
	}
	remove(t, files[len(files)-1])
	report, err := storecheck.Repair(b.Dir, false)
	if err != nil || len(report.Damages) != 1 || !slices.Equal(report.Damages[0].Votes, []string{"acme/s1/lost"}) {
		t.Fatalf("%+v, %v", report, err)
	}
	again := natstest.Again(t, b.Dir)
	s, err := client.New(again.Agent("acme", "s1"), client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"kept", "lost"} {
		rec, err := s.Session("acme", "s1").Get(t.Context(), id)
		if err != nil || rec.State != question.StatePending || len(rec.Votes) != 1 || rec.Votes[0].By.Principal != "os:mei" {
			t.Errorf("%s after the repair: %+v, %v", id, rec, err)
		}
	}
	if r, err = responder.New(again.Responder("web"), "web", responder.Options{}); err != nil {
		t.Fatal(err)
	}
	if err := vote(r, "lost", "jo"); err != nil {
		t.Error(err)
	}
}

// waitForCopies waits until the audit has this many copies.
func waitForCopies(t *testing.T, b *natstest.Bus, n uint64) {
	t.Helper()
	_, js := admin(t, b.Server)
	natstest.Eventually(t, "the audit has its copies", func() bool {
		s, err := js.Stream(t.Context(), "AUDIT")
		return err == nil && s.CachedInfo().State.Msgs >= n
	})
}
