package broker_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/bus/broker"
	"github.com/askbus/askbus/internal/protocol/cloudevent"
	"github.com/askbus/askbus/internal/protocol/subject"
	"github.com/askbus/askbus/internal/testkit/natstest"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Whatever is sent 2,000 times, and however it ends, the broker holds nothing of
// it afterwards: no line, no worker's place, no held request, nobody who waits
// for work, no place of a quota.
func TestTwoThousandRequestsOfEachKindLeaveNothing(t *testing.T) { //nolint:tparallel // its kinds share the count of what is left
	t.Parallel()
	b := natstest.Start(t, natstest.Options{NoBroker: true})
	opts := limited(t, "default: {requests_per_second: none, session: {requests_per_second: none, waits: 64}}")
	br, _ := b.BrokerAhead(func() time.Duration { return 0 }, opts)
	nc, slack := plain(t, b, agent("s1")), plain(t, b, surface("slack"))
	asked(t, nc, "s1", "open")
	want := func(m *nats.Msg, code string) error {
		if got := m.Header.Get("Nats-Service-Error-Code"); got != code {
			return fmt.Errorf("code %q, want %q: %s", got, code, m.Data)
		}
		return nil
	}
	brief := nats.Header{"Askbus-Wait": {"1ms"}}
	for name, use := range map[string]func(i int) error{
		"waits that are over": func(int) error { return want(request(t, nc, "askv1.acme.s1.wait.open", brief, ""), "") },
		"waits that end": func(i int) error {
			id := fmt.Sprint("a", i)
			asked(t, nc, "s1", id)
			var ending sync.WaitGroup
			ending.Go(func() {
				request(t, nc, "askv1.acme.s1.withdraw."+id, nil, event(cloudevent.TypeWithdrawn, id, fmt.Sprintf(`{"ask_id":%q}`, id)))
			})
			defer ending.Wait()
			return want(request(t, nc, "askv1.acme.s1.wait."+id, nats.Header{"Askbus-Wait": {"1m"}}, ""), "")
		},
		"waits for nothing": func(int) error { return want(request(t, nc, "askv1.acme.s1.wait.none", brief, ""), "404") },
		"waits whose sender is gone": func(i int) error {
			err := nc.PublishMsg(&nats.Msg{Subject: "askv1.acme.s1.wait.open", Reply: fmt.Sprintf("_INBOX.a.acme.s1.gone.%d", i), Header: brief})
			if i%16 == 0 && err == nil { // not more at once than the quota holds
				_ = request(t, nc, "askv1.acme.s1.get.open", nil, "")
			}
			return err
		},
		"attempts that are over": func(int) error {
			return nc.PublishMsg(&nats.Msg{Subject: "askv1.acme.s1.wait.open", Reply: "_INBOX.a.acme.s1.gone", Header: nats.Header{"Askbus-Attempt": {"1ns"}, "Askbus-Wait": {"10m"}}})
		},
		"work": func(int) error {
			return want(request(t, slack, "ansv1.slack.next", nil, `{"of":"outcome","wait":"1ms"}`), "")
		},
		"bad asks": func(int) error { return want(request(t, nc, askSubject("s1", "bad"), nil, "hello"), "400") },
		"bad waits": func(int) error {
			return want(request(t, nc, "askv1.acme.s1.wait.open", nats.Header{"Askbus-Wait": {"soon"}}, ""), "400")
		},
		"lists": func(int) error { return want(request(t, nc, "askv1.acme.s1.list", nil, `{"limit":1}`), "") },
		"foreign replies": func(int) error {
			return nc.PublishRequest("askv1.acme.s1.wait.open", "_INBOX.g.named", nil)
		},
		"bad answers": func(int) error {
			return want(request(t, slack, answerSubject("slack", "s1", "open"), nil, event(cloudevent.TypeAnswered, "open", `{"ask_id":"open","answer_id":"w","answers":[],"by":{"principal":"oidc:ceo"}}`)), "400")
		},
	} {
		t.Run(name, func(t *testing.T) { // one after the other: each must leave nothing itself
			n := natstest.Uses
			if name == "waits that end" {
				n /= 4 // three requests and two writes each
			}
			var all sync.WaitGroup
			next := make(chan int)
			for range 16 {
				all.Go(func() {
					for i := range next {
						if err := use(i); err != nil {
							t.Errorf("use %d: %v", i, err)
						}
					}
				})
			}
			for i := 0; i < n && !t.Failed(); i++ {
				next <- i
			}
			close(next)
			all.Wait()
			request(t, nc, "askv1.acme.s1.get.open", nil, "") // everything before it has arrived
			left := ""
			natstest.Eventually(t, "the broker holds nothing", func() bool {
				left = br.Left()
				return left == ""
			})
		})
	}
}

// An ask that is stored, and whose file cannot be kept then, is refused, and nothing of
// its wait is left: neither a held request nor its place of a quota.
func TestAHeldAskWhoseFileCannotBeKeptLeavesNothing(t *testing.T) {
	t.Parallel()
	b := natstest.Start(t, natstest.Options{NoBroker: true})
	br, _ := b.BrokerAhead(func() time.Duration { return 0 }, broker.Options{})
	c, nc := newClient(t, b, "s1"), plain(t, b, agent("s1"))
	f := upload(t, c, "first.png", picture(t, 5_000))
	js, err := jetstream.New(b.LedgerAdmin())
	if err != nil {
		t.Fatal(err)
	}
	files, err := js.Stream(t.Context(), subject.FileStream)
	if err != nil {
		t.Fatal(err)
	}
	cfg := files.CachedInfo().Config
	cfg.MaxMsgSize = 1 // what is written again is refused
	if _, err := js.UpdateStream(t.Context(), cfg); err != nil {
		t.Fatal(err)
	}
	a := fmt.Sprintf(`{"id":"a1","files":[{"id":%q,"name":"first.png","media_type":%q,"size":%d}],"questions":[{"id":"q","text":"Which?","kind":"text"}]}`, f.ID, f.MediaType, f.Size)
	m := request(t, nc, askSubject("s1", "a1"), nats.Header{"Askbus-Wait": {"1m"}}, event(cloudevent.TypeAsked, "a1", a))
	if m.Header.Get("Nats-Service-Error-Code") == "" {
		t.Fatalf("the file is kept: %s", m.Data)
	}
	natstest.Eventually(t, "the broker holds nothing", func() bool { return br.Left() == "" })
}
