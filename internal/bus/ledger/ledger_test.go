package ledger_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/bus/ledger"
	"github.com/askbus/askbus/internal/protocol/cloudevent"
	"github.com/askbus/askbus/internal/protocol/lifecycle"
	"github.com/askbus/askbus/internal/protocol/subject"
	"github.com/askbus/askbus/internal/protocol/wire"
	"github.com/askbus/askbus/internal/server/rights"
	"github.com/askbus/askbus/internal/testkit/natstest"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// bus is a server without a broker, its ledger, and an administrator's
// connection.
type bus struct {
	*natstest.Bus
	led   *ledger.Ledger
	admin *nats.Conn
	js    jetstream.JetStream
}

func start(t *testing.T, opts ledger.Options) *bus {
	t.Helper()
	b := &bus{Bus: natstest.Start(t, natstest.Options{NoBroker: true, Ledger: opts})}
	b.led, b.admin = b.Ledger(), b.LedgerAdmin()
	var err error
	if b.js, err = jetstream.New(b.admin); err != nil {
		t.Fatal(err)
	}
	return b
}

func key(session, id string) ask.Key { return ask.Key{Tenant: "acme", Session: session, ID: id} }

func question(t *testing.T, k ask.Key, now time.Time, change ...func(*ask.Ask)) lifecycle.State {
	t.Helper()
	a := ask.Ask{ID: k.ID, Tenant: k.Tenant, Session: k.Session, Timeout: time.Hour, Questions: []ask.Question{{
		ID: "db", Text: "Which database?", Options: []ask.Option{{ID: "pg", Label: "PostgreSQL"}, {ID: "lite", Label: "SQLite"}},
	}}}
	for _, c := range change {
		c(&a)
	}
	a.Normalize()
	q := lifecycle.New(a, now)
	raw, err := wire.EncodeAsk(q.Ask)
	if err != nil {
		t.Fatal(err)
	}
	digest, err := wire.DigestJSON(raw)
	if err != nil {
		t.Fatal(err)
	}
	q.EventID, q.Life, q.RawAsk, q.Digests = "e-"+k.ID, cloudevent.NewID(), raw, []string{digest}
	return q
}

func (b *bus) store(t *testing.T, k ask.Key, change ...func(*ask.Ask)) lifecycle.State {
	t.Helper()
	s, err := b.led.Store(t.Context(), question(t, k, time.Now(), change...))
	if err != nil {
		t.Fatalf("store %s: %v", k, err)
	}
	return s
}

func answered(q lifecycle.State, id string) ask.Outcome {
	return ask.Outcome{
		AskID: q.Ask.ID, Tenant: q.Ask.Tenant, Session: q.Ask.Session, Status: ask.StatusAnswered, Source: ask.SourceHuman,
		AnswerID: id, Answers: []ask.Answer{{QuestionID: "db", Selected: []string{"pg"}}}, By: &ask.By{Principal: "os:mei", Responder: "web"},
		At: q.AskedAt.Add(time.Second), Waited: time.Second,
	}
}

// place returns the partition and stream of an ask.
func (b *bus) place(k ask.Key) (p int, stream string) {
	p = subject.Partition(k.Tenant, k.Session, b.led.Partitions())
	return p, subject.Stream(p)
}

// held returns the messages of a subject, oldest first.
func (b *bus) held(t *testing.T, k ask.Key, kind string) []*jetstream.RawStreamMsg {
	t.Helper()
	p, name := b.place(k)
	s, err := b.js.Stream(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	var all []*jetstream.RawStreamMsg
	for seq := uint64(1); ; {
		m, err := s.GetMsg(t.Context(), seq, jetstream.WithGetMsgSubject(subject.LedgerAll(p, k, kind)))
		if errors.Is(err, jetstream.ErrMsgNotFound) {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, m)
		seq = m.Sequence + 1
	}
}

// forge stores a message with an administrator's rights, ignoring every rule.
func (b *bus) forge(t *testing.T, subj string, header nats.Header, data []byte) uint64 {
	t.Helper()
	ack, err := b.js.PublishMsg(t.Context(), &nats.Msg{Subject: subj, Header: header, Data: data})
	if err != nil {
		t.Fatalf("forge %s: %v", subj, err)
	}
	return ack.Sequence
}

// copied returns the headers of a stored message with these prefixes.
func copied(m *jetstream.RawStreamMsg, prefixes ...string) nats.Header {
	h := nats.Header{}
	for name, values := range m.Header {
		if slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(name, p) }) {
			h[name] = values
		}
	}
	return h
}

// ghost leaves the question and outcome of one ask, as a crash between the two
// steps of the server does.
func (b *bus) ghost(t *testing.T, k ask.Key) lifecycle.State {
	t.Helper()
	q := b.store(t, k)
	o := answered(q, "w1")
	data, err := wire.EncodeOutcome(&o, q.RawAsk)
	if err != nil {
		t.Fatal(err)
	}
	msg, err := cloudevent.OutcomeEvent("", &o, data).Msg(cloudevent.Binary)
	if err != nil {
		t.Fatal(err)
	}
	p, _ := b.place(k)
	b.forge(t, subject.LedgerOutcome(p, k), msg.Header, msg.Data)
	if len(b.held(t, k, subject.Question)) != 1 {
		t.Fatal("the question is already gone, so this is not a ghost")
	}
	return q
}

func TestStreamsAreConfiguredAsDesigned(t *testing.T) {
	t.Parallel()
	b := start(t, ledger.Options{Partitions: 3})
	if n := b.led.Partitions(); n != 3 {
		t.Fatalf("%d partitions", n)
	}
	for p := range 3 {
		s, err := b.js.Stream(t.Context(), subject.Stream(p))
		if err != nil {
			t.Fatal(err)
		}
		got := s.CachedInfo().Config
		want := jetstream.StreamConfig{
			Name: fmt.Sprintf("ASKS_%02d", p), Subjects: []string{fmt.Sprintf("ledgerv1.%02d.>", p)}, Storage: jetstream.FileStorage,
			Replicas: 1, Retention: jetstream.LimitsPolicy, Discard: jetstream.DiscardOld, MaxMsgsPerSubject: -1, MaxAge: 0,
			MaxBytes: -1, MaxMsgs: -1, MaxMsgSize: -1, MaxConsumers: -1, Duplicates: 2 * time.Minute,
			AllowDirect: true, AllowMsgTTL: true, AllowMsgSchedules: true, AllowRollup: true, AllowAtomicPublish: true, DenyDelete: true,
			RePublish: &jetstream.RePublish{
				Source:      "ledgerv1.*.*.*.*.*",
				Destination: "outv1.{{wildcard(2)}}.{{wildcard(3)}}.{{wildcard(4)}}.{{wildcard(5)}}",
			},
		}
		if got.Metadata["askbus.partitions"] != "3" {
			t.Errorf("stream %d says %q partitions", p, got.Metadata["askbus.partitions"])
		}
		got.Metadata, got.Description = nil, ""
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("stream %d (-want +got):\n%s", p, diff)
		}
	}
}

func TestOpenAdoptsThePartitionsOfTheLedger(t *testing.T) {
	t.Parallel()
	b := start(t, ledger.Options{Partitions: 2})
	again, err := ledger.Open(t.Context(), b.Connect(rights.Role{Name: rights.RoleLedger}), ledger.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if again.Partitions() != 2 {
		t.Errorf("opened with %d partitions; the ledger has 2", again.Partitions())
	}
	k := key("s1", "a1")
	b.store(t, k)
	if e, err := again.Read(t.Context(), k); err != nil || !e.Pending() {
		t.Errorf("an ask stored by one is read by the other as %+v, %v", e, err)
	}
	names := 0
	for name := range b.js.StreamNames(t.Context()).Name() {
		if strings.HasPrefix(name, "ASKS_") {
			names++
		}
	}
	if names != 2 {
		t.Errorf("%d streams; opening again must not add any", names)
	}
}

func TestTwoBrokersThatCreateTheLedgerAtOnceAgree(t *testing.T) {
	t.Parallel()
	b := natstest.Start(t, natstest.Options{NoBroker: true})
	const n = 6
	var all sync.WaitGroup
	var opened atomic.Int64
	for i := range n {
		nc := b.Connect(rights.Role{Name: rights.RoleLedger})
		all.Go(func() {
			led, err := ledger.Open(t.Context(), nc, ledger.Options{Partitions: i + 1})
			switch {
			case err == nil:
				if opened.Add(1); led.Partitions() != i+1 {
					t.Errorf("told %d partitions, opened %d", i+1, led.Partitions())
				}
			case !strings.Contains(err.Error(), "differ from the ledger's"):
				t.Errorf("open with %d: %v", i+1, err)
			}
		})
	}
	all.Wait()
	if n := opened.Load(); n != 1 {
		t.Errorf("%d brokers opened the ledger, each with other partitions", n)
	}
}

func TestOpenRefusesAForeignStream(t *testing.T) {
	t.Parallel()
	b := natstest.Start(t, natstest.Options{NoBroker: true})
	js, err := jetstream.New(b.LedgerAdmin())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := js.CreateStream(t.Context(), jetstream.StreamConfig{Name: "ASKS_00", Subjects: []string{"foreign"}}); err != nil {
		t.Fatal(err)
	}
	_, err = ledger.Open(t.Context(), b.Connect(rights.Role{Name: rights.RoleLedger}), ledger.Options{})
	if err == nil || !strings.Contains(err.Error(), "not made by askbus") {
		t.Errorf("opened over a foreign stream: %v", err)
	}
}

func TestOptionsAreRefused(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]ledger.Options{
		"too many partitions":   {Partitions: 100},
		"negative partitions":   {Partitions: -1},
		"too many replicas":     {Replicas: 6},
		"a retention too short": {Retention: time.Millisecond},
		"a margin too short":    {Margin: time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, err := ledger.Open(t.Context(), nil, o); err == nil {
				t.Error("accepted")
			}
		})
	}
}

func TestStoreComparesAndSets(t *testing.T) {
	t.Parallel()
	b := start(t, ledger.Options{})
	k := key("s1", "a1")
	q := b.store(t, k)
	if _, err := b.led.Store(t.Context(), q); !ledger.IsRace(err) {
		t.Errorf("storing a pending ask again: %v", err)
	}
	if err := b.led.Receipt(t.Context(), key("s1", "a2"), ask.Receipt{Type: "slack", State: ask.ReceiptPosted, Life: "earlier"}, time.Now(), time.Now()); err != nil {
		t.Fatal(err)
	}
	b.store(t, key("s1", "a2")) // a receipt of an earlier life does not count
	if _, err := b.led.Resolve(t.Context(), q, answered(q, "w1"), "", time.Now()); err != nil {
		t.Fatal(err)
	}
	if _, err := b.led.Store(t.Context(), q); !ledger.IsRace(err) {
		t.Errorf("storing a resolved ask again: %v", err)
	}
	if _, err := b.led.Resolve(t.Context(), q, answered(q, "w2"), "", time.Now()); !ledger.IsRace(err) {
		t.Errorf("a second outcome: %v", err)
	}
	e, err := b.led.Read(t.Context(), k)
	if err != nil || e.End == nil || e.End.AnswerID != "w1" {
		t.Errorf("read %+v, %v", e, err)
	}
	if left := b.held(t, k, subject.Question); len(left) != 0 {
		t.Errorf("the question is still there after its outcome")
	}
}

func TestHeadersOfQuestionOutcomeAndReceipt(t *testing.T) {
	t.Parallel()
	b := start(t, ledger.Options{Retention: 100 * time.Second, Margin: 50 * time.Second})
	k := key("s1", "a1")
	now := time.Now().UTC()
	p, _ := b.place(k)
	q := question(t, k, now)
	stored, err := b.led.Store(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	check := func(what string, got nats.Header, want map[string]string) {
		t.Helper()
		for name, value := range want {
			if got.Get(name) != value {
				t.Errorf("%s: header %s is %q, want %q", what, name, got.Get(name), value)
			}
		}
	}
	check("question", b.held(t, k, subject.Question)[0].Header, map[string]string{
		"Nats-Schedule":        "@at " + now.Add(time.Hour).Format(time.RFC3339Nano),
		"Nats-Schedule-Target": subject.LedgerOutcome(p, k),
		"Nats-Schedule-TTL":    "100s",
		"Nats-TTL":             "never",
		"ce-type":              cloudevent.TypeAsked,
		"ce-expirytime":        now.Add(time.Hour).Format(time.RFC3339Nano),
		"Nats-Msg-Id":          "",
		"Nats-Schedule-Source": "",
	})
	if err := b.led.Receipt(t.Context(), k, ask.Receipt{Type: "slack", State: ask.ReceiptPosting, Life: q.Life}, q.Ask.Deadline, now.Add(10*time.Minute)); err != nil {
		t.Fatal(err)
	}
	// 50 minutes until the deadline, and the two options.
	check("receipt", b.held(t, k, subject.Receipt+".slack")[0].Header, map[string]string{"Nats-TTL": "3150s", "Nats-Rollup": "sub"})
	if _, err := b.led.Resolve(t.Context(), stored, answered(stored, "w1"), "", now.Add(59*time.Minute+1500*time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	check("outcome", b.held(t, k, subject.Outcome)[0].Header, map[string]string{
		"Nats-TTL": "209s", "Nats-Scheduler": subject.LedgerQuestion(p, k), "Nats-Schedule-Next": "purge", "ce-type": cloudevent.TypeResolved,
	})
	// Overdue: no time left until the deadline.
	k2 := key("s1", "a2")
	late := b.store(t, k2)
	if _, err := b.led.Resolve(t.Context(), late, answered(late, "w1"), "", now.Add(9*time.Hour)); err != nil {
		t.Fatal(err)
	}
	check("late outcome", b.held(t, k2, subject.Outcome)[0].Header, map[string]string{"Nats-TTL": "150s"})
}

// A crash during a rewrite of a question can leave two messages on its subject.
func TestTheLastQuestionAndTheFirstOutcomeCount(t *testing.T) {
	t.Parallel()
	b := start(t, ledger.Options{})
	k := key("s1", "a1")
	p, _ := b.place(k)
	q := b.store(t, k)
	raw := b.held(t, k, subject.Question)[0]
	seq := b.forge(t, subject.LedgerQuestion(p, k), copied(raw, "ce-", "Content-Type", "Askbus-", "Nats-Schedule", "Nats-TTL"), bytes.Replace(raw.Data, []byte("Which database?"), []byte("Which database now?"), 1))
	for name, read := range map[string]func(context.Context, ask.Key) (lifecycle.State, error){"leader": b.led.Read, "any": b.led.ReadAny} {
		s, err := read(t.Context(), k)
		if err != nil || s.Version != seq || s.Life != q.Life || s.Ask.Questions[0].Text != "Which database now?" {
			t.Errorf("%s: %+v, %v", name, s, err)
		}
	}
	if _, err := b.led.Resolve(t.Context(), q, answered(q, "w1"), "", time.Now()); err != nil {
		t.Fatal(err)
	}
	// A late timer writes the expiry after the outcome.
	b.forge(t, subject.LedgerOutcome(p, k), copied(raw, "ce-", "Content-Type", "Askbus-"), raw.Data)
	s, err := b.led.Read(t.Context(), k)
	if err != nil || s.End == nil || s.End.AnswerID != "w1" || s.Timed || s.Life != q.Life || s.Digest() != q.Digest() || s.EventID != q.EventID {
		t.Errorf("ended: %+v, %v", s, err)
	}
}

func TestLastReceiptWinsAndOneOfAnotherLifeCountsAsNone(t *testing.T) {
	t.Parallel()
	b := start(t, ledger.Options{})
	k := key("s1", "a1")
	q := b.store(t, k)
	now := time.Now()
	for _, r := range []ask.Receipt{
		{Type: "slack", State: ask.ReceiptPosting, Life: q.Life, Key: "k1"},
		{Type: "slack", State: ask.ReceiptPosted, Life: q.Life, Key: "k1", Places: []ask.Place{{Where: "#ops"}}},
		{Type: "mail", State: ask.ReceiptPosted, Life: "another"},
	} {
		if err := b.led.Receipt(t.Context(), k, r, q.Ask.Deadline, now); err != nil {
			t.Fatal(err)
		}
	}
	got, err := b.led.Receipts(t.Context(), k, q.Life)
	if err != nil || len(got) != 1 || got[0].Type != "slack" || got[0].State != ask.ReceiptPosted || got[0].Words() != "#ops" {
		t.Errorf("receipts %+v, %v", got, err)
	}
	if n := len(b.held(t, k, subject.Receipt+".slack")); n != 1 {
		t.Errorf("%d receipts are kept; the last one replaces the others", n)
	}
}

func TestEveryReadRemovesAGhost(t *testing.T) {
	t.Parallel()
	b := start(t, ledger.Options{})
	work := ledger.NewWork(b.led)
	if _, err := work.Next(t.Context(), ledger.Group{Type: "slack"}, subject.Question, 10); err != nil {
		t.Fatal(err)
	}
	meet := map[string]func(ctx context.Context, k ask.Key) error{
		"read": func(ctx context.Context, k ask.Key) error {
			e, err := b.led.Read(ctx, k)
			if err == nil && (e.End == nil || e.End.AnswerID != "w1") {
				err = fmt.Errorf("read %+v", e)
			}
			return err
		},
		"list": func(ctx context.Context, k ask.Key) error {
			items, _, err := b.led.List(ctx, wire.Query{Tenant: k.Tenant, Session: k.Session, State: "pending", Limit: 100})
			if err == nil && len(items) != 0 {
				err = fmt.Errorf("listed %+v", items)
			}
			return err
		},
		"start": func(ctx context.Context, _ ask.Key) error { return b.led.RemoveGhosts(ctx) },
		"next": func(ctx context.Context, k ask.Key) error {
			// A new consumer may report at first that it has no messages.
			for range 100 {
				items, err := work.Next(ctx, ledger.Group{Type: "slack"}, subject.Question, 10)
				if err != nil || len(items) != 0 {
					return fmt.Errorf("handed out %+v: %w", items, err)
				}
				if len(b.held(t, k, subject.Question)) == 0 {
					break
				}
			}
			return nil
		},
	}
	for _, name := range []string{"read", "list", "start", "next"} {
		k := key("ghost-"+name, "a1")
		b.ghost(t, k)
		if err := meet[name](t.Context(), k); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if left := b.held(t, k, subject.Question); len(left) != 0 {
			t.Errorf("%s left the ghost", name)
		}
		if left := b.held(t, k, subject.Outcome); len(left) != 1 {
			t.Errorf("%s: %d outcomes", name, len(left))
		}
	}
}

// However many outcomes lie at the end of a stream, and however few of them the server sends at once.
func TestTheGhostOfTheVeryLastOutcomeIsRemoved(t *testing.T) {
	t.Parallel()
	b := start(t, ledger.Options{Partitions: 1})
	k := key("s1", "a1")
	q := b.store(t, k)
	o := answered(q, "w1")
	data, err := wire.EncodeOutcome(&o, q.RawAsk)
	if err != nil {
		t.Fatal(err)
	}
	msg, err := cloudevent.OutcomeEvent("", &o, data).Msg(cloudevent.Binary)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 1024 {
		b.forge(t, subject.LedgerOutcome(0, key("s1", fmt.Sprint("other-", i))), msg.Header, msg.Data)
	}
	b.forge(t, subject.LedgerOutcome(0, k), msg.Header, msg.Data)
	if err := b.led.RemoveGhosts(t.Context()); err != nil {
		t.Fatal(err)
	}
	if left := b.held(t, k, subject.Question); len(left) != 0 {
		t.Error("it is left")
	}
}

func TestAQuestionAskedAfterTheOutcomeIsNoGhost(t *testing.T) {
	t.Parallel()
	b := start(t, ledger.Options{})
	work := ledger.NewWork(b.led)
	k := key("s1", "a1")
	q := b.ghost(t, k)
	raw := b.held(t, k, subject.Question)[0]
	if err := b.led.RemoveGhosts(t.Context()); err != nil {
		t.Fatal(err)
	}
	p, _ := b.place(k)
	again := b.forge(t, subject.LedgerQuestion(p, k), copied(raw, "ce-", "Content-Type", "Nats-Schedule", "Nats-TTL"), raw.Data)
	if again <= q.Version {
		t.Fatal("the later life was not stored")
	}
	if err := b.led.RemoveGhosts(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := b.led.Read(t.Context(), k); err != nil {
		t.Fatal(err)
	}
	if _, _, err := b.led.List(t.Context(), wire.Query{State: "pending", Limit: 100}); err != nil {
		t.Fatal(err)
	}
	if _, err := work.Next(t.Context(), ledger.Group{Type: "slack"}, subject.Question, 10); err != nil {
		t.Fatal(err)
	}
	if left := b.held(t, k, subject.Question); len(left) != 1 || left[0].Sequence != again {
		t.Errorf("the later question was removed: %v", left)
	}
}

func TestALateExpiryChangesNothing(t *testing.T) {
	t.Parallel()
	b := start(t, ledger.Options{})
	k := key("s1", "a1")
	q := b.store(t, k)
	raw := b.held(t, k, subject.Question)[0]
	if _, err := b.led.Resolve(t.Context(), q, answered(q, "w1"), "", time.Now()); err != nil {
		t.Fatal(err)
	}
	p, _ := b.place(k)
	late := copied(raw, "ce-", "Content-Type")
	b.forge(t, subject.LedgerOutcome(p, k), late, raw.Data)
	e, err := b.led.Read(t.Context(), k)
	if err != nil || e.End == nil || e.End.Status != ask.StatusAnswered {
		t.Errorf("read %+v, %v", e, err)
	}
	for _, state := range []string{"", "resolved"} {
		items, _, err := b.led.List(t.Context(), wire.Query{State: state, Limit: 10})
		if err != nil || len(items) != 1 || items[0].Record.Outcome.AnswerID != "w1" {
			t.Errorf("list %q: %+v, %v", state, items, err)
		}
	}
	work := ledger.NewWork(b.led)
	if _, err := work.Next(t.Context(), ledger.Group{Type: "web"}, subject.Outcome, 10); err != nil {
		t.Fatal(err)
	}
	b.forge(t, subject.LedgerOutcome(p, k), late, raw.Data)
	if items, err := work.Next(t.Context(), ledger.Group{Type: "web"}, subject.Outcome, 10); err != nil || len(items) != 0 {
		t.Errorf("next handed out a late expiry: %+v, %v", items, err)
	}
}

func TestAnExpiryByTheServerIsTheWill(t *testing.T) {
	t.Parallel()
	b := start(t, ledger.Options{})
	heard := make(chan *nats.Msg, 1)
	if _, err := b.admin.ChanSubscribe(subject.OutAll("", "", subject.Outcome), heard); err != nil {
		t.Fatal(err)
	}
	k := key("s1", "a1")
	q := b.store(t, k, func(a *ask.Ask) {
		a.Timeout, a.AtDeadline = time.Second, ask.AtDeadlineDefault
		a.Questions[0].Default = &ask.Answer{Selected: []string{"lite"}}
	})
	select {
	case m := <-heard:
		end, err := cloudevent.ReadOutcome(m, k)
		if err != nil {
			t.Fatal(err)
		}
		o := *end.End
		if o.Status != ask.StatusExpired || o.Source != ask.SourceDefault || o.Answers[0].Selected[0] != "lite" || !o.At.Equal(q.Ask.Deadline) {
			t.Errorf("outcome %+v", o)
		}
	case <-t.Context().Done():
		t.Fatal("the server did not expire the ask")
	}
	e, err := b.led.Read(t.Context(), k)
	if err != nil || e.End == nil || e.Digest() != q.Digest() {
		t.Errorf("read %+v, %v", e, err)
	}
}

func TestOverdueFindsWhatTheTimerMissed(t *testing.T) {
	t.Parallel()
	b := start(t, ledger.Options{Partitions: 2})
	want := map[string]bool{}
	for i := range 30 {
		k := key(fmt.Sprintf("s%d", i%5), fmt.Sprintf("a%d", i))
		b.store(t, k, func(a *ask.Ask) { a.Timeout = time.Duration(i+1) * time.Hour })
		if i < 10 {
			want[k.String()] = true
		}
	}
	keys, err := b.led.Overdue(t.Context(), time.Now().Add(10*time.Hour+time.Minute), 1000, 1, time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]bool{}
	for _, k := range keys {
		got[k.String()] = true
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("overdue (-want +got):\n%s", diff)
	}
	if keys, err := b.led.Overdue(t.Context(), time.Now(), 1000, 1, time.Time{}); err != nil || len(keys) != 0 {
		t.Errorf("nothing is due now: %v, %v", keys, err)
	}
}

func list(t *testing.T, b *bus, q wire.Query) (ids []string, pages int) {
	t.Helper()
	for {
		items, next, err := b.led.List(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		if len(items) > q.Limit {
			t.Fatalf("a page of %d for limit %d", len(items), q.Limit)
		}
		for _, it := range items {
			ids = append(ids, it.Record.Ask.ID)
		}
		if pages++; next == "" {
			return ids, pages
		}
		if pages > 10_000 {
			t.Fatal("paging never ends")
		}
		q.Cursor = next
	}
}

func TestListPagesEveryAskOnceOldestFirst(t *testing.T) {
	t.Parallel()
	b := start(t, ledger.Options{})
	if ids, pages := list(t, b, wire.Query{Limit: 10}); len(ids) != 0 || pages != 1 {
		t.Errorf("an empty ledger lists %v on %d pages", ids, pages)
	}
	var all, odd, ofS3 []string
	for i := range 120 {
		k := key(fmt.Sprintf("s%d", i%7), fmt.Sprintf("a%03d", i))
		b.store(t, k, func(a *ask.Ask) {
			if i%2 == 1 {
				a.Questions[0].ID = "odd"
			}
		})
		all = append(all, k.ID)
		if i%2 == 1 {
			odd = append(odd, k.ID)
		}
		if i%7 == 3 {
			ofS3 = append(ofS3, k.ID)
		}
	}
	for _, limit := range []int{1, 3, 7, 50, 500} {
		if ids, _ := list(t, b, wire.Query{Limit: limit}); !slices.Equal(ids, all) {
			t.Errorf("limit %d: %v", limit, ids)
		}
	}
	for name, v := range map[string]struct {
		q    wire.Query
		want []string
	}{
		"by the id of a question":         {wire.Query{Question: "odd", Limit: 9}, odd},
		"by the exact text":               {wire.Query{Question: "Which database?", Limit: 50}, all},
		"by part of the text":             {wire.Query{Question: "database", Limit: 50}, nil},
		"one session":                     {wire.Query{Tenant: "acme", Session: "s3", Limit: 4}, ofS3},
		"one tenant":                      {wire.Query{Tenant: "acme", Limit: 100}, all},
		"another tenant":                  {wire.Query{Tenant: "other", Limit: 100}, nil},
		"by the id of the ask":            {wire.Query{ID: "a017", Limit: 100}, []string{"a017"}},
		"an unknown id":                   {wire.Query{ID: "nobody", Limit: 100}, nil},
		"resolved while none is":          {wire.Query{State: "resolved", Limit: 100}, nil},
		"pending while all are":           {wire.Query{State: "pending", Limit: 11}, all},
		"a question of one, in a session": {wire.Query{Tenant: "acme", Session: "s3", ID: "a003", Question: "odd", Limit: 5}, []string{"a003"}},
	} {
		if ids, _ := list(t, b, v.q); !slices.Equal(ids, v.want) {
			t.Errorf("%s: %v, want %v", name, ids, v.want)
		}
	}
}

func TestGarbageCursorsAreRefused(t *testing.T) {
	t.Parallel()
	b := start(t, ledger.Options{})
	b.store(t, key("s1", "a1"))
	for _, cursor := range []string{
		"x", "!!!", "AAAA", "MS4y", strings.Repeat("A", 10_000), // 1.2: too few positions
		"MS4yLjMuNC41",                 // 1.2.3.4.5: too many
		"MS4yLjMuLTQ",                  // 1.2.3.-4
		"enp6enp6enp6enp6enp6LjEuMi4z", // more than 64 bits
	} {
		_, _, err := b.led.List(t.Context(), wire.Query{Limit: 10, Cursor: cursor})
		e, ok := errors.AsType[*ask.Error](err)
		if !ok || wire.HTTPStatus(e.Code) != 400 || e.Faults[0].Pointer != "/cursor" {
			t.Errorf("cursor %.20q: %v", cursor, err)
		}
	}
	// A valid cursor far behind the end gives an empty page.
	items, next, err := b.led.List(t.Context(), wire.Query{Limit: 20, Cursor: "enp6enp6LnoxLnoxLnoy"})
	if err != nil || len(items) != 0 || next != "" {
		t.Errorf("past the end: %v %q %v", items, next, err)
	}
}

func TestAPageOfBigAsksEndsEarly(t *testing.T) {
	t.Parallel()
	b := start(t, ledger.Options{})
	var want []string
	for i := range 14 {
		k := key(fmt.Sprintf("s%d", i%5), fmt.Sprintf("a%02d", i))
		b.store(t, k, func(a *ask.Ask) {
			if i%4 == 3 {
				return // a small one in between
			}
			a.Context = strings.Repeat("<", ask.MaxLong)
			for j := range 2 {
				a.Questions[0].Options[j].Preview = &ask.Preview{Body: strings.Repeat("&", ask.MaxLong)}
			}
		})
		want = append(want, k.ID)
	}
	q := wire.Query{Limit: 500}
	var got []string
	for {
		items, next, err := b.led.List(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		page, err := wire.EncodePage(items, next)
		if err != nil {
			t.Fatal(err)
		}
		if len(page) > 600<<10 || len(items) == 0 && next != "" {
			t.Errorf("a page of %d items has %d bytes", len(items), len(page))
		}
		for _, it := range items {
			got = append(got, it.Record.Ask.ID)
		}
		if next == "" {
			break
		}
		q.Cursor = next
	}
	if !slices.Equal(got, want) {
		t.Errorf("listed %v, want %v", got, want)
	}
}

// A page may have been read ahead with the previous one: asks that have ended
// since are not pending on it.
func TestAPageReadAheadKnowsWhatEndedSince(t *testing.T) {
	t.Parallel()
	b := start(t, ledger.Options{})
	var stored []lifecycle.State
	for i := range 100 {
		stored = append(stored, b.store(t, key("s1", fmt.Sprintf("a%03d", i))))
	}
	q := wire.Query{State: "pending", Limit: 20}
	var ids []string
	for page := 0; ; page++ {
		items, next, err := b.led.List(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		for _, it := range items {
			ids = append(ids, it.Record.Ask.ID)
		}
		if q.Cursor = next; next == "" {
			break
		}
		if page == 1 {
			for i := 45; i < 100; i++ {
				if _, err := b.led.Resolve(t.Context(), stored[i], answered(stored[i], "w1"), "", time.Now()); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	if len(ids) != 45 || ids[0] != "a000" || ids[44] != "a044" {
		t.Errorf("%d asks are pending: %v", len(ids), ids)
	}
}

func TestRoomIsRefusedFromFourFifthsOn(t *testing.T) {
	t.Parallel()
	b := start(t, ledger.Options{Budget: 4000})
	if err := b.led.Room(); err != nil {
		t.Fatalf("an empty ledger: %v", err)
	}
	for i := range 4 {
		b.store(t, key("s1", fmt.Sprintf("a%d", i)))
	}
	err := b.led.Room()
	e, ok := errors.AsType[*ask.Error](err)
	if !ok || wire.HTTPStatus(e.Code) != 503 || e.Code != ask.CodeLedgerFull || !errors.Is(err, ask.ErrUnavailable) {
		t.Errorf("a full ledger: %v", err)
	}
	if used, budget := b.led.Usage(); budget != 4000 || used < 3200 {
		t.Errorf("usage %d of %d", used, budget)
	}
}

// A server that was down may lead again before it has removed expired messages.
// Here the broker's clock is ahead of the server's.
func TestAnOutcomeThatItsServerKeptTooLongCountsForNothing(t *testing.T) {
	t.Parallel()
	b := start(t, ledger.Options{Partitions: 1})
	k := key("s1", "a1")
	q := b.store(t, k)
	if _, err := b.led.Resolve(t.Context(), q, answered(q, "w1"), "", time.Now()); err != nil {
		t.Fatal(err)
	}
	at := func(ahead time.Duration) *ledger.Ledger {
		led, err := ledger.Open(t.Context(), b.Connect(rights.Role{Name: rights.RoleLedger}), ledger.Options{Ahead: func() time.Duration { return ahead }})
		if err != nil {
			t.Fatal(err)
		}
		return led
	}
	if s, err := at(ledger.DefaultRetention).Read(t.Context(), k); err != nil || s.End == nil || s.End.AnswerID != "w1" {
		t.Fatalf("within its time it counts: %+v, %v", s, err)
	}
	after := at(ledger.DefaultRetention + ledger.DefaultMargin + 2*ask.MaxTimeout)
	if s, err := after.Read(t.Context(), k); err != nil || s.Known() {
		t.Errorf("after its time: %+v, %v", s, err)
	}
	if left := b.held(t, k, subject.Outcome); len(left) > 0 {
		t.Errorf("%d outcomes are left", len(left))
	}
	again := b.store(t, k)
	if s, err := after.Read(t.Context(), k); err != nil || !s.Pending() || s.Life != again.Life {
		t.Errorf("the id was asked again: %+v, %v", s, err)
	}
}
