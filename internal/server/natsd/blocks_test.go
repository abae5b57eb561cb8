package natsd_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/askbus/askbus/internal/protocol/subject"
	"github.com/askbus/askbus/internal/server/natsd"
	"github.com/askbus/askbus/internal/server/rights"
	"github.com/askbus/askbus/internal/server/storecheck"
	"github.com/askbus/askbus/internal/testkit/natstest"
	question "github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/client"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// large returns an ask of which about 85 fill a block file.
func large(id string) question.Ask {
	a := simple(id)
	a.Context = strings.Repeat("x", 60_000)
	return a
}

// fill stores n large asks, a0 and on.
func fill(t *testing.T, c client.Session, n int) {
	t.Helper()
	each(t, n, func(ctx context.Context, id string) error {
		_, err := c.Ask(ctx, large(id))
		return err
	})
}

func each(t *testing.T, n int, do func(ctx context.Context, id string) error) {
	t.Helper()
	var all sync.WaitGroup
	for worker := range 8 {
		all.Go(func() {
			for i := worker; i < n; i += 8 {
				if err := do(t.Context(), fmt.Sprintf("a%d", i)); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
	if t.Failed() {
		t.FailNow()
	}
}

// copied copies a directory: of a running bus, as SIGKILL would leave it.
func copied(t *testing.T, from string) string {
	t.Helper()
	for {
		dir := t.TempDir()
		err := natstest.CopyDir(dir, from)
		if err == nil {
			return dir
		}
		if !errors.Is(err, os.ErrNotExist) || t.Context().Err() != nil { // a file was removed during the copy
			t.Fatal(err)
		}
	}
}

// blockFiles returns the block files of the first stream, in order.
func blockFiles(t *testing.T, dir string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "nats", "jetstream", "A*", "streams", "ASKS_00", "msgs", "*.blk"))
	if err != nil {
		t.Fatal(err)
	}
	number := func(path string) int {
		n, err := strconv.Atoi(strings.TrimSuffix(filepath.Base(path), ".blk"))
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	slices.SortFunc(files, func(a, b string) int { return cmp.Compare(number(a), number(b)) })
	return files
}

// waitForBlocks waits until the existing files are recorded.
func waitForBlocks(t *testing.T, dir string) {
	t.Helper()
	natstest.Eventually(t, "the block files are remembered", func() bool {
		files := blockFiles(t, dir)
		data, err := os.ReadFile(filepath.Join(dir, "blocks"))
		var list struct {
			Streams map[string]json.RawMessage `json:"streams"`
		}
		if err != nil || json.Unmarshal(data, &list) != nil {
			return false
		}
		of := string(list.Streams["ASKS_00"])
		return len(files) > 0 && strings.Count(of, `"block":`) == len(files) && strings.Count(of, `"sealed":true`) == len(files)-1
	})
}

// starts checks that a store starts, and stops it again.
func starts(t *testing.T, dir string) {
	t.Helper()
	for range 2 { // also after a clean stop
		srv, err := natsd.Start(natsd.Options{Dir: dir, Addr: "127.0.0.1:0"})
		if err != nil {
			t.Fatal(err)
		}
		srv.Close()
	}
}

// tree lists the names and sizes of everything in a directory.
func tree(t *testing.T, dir string) string {
	t.Helper()
	var b strings.Builder
	err := filepath.Walk(dir, func(path string, info os.FileInfo, err error) error {
		if err == nil && !info.IsDir() {
			fmt.Fprintf(&b, "%s %d\n", path, info.Size())
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// Any missing block file is reported, after a clean stop or a crash, and the
// rest is left unchanged.
func TestAMissingBlockFileIsAnError(t *testing.T) {
	t.Parallel()
	const asks = 320
	b, c := asker(t, natstest.Options{})
	fill(t, c, asks)
	waitForBlocks(t, b.Dir)
	waitForMark(t, b.Dir, fmt.Sprintf(`"ASKS_00":%d`, asks+1))
	crashed := copied(t, b.Dir)
	b.Close()
	stopped := b.Dir
	files := len(blockFiles(t, stopped))
	if files < 3 {
		t.Fatalf("%d block files", files)
	}
	for name, from := range map[string]string{"after a crash": crashed, "after a clean stop": stopped} {
		for where, at := range map[string]int{"first": 0, "middle": 1, "last": files - 1} {
			t.Run("the "+where+" is missing "+name, func(t *testing.T) {
				t.Parallel()
				dir := copied(t, from)
				path := blockFiles(t, dir)[at]
				remove(t, path)
				before := tree(t, dir)
				for range 2 {
					wants(t, refused(t, dir, "127.0.0.1:0"), path+" is missing", "corrupt", "backup", "high-water", "askbus ledger check", "askbus ledger repair --accept-loss")
				}
				if after := tree(t, dir); after != before {
					t.Errorf("the store was changed from\n%s to\n%s", before, after)
				}
				repaired(t, dir, asks, from == stopped)
			})
		}
	}
}

// repaired repairs a store that lost asks and checks that it has the others.
func repaired(t *testing.T, dir string, asks int, exact bool) {
	t.Helper()
	var first uint64 // the message with which the partition begins, if its file is there
	if filepath.Base(blockFiles(t, dir)[0]) == "1.blk" {
		first = 1
	}
	r, err := storecheck.Check(dir)
	if err != nil || len(r.Damages) != 1 {
		t.Fatalf("check: %+v, %v", r, err)
	}
	lost := map[string]bool{}
	for _, id := range r.Damages[0].Asks {
		lost[id] = true
	}
	if exact && (len(lost) == 0 || len(lost) == asks) {
		t.Fatalf("check names %d lost asks of %d", len(lost), asks)
	}
	if r, err = storecheck.Repair(dir, false); err != nil || r.Aside == "" {
		t.Fatalf("repair: %+v, %v", r, err)
	}
	starts(t, dir)
	b, err := storecheck.Check(dir)
	if err != nil || len(b.Damages) != 0 {
		t.Fatalf("check after it: %+v, %v", b, err)
	}
	srv := natstest.Serve(t, dir, "127.0.0.1:0", 0)
	if n := messages(t, srv); n == 0 || n >= uint64(asks) || exact && n != uint64(asks-len(lost))+first {
		t.Errorf("%d of %d asks are left; %d were said to be lost", n, asks, len(lost))
	}
	if next := publish(t, srv, "ledgerv1.00.acme.s1.next.r.web"); next != uint64(asks+2) {
		t.Errorf("the next sequence is %d after %d: one is given out twice", next, asks)
	}
}

func publish(t *testing.T, s *natsd.Server, subject string) uint64 {
	t.Helper()
	_, js := admin(t, s)
	ack, err := js.Publish(t.Context(), subject, []byte("{}"))
	if err != nil {
		t.Fatal(err)
	}
	return ack.Sequence
}

func admin(t *testing.T, s *natsd.Server) (*nats.Conn, jetstream.JetStream) {
	t.Helper()
	nc := natstest.Plain(t, s, rights.Role{Name: rights.RoleLedgerAdmin})
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	return nc, js
}

// Block files that the server removed because all their asks were answered are
// not damage; missing outcomes are.
func TestBlockFilesOfAnsweredAsksMayGo(t *testing.T) {
	t.Parallel()
	const asks = 400
	b, c := asker(t, natstest.Options{})
	fill(t, c, asks)
	waitForBlocks(t, b.Dir)
	before := blockFiles(t, b.Dir) // the first keeps the message that nothing removes
	lagging, err := os.ReadFile(filepath.Join(b.Dir, "blocks"))
	if err != nil {
		t.Fatal(err)
	}
	each(t, asks, func(ctx context.Context, id string) error {
		_, err := c.Withdraw(ctx, id, "")
		return err
	})
	natstest.Eventually(t, "a block file is gone", func() bool {
		return slices.ContainsFunc(before, func(path string) bool {
			_, err := os.Stat(path)
			return os.IsNotExist(err)
		})
	})
	waitForBlocks(t, b.Dir)
	crashed := copied(t, b.Dir)
	old := copied(t, b.Dir) // a power cut leaves an older list
	write(t, filepath.Join(old, "blocks"), string(lagging))
	b.Close()
	stopped := copied(t, b.Dir)
	forgotten := copied(t, b.Dir) // of a version without lists
	for _, name := range []string{"blocks", "clean-stop"} {
		remove(t, filepath.Join(forgotten, name))
	}
	for name, dir := range map[string]string{"after a crash": crashed, "with an old list": old, "after a clean stop": stopped, "with no list": forgotten} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			gone := copied(t, dir)
			starts(t, dir)
			path := blockFiles(t, gone)[1] // the first has no ask
			remove(t, path)
			if name == "with an old list" {
				return // that file is not in it
			}
			wants(t, refused(t, gone, "127.0.0.1:0"), path+" is missing")
		})
	}
}

// Block files whose outcomes have all expired are not damage.
func TestBlockFilesOfExpiredOutcomesMayGo(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := natstest.Serve(t, dir, "127.0.0.1:0", 0)
	_, js := admin(t, s)
	stream, err := js.CreateStream(t.Context(), jetstream.StreamConfig{Name: "ASKS_00", Subjects: []string{"ledgerv1.00.>"}, AllowMsgTTL: true})
	if err != nil {
		t.Fatal(err)
	}
	put := func(id, ttl string) {
		msg := nats.NewMsg("ledgerv1.00.acme.s1." + id + ".o")
		msg.Data = make([]byte, 900_000)
		msg.Header.Set("Nats-TTL", ttl)
		if _, err := js.PublishMsg(t.Context(), msg); err != nil {
			t.Fatal(err)
		}
	}
	put("a0", "10s")
	first := blockFiles(t, dir)[0]
	for i := range 11 {
		put(fmt.Sprintf("a%d", i+1), "10s")
	}
	for i := range 12 {
		put(fmt.Sprintf("b%d", i), "1h")
	}
	waitForBlocks(t, dir)
	list, err := os.ReadFile(filepath.Join(dir, "blocks"))
	if err != nil {
		t.Fatal(err)
	}
	natstest.Eventually(t, "the first outcomes have expired", func() bool {
		info, err := stream.Info(t.Context())
		_, gone := os.Stat(first)
		return err == nil && info.State.Msgs == 12 && os.IsNotExist(gone)
	})
	crashed := copied(t, dir)
	write(t, filepath.Join(crashed, "blocks"), string(list))
	s.Close()
	for _, dir := range []string{crashed, dir} {
		left := copied(t, dir)
		starts(t, dir)
		path := blockFiles(t, left)[0] // its last hour has not passed
		remove(t, path)
		wants(t, refused(t, left, "127.0.0.1:0"), path+" is missing")
	}
}

// A file that was truncated between two messages is reported after a clean
// stop, and every readable message of a damaged one is recovered.
func TestADamagedBlockFileIsRepaired(t *testing.T) {
	t.Parallel()
	const asks = 200
	b, c := asker(t, natstest.Options{})
	fill(t, c, asks)
	b.Close()
	for name, damage := range map[string]func(t *testing.T, dir string){
		"a bit flips in a message":         func(t *testing.T, dir string) { t.Helper(); flip(t, blockFiles(t, dir)[0], 300_000) },
		"a bit flips in a length":          func(t *testing.T, dir string) { t.Helper(); flip(t, blockFiles(t, dir)[0], 2) },
		"the end is cut":                   func(t *testing.T, dir string) { t.Helper(); path := blockFiles(t, dir); cut(t, path[len(path)-1]) },
		"the end of the first is cut":      func(t *testing.T, dir string) { t.Helper(); cut(t, blockFiles(t, dir)[0]) },
		"the end is cut, and no list kept": func(t *testing.T, dir string) { t.Helper(); forget(t, dir); cut(t, slices.Max(blockFiles(t, dir))) },
		"a bit of the first, with no list": func(t *testing.T, dir string) { t.Helper(); forget(t, dir); flip(t, blockFiles(t, dir)[0], 300_000) },
		"the index is damaged and the file": func(t *testing.T, dir string) {
			t.Helper()
			flip(t, index(t, dir), 50)
			flip(t, blockFiles(t, dir)[1], 300_000)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := copied(t, b.Dir)
			damage(t, dir)
			before := tree(t, dir)
			wants(t, refused(t, dir, "127.0.0.1:0"), "corrupt", ".blk cannot be read at byte", "askbus ledger repair")
			r, err := storecheck.Check(dir)
			if err != nil || len(r.Damages) != 1 {
				t.Fatalf("check: %+v, %v", r, err)
			}
			if after := tree(t, dir); after != before {
				t.Errorf("check changed the store from\n%s to\n%s", before, after)
			}
			if r, err = storecheck.Repair(dir, false); err != nil {
				t.Fatal(err)
			}
			kept, err := filepath.Glob(filepath.Join(r.Aside, "ASKS_00", "*.blk"))
			if err != nil || len(kept) != 1 {
				t.Errorf("kept: %v, %v", kept, err)
			}
			srv := natstest.Serve(t, dir, "127.0.0.1:0", 0)
			// A partition begins with one permanent message, ahead of its asks.
			if n := messages(t, srv); n != asks {
				t.Errorf("%d of %d messages are left; one was damaged", n, asks+1)
			}
			if next := publish(t, srv, "ledgerv1.00.acme.s1.next.r.web"); next != asks+2 {
				t.Errorf("the next sequence is %d", next)
			}
		})
	}
}

func index(t *testing.T, dir string) string {
	t.Helper()
	return filepath.Join(streamDir(t, dir), "msgs", "index.db")
}

func forget(t *testing.T, dir string) {
	t.Helper()
	for _, name := range []string{"blocks", "clean-stop"} {
		remove(t, filepath.Join(dir, name))
	}
}

func cut(t *testing.T, path string) {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	truncate(t, path, info.Size()-10)
}

func TestNothingIsRepairedThatIsWholeOrInUse(t *testing.T) {
	t.Parallel()
	b, c := asker(t, natstest.Options{})
	if _, err := c.Ask(t.Context(), simple("a1")); err != nil {
		t.Fatal(err)
	}
	if _, err := storecheck.Repair(b.Dir, false); err == nil || !strings.Contains(err.Error(), "in use") {
		t.Errorf("a store in use: %v", err)
	}
	b.Close()
	before := tree(t, b.Dir)
	if _, err := storecheck.Repair(b.Dir, true); err == nil || !strings.Contains(err.Error(), "no peers") {
		t.Errorf("of a server alone, from its peers: %v", err)
	}
	if r, err := storecheck.Repair(b.Dir, false); err != nil || len(r.Damages) != 0 || r.Aside != "" {
		t.Errorf("a whole store: %+v, %v", r, err)
	}
	if after := tree(t, b.Dir); after != before {
		t.Errorf("it was changed from\n%s to\n%s", before, after)
	}
	if _, err := storecheck.Check(t.TempDir()); err == nil || !strings.Contains(err.Error(), "no store") {
		t.Errorf("an empty directory: %v", err)
	}
}

// The audit is written without syncing. Whatever it loses, asks continue, and
// the damaged files are kept.
func TestADamagedAuditStopsNothing(t *testing.T) {
	t.Parallel()
	for name, damage := range map[string]func(t *testing.T, stream string){
		"its configuration is empty": func(t *testing.T, stream string) {
			t.Helper()
			truncate(t, filepath.Join(stream, "meta.inf"), 0)
		},
		"its end is missing": func(t *testing.T, stream string) {
			t.Helper()
			blocks, err := filepath.Glob(filepath.Join(stream, "msgs", "*.blk"))
			if err != nil || len(blocks) == 0 {
				t.Fatalf("block files %v: %v", blocks, err)
			}
			truncate(t, blocks[len(blocks)-1], 0)
		},
		"all of it is missing": func(t *testing.T, stream string) {
			t.Helper()
			if err := os.RemoveAll(stream); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, c := asker(t, natstest.Options{})
			if _, err := c.Ask(t.Context(), simple("a1")); err != nil {
				t.Fatal(err)
			}
			js, err := jetstream.New(b.LedgerAdmin())
			if err != nil {
				t.Fatal(err)
			}
			natstest.Eventually(t, "the audit has the ask", func() bool {
				s, err := js.Stream(t.Context(), subject.AuditStream)
				return err == nil && s.CachedInfo().State.Msgs > 0
			})
			b.Close()
			damage(t, filepath.Join(streamDir(t, b.Dir), "..", subject.AuditStream))
			var said bytes.Buffer
			srv, err := natsd.Start(natsd.Options{Dir: b.Dir, Addr: "127.0.0.1:0", Admin: true, Logger: slog.New(slog.NewTextHandler(&said, nil))})
			if err != nil {
				t.Fatal(err)
			}
			defer srv.Close()
			if got := messages(t, srv); got == 0 {
				t.Error("the ask is gone")
			}
			wants(t, said.String(), "the audit has lost records", "kept="+filepath.Join(b.Dir, "damaged-"))
		})
	}
}
