package interop_test

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	cenats "github.com/cloudevents/sdk-go/protocol/nats/v2"
	"github.com/cloudevents/sdk-go/v2/binding"
	"github.com/nats-io/nats.go"
)

// agent returns the credential of a session's agent, as "askbus auth" prints
// it.
func (b *bus) agent(session string) string {
	b.t.Helper()
	out, err := exec.Command(b.binary, "auth", "agent", "--session", session, "--dir", b.dir, "--output", "json").Output()
	if err != nil {
		b.t.Fatal(err)
	}
	return string(out)
}

func TestNATSForNodeAsksInBothModesAndPages(t *testing.T) {
	t.Parallel()
	b := up(t)
	cmd := exec.Command("node", "nats/ask.mjs")
	cmd.Env = append(os.Environ(), "CREDENTIAL="+b.agent("node"))
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		rec := b.next()
		if rec.Ask.Title != "Grüße, 世界" {
			t.Errorf("title %q", rec.Ask.Title)
		}
		b.choose(rec, "pg")
	}
	if err := cmd.Wait(); err != nil {
		t.Fatalf("%v: %s", err, out.String())
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if len(lines) != 4 {
		t.Fatalf("it said %s", out.String())
	}
	for _, line := range lines[:2] {
		var got struct {
			ID         string `json:"id"`
			Mode       string `json:"mode"`
			Structured bool   `json:"structured"`
			Type       string `json:"type"`
			Subject    string `json:"subject"`
			Valid      bool   `json:"valid"`
			Data       struct {
				Status  string `json:"status"`
				Answers []struct {
					Selected []string `json:"selected"`
				} `json:"answers"`
			} `json:"data"`
		}
		if err := json.Unmarshal([]byte(line), &got); err != nil {
			t.Fatal(err)
		}
		if got.Structured != (got.Mode == "structured") || got.Type != "dev.askbus.ask.resolved.v1" || got.Subject != got.ID || !got.Valid ||
			got.Data.Status != "answered" || got.Data.Answers[0].Selected[0] != "pg" {
			t.Errorf("it got %s", line)
		}
	}
	var pages struct {
		Seen  []string `json:"seen"`
		Pages int      `json:"pages"`
	}
	if err := json.Unmarshal([]byte(lines[2]), &pages); err != nil {
		t.Fatal(err)
	}
	if len(pages.Seen) != 12 || pages.Pages < 3 || pages.Seen[0] != "page-0" || pages.Seen[11] != "page-11" {
		t.Errorf("pages %+v", pages)
	}
	if lines[3] != `{"code":"404","problem":"not_found"}` {
		t.Errorf("a foreign inbox: %s", lines[3])
	}
}

// TestTheCloudEventsSDKsNATSProtocolReadsOurEvents uses structured mode, the
// only one that the SDK's NATS protocol supports.
func TestTheCloudEventsSDKsNATSProtocolReadsOurEvents(t *testing.T) {
	t.Parallel()
	b := up(t)
	var cred struct {
		URL         string `json:"url"`
		Creds       string `json:"creds"`
		InboxPrefix string `json:"inbox_prefix"`
	}
	if err := json.Unmarshal([]byte(b.agent("sdk")), &cred); err != nil {
		t.Fatal(err)
	}
	opts := cenats.NatsOptions(nats.UserCredentialBytes([]byte(cred.Creds)), nats.CustomInboxPrefix(cred.InboxPrefix))
	inbox := cred.InboxPrefix + ".sdk"
	consumer, err := cenats.NewConsumer(cred.URL, inbox, opts)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- consumer.OpenInbound(ctx) }()
	t.Cleanup(func() { cancel(); <-done; _ = consumer.Close(context.WithoutCancel(ctx)) })

	nc, err := nats.Connect(cred.URL, nats.UserCredentialBytes([]byte(cred.Creds)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	body := `{"specversion":"1.0","id":"1","source":"/sdk","type":"dev.askbus.ask.requested.v1","data":{"id":"a","questions":[{"id":"db","text":"Which?","options":[{"id":"pg","label":"PG"}]}]}}`
	answered := make(chan struct{})
	go func() { defer close(answered); b.choose(b.next(), "pg") }()
	// Asked until the consumer listens: the same ask again is the same ask.
	type received struct {
		m   binding.Message
		err error
	}
	got := make(chan received, 1)
	go func() {
		m, err := consumer.Receive(ctx)
		got <- received{m, err}
	}()
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for {
		msg := nats.NewMsg("askv1.default.sdk.ask.a")
		msg.Reply, msg.Data = inbox, []byte(body)
		msg.Header.Set("Askbus-Wait", "50s")
		if err := nc.PublishMsg(msg); err != nil {
			t.Fatal(err)
		}
		select {
		case r := <-got:
			if r.err != nil {
				t.Fatal(r.err)
			}
			ev, err := binding.ToEvent(ctx, r.m)
			if err != nil || ev.Type() != "dev.askbus.ask.resolved.v1" || ev.Subject() != "a" || !bytes.Contains(ev.Data(), []byte(`"status":"answered"`)) {
				t.Fatalf("%v: %s", err, ev)
			}
			<-answered
			return
		case <-tick.C:
		}
	}
}
