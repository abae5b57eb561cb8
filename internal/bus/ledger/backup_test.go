package ledger_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/bus/broker"
	"github.com/askbus/askbus/internal/bus/ledger"
	"github.com/askbus/askbus/internal/protocol/lifecycle"
	"github.com/askbus/askbus/internal/protocol/subject"
	"github.com/askbus/askbus/internal/server/rights"
	"github.com/askbus/askbus/internal/testkit/natstest"
	"github.com/askbus/askbus/internal/testkit/waittest"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/client"
	"github.com/askbus/askbus/pkg/responder"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

func maintain(t *testing.T, b *natstest.Bus) *nats.Conn {
	t.Helper()
	return b.Connect(rights.Role{Name: rights.RoleMaintenance})
}

// save backs up a bus into a file.
func save(t *testing.T, b *natstest.Bus) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "backup")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := ledger.Backup(t.Context(), maintain(t, b), f, natstest.Logger()); err != nil {
		t.Fatal(err)
	}
	return path
}

func read(t *testing.T, path string) *ledger.BackupFile {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	b, err := ledger.ReadBackup(f)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// load acts as agents and people until stopped, and records the
// acknowledgements.
type load struct {
	mu    sync.Mutex
	asked map[ask.Key]bool
	ended map[ask.Key]ask.Outcome
}

func (l *load) run(ctx context.Context, t *testing.T, c *client.Client, r *responder.Responder, agent int, many func()) {
	t.Helper()
	for i := 0; ctx.Err() == nil; i++ {
		k := ask.Key{Tenant: "acme", Session: fmt.Sprint("s", agent), ID: fmt.Sprintf("a%d-%d", agent, i)}
		s := c.Session(k.Tenant, k.Session)
		q := ask.Ask{ID: k.ID, Questions: []ask.Question{{ID: "db", Kind: ask.KindChoice, Text: "Which?", Options: []ask.Option{{ID: "pg", Label: "PostgreSQL"}, {ID: "lite", Label: "SQLite"}}}}}
		if i%5 == 4 {
			q.Timeout = time.Second
		}
		if _, err := s.Ask(ctx, q); err != nil {
			return
		}
		l.mu.Lock()
		l.asked[k] = true
		l.mu.Unlock()
		var o ask.Outcome
		var err error
		switch i % 5 {
		case 0, 1:
			o, err = r.Answer(ctx, k, ask.Reply{Answers: []ask.Answer{{QuestionID: "db", Selected: []string{"pg"}}}, By: ask.By{Principal: "os:mei"}})
		case 2:
			o, err = s.Withdraw(ctx, k.ID, "")
		default:
			many()
			continue // still pending
		}
		if err != nil {
			return
		}
		l.mu.Lock()
		l.ended[k] = o
		l.mu.Unlock()
		many()
	}
}

// A backup contains everything that was acknowledged before it began, whatever
// happens meanwhile, and no other ends; also with other partitions.
func TestABackupUnderLoadLosesNothing(t *testing.T) {
	t.Parallel()
	b := natstest.Start(t, natstest.Options{Memory: true})
	nc := b.Connect(rights.Role{Name: rights.RoleGateway})
	c, err := client.New(nc, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	r, err := responder.New(b.Responder("web"), "web", responder.Options{})
	if err != nil {
		t.Fatal(err)
	}
	l := &load{asked: map[ask.Key]bool{}, ended: map[ask.Key]ask.Outcome{}}
	ctx, stop := context.WithCancel(t.Context())
	var agents sync.WaitGroup
	enough := make(chan struct{}, 1<<16)
	for agent := range max(2, 8/waittest.Fewer) {
		agents.Go(func() { l.run(ctx, t, c, r, agent, func() { enough <- struct{}{} }) })
	}
	for range 400 / waittest.Fewer {
		<-enough
	}
	var paths []string
	var before []*load
	for range 3 {
		l.mu.Lock()
		was := &load{asked: map[ask.Key]bool{}, ended: map[ask.Key]ask.Outcome{}}
		maps.Copy(was.asked, l.asked)
		maps.Copy(was.ended, l.ended)
		l.mu.Unlock()
		paths, before = append(paths, save(t, b)), append(before, was)
		for range 50 {
			<-enough
		}
	}
	stop()
	agents.Wait()
	for i, path := range paths {
		f := read(t, path)
		if f.Summary.Pending+f.Summary.Ended < len(before[i].asked) {
			t.Errorf("backup %d: %+v, and %d were acknowledged before", i, f.Summary, len(before[i].asked))
		}
		to := natstest.Start(t, natstest.Options{Memory: true, NoBroker: true, Ledger: ledger.Options{Retention: 720 * time.Hour}})
		opts := ledger.Options{}
		if i == 2 {
			opts.Partitions = 7
		}
		got, err := ledger.Restore(t.Context(), to.Connect(rights.Role{Name: rights.RoleLedger}), f, opts)
		if err != nil {
			t.Fatalf("restore %d: %v", i, err)
		}
		if got.Pending+got.Ended != f.Summary.Pending+f.Summary.Ended || got.Audit != f.Summary.Audit || got.Expired != 0 {
			t.Errorf("restored %+v of %+v", got, f.Summary)
		}
		led := to.Ledger()
		for k := range before[i].asked {
			s, err := led.Read(t.Context(), k)
			if err != nil || !s.Known() {
				t.Errorf("ask %s is lost: %v", k, err)
				continue
			}
			if o, ended := before[i].ended[k]; ended && (s.End == nil || s.End.Status != o.Status || s.End.AnswerID != o.AnswerID || !s.End.At.Equal(o.At)) {
				t.Errorf("ask %s: outcome %+v, was %+v", k, s.End, o)
			}
		}
	}
}

// A backup ends although an ask is stored for each message that it reads, and
// has the outcome of an ask that ends ahead of it.
func TestABackupDoesNotFollowTheEnd(t *testing.T) {
	t.Parallel()
	b := start(t, ledger.Options{Partitions: 1})
	const n = 600 // more than it reads at once
	var last lifecycle.State
	for i := range n {
		last = b.store(t, key("s1", fmt.Sprint("a", i)))
	}
	_, stream := b.place(last.Ask.Key())
	read, ended := 0, false
	err := b.led.Everything(t.Context(), stream, func(at string) error {
		if read == 0 { // the outcome is behind what the first reading reaches
			for i := range n {
				b.store(t, key("s1", fmt.Sprint("c", i)))
			}
			if _, err := b.led.Resolve(t.Context(), last, answered(last, "w1"), "", time.Now()); err != nil {
				return err
			}
		}
		ended = ended || at == subject.LedgerOutcome(0, last.Ask.Key())
		b.store(t, key("s1", fmt.Sprint("b", read)))
		if read++; read > 10*n {
			return errors.New("it follows what is stored meanwhile")
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if !ended {
		t.Errorf("of %d messages none is the outcome of %s", read, last.Ask.Key())
	}
}

// A backup has an ask that is written again with a vote ahead of each reading.
func TestABackupHasAnAskThatIsVotedOnMeanwhile(t *testing.T) {
	t.Parallel()
	b := start(t, ledger.Options{Partitions: 1})
	const n = 600 // more than it reads at once
	for i := range n {
		b.store(t, key("s1", fmt.Sprint("a", i)))
	}
	k := key("s1", "deploy")
	b.store(t, k, func(a *ask.Ask) {
		a.Questions = []ask.Question{{ID: "go", Kind: ask.KindBoolean, Text: "Deploy?"}}
		a.Approval = &ask.Approval{AnyOf: []ask.Alternative{{Need: 50}}}
	})
	vote := func(i int) error {
		s, err := b.led.Read(t.Context(), k)
		if err != nil {
			return err
		}
		by := ask.By{Principal: fmt.Sprint("os:p", i), Proof: ask.ProofOS}
		return b.led.Rewrite(t.Context(), s, lifecycle.Voted{Votes: append(slices.Clone(s.Votes()), ask.Vote{AnswerID: fmt.Sprint("v", i), By: by, Choice: ask.ChoiceApprove, At: time.Now()})})
	}
	_, stream := b.place(k)
	read, found := 0, false
	err := b.led.Everything(t.Context(), stream, func(at string) error {
		if at == subject.LedgerQuestion(0, k) {
			found = true
		}
		more := map[int]int{0: 2 * n, 999: n}[read] // at the first message of the first reading, which takes two batches, and of the second
		for i := range more {
			b.store(t, key("s1", fmt.Sprint("b", read, "-", i)))
		}
		if more > 0 { // it goes behind what this reading reaches
			if err := vote(read); err != nil {
				return err
			}
		}
		read++
		return nil
	})
	if err != nil || !found {
		t.Errorf("of %d messages none is the ask with votes: %v", read, err)
	}
}

// Pending asks of a restored ledger continue: they can be answered, expire at
// their deadline, and a posting surface gets no outcome again that it had
// settled.
func TestARestoredLedgerGoesOn(t *testing.T) {
	t.Parallel()
	b := natstest.Start(t, natstest.Options{Memory: true})
	c, err := client.New(b.Connect(rights.Role{Name: rights.RoleGateway}), client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	s := c.Session("acme", "s1")
	r, err := responder.New(b.Responder("chat"), "chat", responder.Options{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	var mu sync.Mutex
	var told []string
	settled := make(chan string, 100)
	work := func(_ context.Context, it responder.Item) error {
		name := it.Key.ID
		if it.Outcome != nil {
			name += " ended"
		}
		mu.Lock()
		told = append(told, name)
		mu.Unlock()
		settled <- name
		return nil
	}
	done := make(chan error, 1)
	go func() { done <- r.Work(ctx, work, responder.WorkOptions{}) }()
	pose := func(id string, timeout time.Duration) {
		if _, err := s.Ask(t.Context(), ask.Ask{ID: id, Timeout: timeout, Questions: []ask.Question{{Kind: ask.KindText, Text: "?"}}}); err != nil {
			t.Fatal(err)
		}
	}
	pose("seen", 0)
	waitFor(t, settled, "seen")
	if _, err := s.Withdraw(t.Context(), "seen", ""); err != nil {
		t.Fatal(err)
	}
	waitFor(t, settled, "seen ended")
	stop() // offline from now on
	<-done
	pose("waits", 0)
	pose("due", 2*time.Second)
	pose("missed", 0)
	if _, err := s.Withdraw(t.Context(), "missed", ""); err != nil {
		t.Fatal(err)
	}
	audited, err := ledger.SetAudit(t.Context(), maintain(t, b), ledger.AuditSettings{Retention: 99 * time.Hour, Bytes: 3 << 20, Refuse: true}, true)
	if err != nil {
		t.Fatal(err)
	}
	shares, err := ledger.SetShares(t.Context(), maintain(t, b), 100<<20)
	if err != nil {
		t.Fatal(err)
	}
	path := save(t, b)

	// What is past its retention is decided by the servers' time, not by this machine's.
	later := ledger.Options{Ahead: func() time.Duration { return 10 * 365 * 24 * time.Hour }}
	if got, err := ledger.Restore(t.Context(), natstest.Start(t, natstest.Options{Memory: true, NoBroker: true}).Connect(rights.Role{Name: rights.RoleLedger}), read(t, path), later); err != nil || got.Expired == 0 {
		t.Errorf("ten years later: %+v %v", got, err)
	}
	// Nobody serves or saves what was restored in part.
	part := natstest.Start(t, natstest.Options{Memory: true, NoBroker: true})
	cut := save(t, b)
	back := read(t, cut)
	if err := os.Truncate(cut, 100); err != nil {
		t.Fatal(err)
	}
	if _, err := ledger.Restore(t.Context(), part.Connect(rights.Role{Name: rights.RoleLedger}), back, ledger.Options{}); err == nil || !strings.Contains(err.Error(), "the backup is ") {
		t.Errorf("a backup that is cut off meanwhile: %v", err)
	}
	_, err = ledger.Open(t.Context(), part.Connect(rights.Role{Name: rights.RoleLedger}), ledger.Options{})
	_, saved := ledger.Backup(t.Context(), maintain(t, part), io.Discard, nil)
	for what, err := range map[string]error{"opened": err, "saved": saved} {
		if err == nil || !strings.Contains(err.Error(), "did not end, and asks are missing") {
			t.Errorf("%s, restored in part: %v", what, err)
		}
	}
	to := natstest.Start(t, natstest.Options{Memory: true, NoBroker: true})
	if _, err := ledger.Restore(t.Context(), to.Connect(rights.Role{Name: rights.RoleLedger}), read(t, path), ledger.Options{}); err != nil {
		t.Fatal(err)
	}
	if _, err := ledger.Restore(t.Context(), to.Connect(rights.Role{Name: rights.RoleLedger}), read(t, path), ledger.Options{}); err == nil || !strings.Contains(err.Error(), "the ledger is not empty") {
		t.Errorf("a second time: %v", err)
	}
	if got, err := ledger.SetAudit(t.Context(), maintain(t, to), ledger.AuditSettings{}, false); got != audited || err != nil {
		t.Errorf("the audit has %+v instead of %+v, %v", got, audited, err)
	}
	if got, err := ledger.SetShares(t.Context(), maintain(t, to), 0); got != shares || err != nil {
		t.Errorf("files and shared state have %+v instead of %+v, %v", got, shares, err)
	}
	to2 := natstest.Again(t, stopped(t, to))
	c2, err := client.New(to2.Connect(rights.Role{Name: rights.RoleGateway}), client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if o, err := c2.Session("acme", "s1").Wait(t.Context(), "due"); err != nil || o.Status != ask.StatusExpired {
		t.Errorf("due: %+v %v", o, err)
	}
	mu.Lock()
	told = nil
	mu.Unlock()
	r2, err := responder.New(to2.Responder("chat"), "chat", responder.Options{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop = context.WithCancel(t.Context())
	defer stop()
	go func() { done <- r2.Work(ctx, work, responder.WorkOptions{}) }()
	natstest.Eventually(t, "what the surface missed", func() bool {
		mu.Lock()
		defer mu.Unlock()
		all := " " + strings.Join(told, ",") + ","
		return strings.Contains(all, "missed ended,") && strings.Contains(all, "due ended,") && strings.Contains(all, "waits,")
	})
	mu.Lock()
	if all := strings.Join(told, ","); strings.Contains(all, "seen") {
		t.Errorf("settled before, and handed out again: %s", all)
	}
	mu.Unlock()
	if o, err := r2.Answer(t.Context(), ask.Key{Tenant: "acme", Session: "s1", ID: "waits"}, ask.Reply{Answers: []ask.Answer{{QuestionID: "q1", Text: "yes"}}, By: ask.By{Principal: "os:mei"}}); err != nil || o.Status != ask.StatusAnswered {
		t.Errorf("answer: %+v %v", o, err)
	}
	stop()
	<-done
}

func waitFor(t *testing.T, from <-chan string, want string) {
	t.Helper()
	for got := range from {
		if got == want {
			return
		}
	}
}

// stopped stops a bus and returns its directory.
func stopped(t *testing.T, b *natstest.Bus) string {
	t.Helper()
	b.Close()
	return b.Dir
}

func TestADamagedBackupIsRefused(t *testing.T) {
	t.Parallel()
	b := natstest.Start(t, natstest.Options{Memory: true})
	c, err := client.New(b.Connect(rights.Role{Name: rights.RoleGateway}), client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for range 20 {
		if _, err := c.Session("acme", "s1").Ask(t.Context(), ask.Ask{Questions: []ask.Question{{Kind: ask.KindText, Text: "?"}}}); err != nil {
			t.Fatal(err)
		}
	}
	whole, err := os.ReadFile(save(t, b))
	if err != nil {
		t.Fatal(err)
	}
	flipped := bytes.Clone(whole)
	flipped[len(flipped)/2] ^= 0x55
	for name, data := range map[string][]byte{"cut off": whole[:len(whole)-200], "one byte differs": flipped, "a byte follows": append(bytes.Clone(whole), 0), "another backup follows": append(bytes.Clone(whole), whole...), "empty": {}, "not a backup": []byte("hello")} {
		if _, err := ledger.ReadBackup(bytes.NewReader(data)); err == nil {
			t.Errorf("%s: it was read", name)
		} else {
			t.Logf("%s: %v", name, err)
		}
	}
}

func TestABackupNeedsALedger(t *testing.T) {
	t.Parallel()
	b := natstest.Start(t, natstest.Options{Memory: true, NoBroker: true})
	var out bytes.Buffer
	if _, err := ledger.Backup(t.Context(), maintain(t, b), &out, nil); err == nil || !strings.Contains(err.Error(), "no ledger here") {
		t.Errorf("%v", err)
	}
}

// usedOnce fails unless the ledger counts the bytes of its streams once, however
// many copies they have.
func usedOnce(t *testing.T, led *ledger.Ledger, nc *nats.Conn) {
	t.Helper()
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	natstest.Eventually(t, "the ledger counts each byte once", func() bool {
		if err := led.RefreshUsage(t.Context()); err != nil {
			t.Fatal(err)
		}
		used, _ := led.Usage()
		var all uint64
		streams := js.ListStreams(t.Context())
		for s := range streams.Info() {
			all += s.State.Bytes
		}
		if streams.Err() != nil {
			t.Fatal(streams.Err())
		}
		t.Logf("the streams have %d bytes, and the ledger counts %d", all, used)
		return used > 0 && uint64(used) < all*3/2
	})
}

// A ledger of one server moves to a cluster, at first with one copy of each
// stream. It gets three while asks run, and then one server may fail.
func TestFromOneServerToAClusterWhileAsksRun(t *testing.T) {
	t.Parallel()
	b := natstest.Start(t, natstest.Options{Memory: true, Ledger: ledger.Options{Partitions: 2}})
	c, err := client.New(b.Connect(rights.Role{Name: rights.RoleGateway}), client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	pose := func(c *client.Client, id string) error {
		_, err := c.Session("acme", "s1").Ask(t.Context(), ask.Ask{ID: id, Questions: []ask.Question{{Kind: ask.KindText, Text: "?"}}})
		return err
	}
	if err := pose(c, "moved"); err != nil {
		t.Fatal(err)
	}
	f := read(t, save(t, b))

	servers := natstest.Cluster(t)
	admin := natstest.Connect(t, servers[0], rights.Role{Name: rights.RoleMaintenance})
	if _, err := ledger.Restore(t.Context(), natstest.Connect(t, servers[0], rights.Role{Name: rights.RoleLedger}), f, ledger.Options{}); err != nil {
		t.Fatal(err)
	}
	led, err := ledger.Open(t.Context(), natstest.Connect(t, servers[1], rights.Role{Name: rights.RoleLedger}), ledger.Options{})
	if err != nil {
		t.Fatal(err)
	}
	br := broker.New(natstest.Connect(t, servers[1], rights.Role{Name: rights.RoleBroker}), led, broker.Options{})
	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() {
		if err := br.Run(ctx); err != nil {
			t.Error(err)
		}
	})
	defer running.Wait()
	defer stop()
	natstest.Eventually(t, "the broker is ready", br.Ready)
	if c, err = client.New(natstest.Connect(t, servers[1], rights.Role{Name: rights.RoleGateway}), client.Options{}); err != nil {
		t.Fatal(err)
	}
	asking, enough := context.WithCancel(t.Context())
	asked := make(chan []string, 1)
	go func() {
		var ids []string
		for i := 0; asking.Err() == nil; i++ {
			id := fmt.Sprint("during-", i)
			if err := pose(c, id); err != nil {
				t.Errorf("%s: %v", id, err)
			}
			ids = append(ids, id)
		}
		asked <- ids
	}()
	limit, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if led.Alone() { // its one copy is to become three, which it is not told
		t.Error("one copy in a cluster counts as a server of its own")
	}
	before, after, err := ledger.Set(limit, admin, ledger.Settings{Replicas: 3})
	if err != nil || before.Replicas != 1 || after.Replicas != 3 {
		t.Fatalf("%+v to %+v: %v", before, after, err)
	}
	if n, err := ledger.SetAuditCopies(limit, admin, 3); err != nil || n != 3 {
		t.Fatalf("%d copies of the audit: %v", n, err)
	}
	enough()
	ids := append(<-asked, "moved")
	usedOnce(t, led, admin)
	servers[2].Close()
	for _, id := range ids {
		natstest.Eventually(t, id, func() bool {
			s, err := led.Read(t.Context(), ask.Key{Tenant: "acme", Session: "s1", ID: id})
			return err == nil && s.Pending()
		})
	}
	t.Logf("%d asks while the copies were made", len(ids)-1)
}
