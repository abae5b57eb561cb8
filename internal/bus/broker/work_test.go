package broker_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/protocol/cloudevent"
	"github.com/askbus/askbus/internal/protocol/subject"
	"github.com/askbus/askbus/internal/protocol/wire"
	"github.com/askbus/askbus/internal/testkit/natstest"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

func next(t *testing.T, nc *nats.Conn, typ, body string) []wire.NextItem {
	t.Helper()
	m := request(t, nc, "ansv1."+typ+".next", nil, body)
	if m.Header.Get("Nats-Service-Error-Code") != "" {
		t.Fatalf("next %s: %v", body, problem(t, m))
	}
	items, _, err := wire.DecodeNextItems(m.Data)
	if err != nil {
		t.Fatal(err)
	}
	return items
}

func settle(t *testing.T, nc *nats.Conn, typ, verb, token, delay string) *nats.Msg {
	t.Helper()
	body := fmt.Sprintf(`{"token":%q}`, token)
	if delay != "" {
		body = fmt.Sprintf(`{"token":%q,"delay":%q}`, token, delay)
	}
	return request(t, nc, "ansv1."+typ+"."+verb, nil, body)
}

func ok(t *testing.T, m *nats.Msg) {
	t.Helper()
	if string(m.Data) != `{"ok":true}` {
		t.Errorf("settled with %s", m.Data)
	}
}

func TestWorkIsHandedToOneReplicaUntilItIsDone(t *testing.T) {
	t.Parallel()
	b := natstest.Start(t, natstest.Options{})
	nc, one, two := plain(t, b, agent("s1")), plain(t, b, surface("slack")), plain(t, b, surface("slack"))
	asked(t, nc, "s1", "before")
	items := next(t, one, "slack", `{"of":"question","max":10,"wait":"10s"}`)
	if len(items) != 1 || items[0].Event.Subject() != "before" || items[0].Event.Type() != cloudevent.TypeAsked || items[0].Life == "" || items[0].Receipt != nil {
		t.Fatalf("a new type is given %+v", items)
	}
	if s, err := wire.OpenStored(items[0].Event.Data()); err != nil || s.Digest == "" || !strings.Contains(string(s.Ask), `"id":"before"`) {
		t.Errorf("the event says %s", items[0].Event)
	}
	if again := next(t, two, "slack", `{"of":"question"}`); len(again) != 0 {
		t.Errorf("a second replica is given the same: %+v", again)
	}
	ok(t, settle(t, one, "slack", "extend", items[0].Token, ""))

	// A receipt, then later: the next replica sees it.
	receipt := fmt.Sprintf(`{"ask_id":"before","life":%q,"state":"posting","key":"k1","places":[{"ref":"C1/2","where":"#ops"}]}`, items[0].Life)
	if typ, s := data(t, request(t, one, "ansv1.slack.acme.s1.receipt.before", nil, event(cloudevent.TypePresented, "before", receipt))); typ != cloudevent.TypeStatus || s["state"] != "pending" {
		t.Errorf("receipt: %s %v", typ, s)
	}
	ok(t, settle(t, one, "slack", "later", items[0].Token, "1ms"))
	items = next(t, two, "slack", `{"of":"question","wait":"30s"}`)
	if len(items) != 1 || items[0].Receipt == nil || items[0].Receipt.Key != "k1" || items[0].Receipt.State != ask.ReceiptPosting || items[0].Receipt.Type != "slack" {
		t.Fatalf("redelivered %+v", items)
	}
	ok(t, settle(t, two, "slack", "done", items[0].Token, ""))
	ok(t, settle(t, two, "slack", "done", items[0].Token, "")) // its reply may have been lost

	// An end is work as well, with the receipt; another type has its own.
	if other := next(t, plain(t, b, surface("mail")), "mail", `{"of":"question","max":10}`); len(other) != 1 || other[0].Receipt != nil {
		t.Errorf("another type is given %+v", other)
	}
	request(t, plain(t, b, surface("web")), answerSubject("web", "s1", "before"), nil, event(cloudevent.TypeAnswered, "before", answerData("before", "w1", "pg")))
	ends := next(t, one, "slack", `{"of":"outcome","max":10,"wait":"30s"}`)
	if len(ends) != 1 || ends[0].Event.Type() != cloudevent.TypeResolved || ends[0].Receipt == nil || ends[0].Receipt.Key != "k1" {
		t.Fatalf("ended %+v", ends)
	}
	if o, err := wire.DecodeOutcome(ends[0].Event.Data()); err != nil || o.AnswerID != "w1" {
		t.Errorf("outcome %+v, %v", o, err)
	}
	ok(t, settle(t, one, "slack", "done", ends[0].Token, ""))
	for _, of := range []string{"question", "outcome"} {
		if left := next(t, one, "slack", `{"of":"`+of+`","max":10}`); len(left) != 0 {
			t.Errorf("%s: still given %+v", of, left)
		}
	}
}

func TestNextWaitsForWork(t *testing.T) {
	t.Parallel()
	b := natstest.Start(t, natstest.Options{})
	nc, slack := plain(t, b, agent("s1")), plain(t, b, surface("slack"))
	got := make(chan []wire.NextItem, 1)
	go func() { got <- next(t, slack, "slack", `{"of":"question","wait":"5m"}`) }()
	asked(t, nc, "s1", "a1")
	if items := <-got; len(items) != 1 {
		t.Errorf("woken with %+v", items)
	}
}

// The replica that asked for work is gone, or has dropped this request but kept
// its connection: another replica gets the work long before the lease of a
// minute ends.
func TestWorkForAReplicaThatIsGoneIsGivenBackAtOnce(t *testing.T) {
	t.Parallel()
	for name, leave := range map[string]func(*nats.Conn, *nats.Subscription) error{
		"its connection is closed":   func(nc *nats.Conn, _ *nats.Subscription) error { nc.Close(); return nil },
		"it takes no reply any more": func(nc *nats.Conn, s *nats.Subscription) error { return errors.Join(s.Unsubscribe(), nc.Flush()) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := natstest.Start(t, natstest.Options{})
			nc, gone, stays := plain(t, b, agent("s1")), plain(t, b, surface("slack")), plain(t, b, surface("slack"))
			next(t, gone, "slack", `{"of":"question"}`) // creates the consumers
			inbox := gone.NewInbox()
			sub, err := gone.SubscribeSync(inbox)
			if err != nil {
				t.Fatal(err)
			}
			for range 3 {
				if err := gone.PublishMsg(natstest.Signed(t, gone, &nats.Msg{Subject: "ansv1.slack.next", Reply: inbox, Data: []byte(`{"of":"question","max":10,"wait":"10m"}`)})); err != nil {
					t.Fatal(err)
				}
			}
			if err := gone.Flush(); err != nil {
				t.Fatal(err)
			}
			if err := leave(gone, sub); err != nil {
				t.Fatal(err)
			}
			asked(t, nc, "s1", "a1")
			taken(t, b, "slack")
			items := next(t, stays, "slack", `{"of":"question","wait":"25s"}`)
			if len(items) != 1 {
				t.Fatal("no replica got the ask")
			}
			ok(t, settle(t, stays, "slack", "done", items[0].Token, ""))
		})
	}
}

// taken waits until a question has been handed to some replica of a type.
func taken(t *testing.T, b *natstest.Bus, typ string) {
	t.Helper()
	js, err := jetstream.New(b.LedgerAdmin())
	if err != nil {
		t.Fatal(err)
	}
	natstest.Eventually(t, "the work is taken", func() bool {
		for p := range 4 {
			c, err := js.Consumer(t.Context(), subject.Stream(p), typ+"-q")
			if err == nil && c.CachedInfo().Delivered.Consumer > 0 {
				return true
			}
		}
		return false
	})
}

func TestTokensOfAnotherTypeAreRefused(t *testing.T) {
	t.Parallel()
	b := natstest.Start(t, natstest.Options{})
	nc, slack, web := plain(t, b, agent("s1")), plain(t, b, surface("slack")), plain(t, b, surface("web"))
	next(t, web, "web", `{"of":"question"}`)
	asked(t, nc, "s1", "a1")
	items := next(t, slack, "slack", `{"of":"question"}`)
	if len(items) != 1 {
		t.Fatalf("%+v", items)
	}
	token := items[0].Token
	parts := strings.Split(token, ".")
	mac, stream := parts[0], parts[3]
	for name, forged := range map[string]string{
		"the token of another type":      token,
		"with the signature of another":  mac + ".$JS.ACK." + stream + ".web-q." + strings.Join(parts[5:], "."),
		"without a signature":            strings.Join(parts[1:], "."),
		"the token with our consumer":    strings.Replace(token, ".slack-q.", ".slack-q.web-q.", 1),
		"both consumers, ours first":     "$JS.ACK." + stream + ".web-q." + stream + ".slack-q.1.1.1.1.1",
		"both consumers, one token less": "$JS.ACK." + stream + ".slack-q." + stream + ".web-q.1.1.1.1",
		"another stream":                 "$JS.ACK.OTHER.web-q.1.1.1.1.1",
		"a partition that is not there":  "$JS.ACK.ASKS_77.web-q.1.1.1.1.1",
		"a partition written otherwise":  "$JS.ACK.ASKS_0.web-q.1.1.1.1.1",
		"another consumer of ours":       "$JS.ACK." + stream + ".web-x.1.1.1.1.1",
		"a wildcard":                     "$JS.ACK." + stream + ".web-q.*.*.*.*.*",
		"a full wildcard":                "$JS.ACK." + stream + ".web-q.1.1.1.1.>",
		"the API of the streams":         "$JS.API.STREAM.PURGE." + stream + ".web-q.1.1.1",
		"the ledger itself":              "ledgerv1.00.acme.s1.a1.o",
		"a space":                        "$JS.ACK." + stream + ".web-q.1.1.1.1.1 x",
		"a newline":                      "$JS.ACK." + stream + ".web-q.1.1.1.1.1\r\nPUB x",
		"nothing but dots":               "........",
	} {
		for _, verb := range []string{"done", "extend", "later"} {
			if e := problem(t, settle(t, web, "web", verb, forged, "")); wire.HTTPStatus(e.Code) != 400 || e.Faults[0].Pointer != "/token" {
				t.Errorf("%s with %s: %v", verb, name, e)
			}
		}
	}
	ok(t, settle(t, slack, "slack", "later", token, "1ms"))
	if again := next(t, slack, "slack", `{"of":"question","wait":"30s"}`); len(again) != 1 {
		t.Error("a forged token settled the work")
	}
}

func TestConsumersOfAType(t *testing.T) {
	t.Parallel()
	b := natstest.Start(t, natstest.Options{})
	next(t, plain(t, b, surface("slack")), "slack", `{"of":"outcome"}`)
	js, err := jetstream.New(b.LedgerAdmin())
	if err != nil {
		t.Fatal(err)
	}
	for p := range 4 {
		for kind, policy := range map[string]jetstream.DeliverPolicy{"q": jetstream.DeliverByStartSequencePolicy, "o": jetstream.DeliverNewPolicy} {
			c, err := js.Consumer(t.Context(), subject.Stream(p), "slack-"+kind)
			if err != nil {
				t.Fatal(err)
			}
			cfg := c.CachedInfo().Config
			if cfg.FilterSubject != fmt.Sprintf("ledgerv1.%02d.*.*.*.%s", p, kind) || cfg.DeliverPolicy != policy || cfg.AckPolicy != jetstream.AckExplicitPolicy ||
				cfg.AckWait.Seconds() != 5 || cfg.InactiveThreshold != 31*24*time.Hour || cfg.MaxDeliver != -1 || cfg.MaxAckPending != 5000 {
				t.Errorf("consumer slack-%s of %d: %+v", kind, p, cfg)
			}
		}
	}
}
