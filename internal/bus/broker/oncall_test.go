package broker_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/bus/approvals"
	"github.com/askbus/askbus/internal/bus/audit"
	"github.com/askbus/askbus/internal/bus/broker"
	"github.com/askbus/askbus/internal/bus/connection"
	"github.com/askbus/askbus/internal/protocol/cloudevent"
	"github.com/askbus/askbus/internal/protocol/lifecycle"
	"github.com/askbus/askbus/internal/protocol/subject"
	"github.com/askbus/askbus/internal/protocol/wire"
	"github.com/askbus/askbus/internal/server/rights"
	"github.com/askbus/askbus/internal/testkit/natstest"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// A schedule says who may decide: surfaces see who is on call, also after a turn,
// whichever of two brokers writes it.
func TestAScheduleDecidesAnAsk(t *testing.T) {
	t.Parallel()
	s := newStepping(t)
	start := time.Now().Add(-30 * time.Minute).UTC().Format(time.RFC3339)
	f := policies(t, fmt.Sprintf(`schedules: [ { name: sre, start: %q, every: 1h, people: ["os:mei", "os:jo"] }, { name: later, start: "2999-01-01T00:00:00Z", every: 1h, people: ["os:mei"] } ]`, start))
	opts := broker.Options{Approvals: func() *approvals.File { return f }}
	s.broker(opts)
	s.broker(opts)
	c, web := newClient(t, s.Bus, "s1"), newResponder(t, s.Bus, "web")
	a := ladder("a1")
	a.Audience, a.Escalate = []string{"schedule:sre"}, nil
	a.Approval = &ask.Approval{AnyOf: []ask.Alternative{{Need: 2, From: []string{"schedule:sre"}}}}
	if _, err := c.Ask(t.Context(), a); err != nil {
		t.Fatal(err)
	}
	k := ask.Key{Tenant: "acme", Session: "s1", ID: "a1"}
	mei, jo := ask.By{Principal: "os:mei", Proof: ask.ProofOS}, ask.By{Principal: "os:jo", Proof: ask.ProofOS}
	onCall := func(who string) {
		t.Helper()
		for {
			select {
			case m := <-s.questions:
				if q, err := readAsked(m); err == nil && slices.Equal(q.Ask.Audience, []string{"schedule:sre", "schedule:sre=" + who}) {
					return
				}
			case <-t.Context().Done():
				t.Fatalf("the ask never said that %s is on call", who)
			}
		}
	}
	onCall("os:mei")
	if _, err := web.Answer(t.Context(), k, votes("v1", jo, true)); !errors.Is(err, ask.ErrForbidden) {
		t.Errorf("who is not on call: %v", err)
	}
	_, err := web.Answer(t.Context(), k, votes("v2", mei, true))
	counted(t, err, "1 of 2 approvals: os:mei; 1 more needed from schedule sre")
	s.ahead.Add(int64(time.Hour))
	onCall("os:jo")
	if _, err := web.Answer(t.Context(), k, votes("v3", mei, false)); !errors.Is(err, ask.ErrForbidden) {
		t.Errorf("whose turn is over: %v", err)
	}
	o, err := web.Answer(t.Context(), k, votes("v4", jo, true))
	if err != nil || o.Status != ask.StatusAnswered || len(o.Votes) != 2 || len(o.Votes[0].By.OnCall) != 1 || o.Votes[1].By.OnCall[0].Schedule != "sre" {
		t.Fatalf("%+v, %v", o, err)
	}
	if st, err := c.Ask(t.Context(), a); err != nil || st.Created {
		t.Errorf("asked again: %+v, %v", st, err)
	}
	reader := s.Connect(rights.Role{Name: rights.RoleAuditor})
	recorded := map[audit.Action]int{}
	natstest.Eventually(t, "the audit has the end", func() bool {
		p, err := audit.Read(t.Context(), reader, "", audit.Query{Ask: "a1"})
		clear(recorded)
		for _, r := range p.Items {
			recorded[r.Action]++
		}
		return err == nil && recorded[audit.AskAnswered] == 1
	})
	if recorded[audit.AskAsked] > 1 || recorded[audit.AskVoted] > 1 { // a question that was written again at once may not have been copied
		t.Errorf("one vote and one change of who is on call: %v", recorded)
	}

	a.ID, a.Audience, a.Approval = "a2", []string{"schedule:later"}, nil
	if st, err := c.Ask(t.Context(), a); err != nil || len(st.Warnings) != 1 || !strings.Contains(st.Warnings[0], `nobody is on call in "later"`) {
		t.Errorf("%q, %v", st.Warnings, err)
	}
	for entry, code := range map[string]ask.FaultCode{"schedule:none": ask.FaultNoSchedule, "schedule:sre=os:mallory": ask.FaultBadSchedule} {
		a.ID, a.Audience = "a3", []string{entry}
		_, err := c.Ask(t.Context(), a)
		if e, ok := errors.AsType[*ask.Error](err); !ok || len(e.Faults) != 1 || e.Faults[0].Code != code || e.Faults[0].Pointer != "/audience/0" {
			t.Errorf("%s: %v", entry, err)
		}
	}
}

// said sends each line of a log that has a text.
type said struct {
	text  string
	lines chan string
}

func (s said) Write(p []byte) (int, error) {
	if line := string(p); strings.Contains(line, s.text) {
		s.lines <- line
	}
	return len(p), nil
}

func TestAScheduleThatIsTakenOutOfTheFileIsMissed(t *testing.T) {
	t.Parallel()
	s := newStepping(t)
	var f atomic.Pointer[approvals.File]
	f.Store(policies(t, fmt.Sprintf(`schedules: [ { name: sre, start: %q, every: 1h, people: ["os:mei"] } ]`, time.Now().Add(-30*time.Minute).UTC().Format(time.RFC3339))))
	missed := said{"no longer has", make(chan string, 10)}
	s.broker(broker.Options{Approvals: f.Load, Logger: slog.New(slog.NewTextHandler(missed, nil))})
	a := ladder("a1")
	a.Audience, a.Escalate = []string{"schedule:sre"}, nil
	if _, err := newClient(t, s.Bus, "s1").Ask(t.Context(), a); err != nil {
		t.Fatal(err)
	}
	f.Store(policies(t, `schedules: [ { name: other, start: "2020-01-01T00:00:00Z", every: 1h, people: ["os:mei"] } ]`))
	s.ahead.Add(int64(time.Minute)) // the next sweep is due
	select {
	case line := <-missed.lines:
		if !strings.Contains(line, "ask_id=a1 schedule=sre") {
			t.Errorf("it says %s", line)
		}
	case <-t.Context().Done():
		t.Fatal("nobody says that the ask waits for a schedule that is gone")
	}
}

// A turn that begins while the ledger takes no writes is written once it does.
func TestATurnThatCannotBeWrittenIsTriedAgain(t *testing.T) {
	t.Parallel()
	s := newStepping(t)
	f := policies(t, fmt.Sprintf(`schedules: [ { name: sre, start: %q, every: 1h, people: ["os:mei", "os:jo"] } ]`, time.Now().Add(-30*time.Minute).UTC().Format(time.RFC3339)))
	failed := make(failures, 1)
	s.broker(broker.Options{Approvals: func() *approvals.File { return f }, Logger: slog.New(failed)})
	a := ladder("a1")
	a.Audience, a.Escalate = []string{"schedule:sre"}, nil
	if _, err := newClient(t, s.Bus, "s1").Ask(t.Context(), a); err != nil {
		t.Fatal(err)
	}
	s.largest(t, 1)
	s.ahead.Add(int64(time.Hour))
	select {
	case <-failed:
	case <-t.Context().Done():
		t.Fatal("the turn was written")
	}
	s.largest(t, -1)
	natstest.Eventually(t, "the ask says that os:jo is on call", func() bool {
		select {
		case m := <-s.questions:
			q, err := readAsked(m)
			return err == nil && slices.Contains(q.Ask.Audience, "schedule:sre=os:jo")
		default:
			return false
		}
	})
}

// failures gets a signal when a sweep could not do what was due.
type failures chan struct{}

func (f failures) Enabled(_ context.Context, l slog.Level) bool { return l >= slog.LevelWarn }
func (f failures) WithAttrs([]slog.Attr) slog.Handler           { return f }
func (f failures) WithGroup(string) slog.Handler                { return f }

func (f failures) Handle(_ context.Context, r slog.Record) error {
	if strings.HasPrefix(r.Message, "cannot do what is due") {
		select {
		case f <- struct{}{}:
		default:
		}
	}
	return nil
}

// largest bounds the messages that the ledger takes; -1: not at all.
func (s *stepping) largest(t *testing.T, size int32) {
	t.Helper()
	js, err := jetstream.New(s.LedgerAdmin())
	if err != nil {
		t.Fatal(err)
	}
	streams := js.ListStreams(t.Context())
	for info := range streams.Info() {
		cfg := info.Config
		if cfg.MaxMsgSize = size; !strings.HasPrefix(cfg.Name, "ASKS_") {
			continue
		}
		if _, err := js.UpdateStream(t.Context(), cfg); err != nil {
			t.Fatal(err)
		}
	}
	if err := streams.Err(); err != nil {
		t.Fatal(err)
	}
}

func readAsked(m *nats.Msg) (lifecycle.State, error) {
	k, _, _, ok := cloudevent.Republished(m)
	if !ok {
		return lifecycle.State{}, errors.New("not a question")
	}
	return cloudevent.ReadAsked(m, k)
}

func TestABrokerReadsACalendar(t *testing.T) {
	t.Parallel()
	read := make(chan struct{}, 100)
	calendar := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		defer func() { read <- struct{}{} }()
		now := time.Now().UTC()
		fmt.Fprintf(w, "BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:x\r\nBEGIN:VEVENT\r\nUID:1\r\nDTSTAMP:20261101T000000Z\r\nSUMMARY:Mei\r\nDTSTART:%s\r\nDTEND:%s\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n", now.Add(-time.Hour).Format("20060102T150405Z"), now.Add(time.Hour).Format("20060102T150405Z"))
	}))
	t.Cleanup(calendar.Close)
	f := policies(t, fmt.Sprintf(`
people: [ { name: Mei, principals: ["os:mei"] } ]
schedules:
  - { name: sre, ical: "%s/x.ics" }
  - { name: dead, ical: "%s/x.ics" }
`, calendar.URL, "http://127.0.0.1:1"))

	b := natstest.Start(t, natstest.Options{NoBroker: true})
	br, _ := b.BrokerAhead(func() time.Duration { return 0 }, broker.Options{Approvals: func() *approvals.File { return f }})
	c, web := newClient(t, b, "s1"), newResponder(t, b, "web")
	<-read
	var err error
	for i := 0; t.Context().Err() == nil; i++ { // the answer was sent, and is read
		a := ladder(fmt.Sprint("a", i))
		a.Audience, a.Escalate = []string{"schedule:sre"}, nil
		if _, err = c.Ask(t.Context(), a); err != nil {
			t.Fatal(err)
		}
		if _, err = web.Answer(t.Context(), ask.Key{Tenant: "acme", Session: "s1", ID: a.ID}, votes("v1", ask.By{Principal: "os:mei", Proof: ask.ProofOS}, true)); !errors.Is(err, ask.ErrForbidden) {
			break
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	notes := strings.Join(br.Notes(), "\n")
	if !strings.Contains(notes, "schedule dead cannot be read, and never was") || strings.Contains(notes, "schedule sre") {
		t.Errorf("%s", notes)
	}
}

// TestWhoIsOnCallHandsOver: somebody who may decide only by a schedule hands an ask over
// during their turn, also right after it began, and not afterwards.
func TestWhoIsOnCallHandsOver(t *testing.T) {
	t.Parallel()
	s := newStepping(t)
	start := time.Now().Add(-30 * time.Minute).UTC().Format(time.RFC3339)
	f := policies(t, fmt.Sprintf(`schedules: [ { name: sre, start: %q, every: 1h, people: ["os:mei", "os:jo"] } ]`, start))
	s.BrokerAhead(func() time.Duration { return time.Duration(s.ahead.Load()) }, broker.Options{Approvals: func() *approvals.File { return f }}) // no sweep writes the turn
	c, web := newClient(t, s.Bus, "s1"), newResponder(t, s.Bus, "web")
	a := ladder("a1")
	a.Audience, a.Escalate = []string{"schedule:sre"}, nil
	if _, err := c.Ask(t.Context(), a); err != nil {
		t.Fatal(err)
	}
	rec, err := c.Get(t.Context(), "a1")
	if err != nil {
		t.Fatal(err)
	}
	k := ask.Key{Tenant: "acme", Session: "s1", ID: "a1"}
	var ids atomic.Int64
	hand := func(who, to string) error {
		body, err := wire.Marshal(wire.Handover{By: ask.By{Principal: who, Proof: ask.ProofOS}, Life: rec.Life, To: to, ID: fmt.Sprint("h", ids.Add(1))})
		if err != nil {
			t.Fatal(err)
		}
		_, err = connection.Do(t.Context(), connection.On(web.Conn()), &nats.Msg{Subject: subject.Responder("web", subject.Self, k, subject.VerbHandOver), Data: body}, 0)
		return err
	}
	if err := hand("os:mei", "schedule:sre"); err != nil {
		t.Errorf("who is on call: %v", err)
	}
	if err := hand("os:jo", "os:ana"); !errors.Is(err, ask.ErrForbidden) {
		t.Errorf("whose turn comes later: %v", err)
	}
	s.ahead.Store(int64(time.Hour))
	if err := hand("os:jo", "os:ana"); err != nil {
		t.Errorf("whose turn has begun: %v", err)
	}
	if err := hand("os:mei", "os:ana"); !errors.Is(err, ask.ErrForbidden) {
		t.Errorf("whose turn is over: %v", err)
	}
}
