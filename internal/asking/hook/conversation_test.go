package hook_test

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/asking/hook"
	"github.com/askbus/askbus/internal/testkit/natstest"
	"github.com/askbus/askbus/internal/testkit/waittest"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/client"
	"golang.org/x/tools/txtar"
)

var update = flag.Bool("update", false, "write what was printed into the conversations")

// A conversation is a txtar file. Its comment may set "mode: defer", "limit: 1ns", "bus: away",
// "creds: agent", "stopped: yes" and "dialog within: 1ms". Its sections are, in order:
//
//	-- host --    starts a hook with this input
//	-- waits --   waits until another hook waits for an answer
//	-- stop --    the host stops the running hooks, if "stopped: yes" allows it
//	-- person --  a person's action at another screen: the ids of options, or "decline: <reason>"
//	-- prints --  waits for the oldest hook and checks its output
//	-- says --    checks its line on standard error
//	-- outcome -- checks status, answers and person of the latest outcome
//	-- history -- checks the receipts of all ended asks
func TestConversations(t *testing.T) {
	t.Parallel()
	paths, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(paths) < 10 {
		t.Fatalf("found %d conversations, %v", len(paths), err)
	}
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) {
			t.Parallel()
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			play(t, path, string(data))
		})
	}
}

type printed struct{ out, say string }

func play(t *testing.T, path, text string) {
	t.Helper()
	conversation := txtar.Parse([]byte(text))
	bus := natstest.Start(t, natstest.Options{})
	call := hook.Call{Tenant: "acme", Limit: time.Minute, Human: ask.By{Principal: "os:ben", Name: "Ben"}}
	open, opts := natstest.Opener{Conn: bus.Agent("acme", "s-1")}, hook.Options{Answerer: bus.Dialog(ask.ResponderNative), Logger: natstest.Logger()}
	for line := range strings.Lines(string(conversation.Comment)) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
		switch key {
		case "mode":
			call.Mode = hook.Mode(value)
		case "limit":
			limit, err := time.ParseDuration(value)
			if err != nil {
				t.Fatal(err)
			}
			call.Limit = limit
		case "bus":
			open.Err = ask.Refuse(ask.CodeUnavailable, `nothing answers; is "askbus up" running?`)
		case "stopped":
			call.Stopped = true
		case "dialog within":
			within, err := time.ParseDuration(value)
			if err != nil {
				t.Fatal(err)
			}
			opts.DialogWithin = within
		case "creds":
			opts.Answerer = nil
		}
	}
	waits := make(chan struct{}, 16)
	opts.Waiting = func(*ask.Ask) func() { waits <- struct{}{}; return func() {} }
	h := hook.New(open, opts)
	s := newScreen(t, bus)
	var stops []context.CancelFunc // the last one is that of the hooks that run
	begin := func() context.Context {
		life, stop := context.WithCancel(context.WithoutCancel(t.Context()))
		stops = append(stops, stop)
		return life
	}
	life := begin()
	defer func() {
		for _, stop := range stops {
			stop()
		}
	}()
	var running []chan printed
	var last printed
	for i := range conversation.Files {
		sec := &conversation.Files[i]
		switch sec.Name {
		case "host":
			done := make(chan printed, 1)
			running = append(running, done)
			life := life
			go func() {
				out, say := h.Run(life, call, sec.Data)
				done <- printed{string(out), say}
			}()
		case "waits":
			select {
			case <-waits:
			case <-time.After(waittest.Limit):
				t.Fatal("no hook waits")
			}
		case "stop":
			stops[len(stops)-1]()
			life = begin() //nolint:fatcontext // of the next hook; not nested
		case "person":
			s.decide(strings.TrimSpace(string(sec.Data)))
		case "prints":
			last, running = <-running[0], running[1:]
			sec.Data = []byte(indent(last.out))
		case "says":
			sec.Data = []byte(last.say + "\n")
		case "outcome":
			sec.Data = []byte(s.ended() + "\n")
		case "history":
			sec.Data = history(t, open)
		default:
			t.Fatalf("no section is called %q", sec.Name)
		}
	}
	if len(running) > 0 {
		t.Error("a hook still runs")
	}
	got := txtar.Format(conversation)
	if *update {
		if err := os.WriteFile(path, got, 0o600); err != nil {
			t.Fatal(err)
		}
	} else if string(got) != text {
		t.Errorf("the conversation goes:\n%s\nwant:\n%s", got, text)
	}
}

// indent writes JSON so that a diff of it can be read.
func indent(out string) string {
	if out == "" {
		return ""
	}
	var b bytes.Buffer
	if err := json.Indent(&b, []byte(out), "", "  "); err != nil {
		return "not JSON: " + out
	}
	return b.String() + "\n"
}

// history returns a line for each ended ask: its end, and its receipts.
func history(t *testing.T, open natstest.Opener) []byte {
	t.Helper()
	asks, err := open.Open(t.Context(), "acme", "s-1")
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	for rec, err := range asks.All(t.Context(), client.Query{State: ask.StateResolved}) {
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&b, "%s because: %s\n", rec.Outcome.Status, rec.Outcome.Reason)
		for _, receipt := range rec.Receipts {
			fmt.Fprintf(&b, "  %s %s: %s\n", receipt.Type, receipt.State, receipt.Words())
		}
	}
	return b.Bytes()
}
