package interop_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/lab/fakeslack"
	"github.com/askbus/askbus/internal/testkit/waittest"
)

// workspace starts the fake Slack of our own tests. The tests here check that
// Slack's own clients accept it.
func workspace(t *testing.T) *fakeslack.Server {
	t.Helper()
	s, err := fakeslack.Start(fakeslack.Options{AckWithin: 10 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	s.AddUser(fakeslack.User{ID: "U1", Name: "mei", Email: "mei@example.com"})
	s.AddUser(fakeslack.User{ID: "UGONE", Name: "gone", Deleted: true})
	s.AddGroup(fakeslack.Group{ID: "S1", Handle: "dba", Members: []string{"U1"}})
	s.AddChannel(fakeslack.Channel{ID: "C1", Name: "asks", Members: []string{"U1", fakeslack.BotUser}})
	s.AddChannel(fakeslack.Channel{ID: "C2", Name: "more"})
	s.AddChannel(fakeslack.Channel{ID: "COLD", Name: "old", Archived: true})
	return s
}

func slackEnv(s *fakeslack.Server) []string {
	o := s.Settings()
	return append(os.Environ(), "SLACK_API_URL="+s.URL(), "SLACK_BOT_TOKEN="+o.BotToken, "SLACK_APP_TOKEN="+o.AppToken, "SLACK_SIGNING_SECRET="+o.SigningSecret)
}

func TestSlackWebAPI(t *testing.T) {
	t.Parallel()
	s := workspace(t)
	cmd := exec.Command("node", "slack/webapi.mjs")
	cmd.Env, cmd.Stderr = slackEnv(s), os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]map[string]any{}
	for line := range strings.Lines(string(out)) {
		var one map[string]any
		if json.Unmarshal([]byte(line), &one) == nil {
			name, _ := one["name"].(string)
			got[name] = one
		}
	}
	want := map[string]map[string]any{
		"auth":                     {"ok": true, "team": "T0HOME"},
		"post":                     {"ok": true, "channel": "C1", "blocks": 2.0},
		"post 3,900 characters":    {"ok": true},
		"post 5,000 characters":    {"ok": true},
		"update 4,001 characters":  {"ok": false, "error": "msg_too_long"},
		"section 3,001":            {"ok": false, "error": "invalid_blocks", "messages": []any{"[ERROR] must be less than 3001 characters [json-pointer:/text] [json-pointer:/blocks/0]"}},
		"51 blocks":                {"ok": false, "error": "invalid_blocks"},
		"button 76":                {"ok": false, "error": "invalid_blocks"},
		"nothing":                  {"ok": false, "error": "no_text"},
		"no channel":               {"ok": false, "error": "channel_not_found"},
		"archived":                 {"ok": false, "error": "is_archived"},
		"update nothing":           {"ok": false, "error": "message_not_found"},
		"update":                   {"ok": true, "text": "done"},
		"ephemeral to a stranger":  {"ok": false, "error": "user_not_in_channel"},
		"group":                    {"ok": true, "users": []any{"U1"}},
		"dm":                       {"ok": true, "dm": true},
		"by e-mail":                {"ok": true, "user": "U1"},
		"view with a dead trigger": {"ok": false, "error": "invalid_trigger_id"},
		"file":                     {"ok": true, "files": 1.0},
		"file of nothing":          {"ok": false, "error": "invalid_arguments"},
		"no file":                  {"ok": false, "error": "file_not_found"},
		"storm":                    {"ok": false, "code": "slack_webapi_rate_limited_error"},
	}
	for name, fields := range want {
		for key, value := range fields {
			if !reflect.DeepEqual(got[name][key], value) {
				t.Errorf("%s: %s is %v, want %v (%v)", name, key, got[name][key], value, got[name])
			}
		}
	}
	if keys := fmt.Sprint(got["history"]["keys"]); !strings.Contains(keys, "k1") {
		t.Errorf("history has no metadata: %v", got["history"])
	}
}

// boltApp is a running Bolt app.
type boltApp struct {
	t     *testing.T
	lines chan map[string]any
}

func startBolt(t *testing.T, s *fakeslack.Server, port int) *boltApp {
	t.Helper()
	cmd := exec.Command("node", "slack/bolt.mjs")
	cmd.Env, cmd.Stderr = slackEnv(s), os.Stderr
	if port != 0 {
		cmd.Env = append(cmd.Env, fmt.Sprintf("SLACK_PORT=%d", port))
	}
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	app := &boltApp{t, make(chan map[string]any, 100)}
	t.Cleanup(func() {
		_ = in.Close()
		if err := cmd.Wait(); err != nil {
			t.Errorf("bolt: %v", err)
		}
	})
	ready := make(chan struct{})
	go func() {
		lines := bufio.NewReader(out)
		for {
			line, err := lines.ReadString('\n')
			if strings.TrimSpace(line) == "ready" {
				close(ready)
			}
			var one map[string]any
			if json.Unmarshal([]byte(line), &one) == nil {
				app.lines <- one
			}
			if err != nil {
				_, _ = io.Copy(io.Discard, lines)
				return
			}
		}
	}()
	select {
	case <-ready:
	case <-time.After(waittest.Limit):
		t.Fatal("bolt does not start")
	}
	return app
}

// heard waits for a line with these fields.
func (a *boltApp) heard(want map[string]any) {
	a.t.Helper()
	limit := time.After(waittest.Limit)
	for {
		select {
		case line := <-a.lines:
			same := true
			for k, v := range want {
				same = same && reflect.DeepEqual(line[k], v)
			}
			if same {
				return
			}
			a.t.Logf("bolt: %v", line)
		case <-limit:
			a.t.Fatalf("bolt never heard %v", want)
		}
	}
}

// A Bolt app does everything that our surface does, over both transports.
func TestSlackBolt(t *testing.T) {
	t.Parallel()
	for _, transport := range []string{"socket mode", "http"} {
		t.Run(transport, func(t *testing.T) {
			t.Parallel()
			s := workspace(t)
			port := 0
			if transport == "http" {
				l, err := net.Listen("tcp", "127.0.0.1:0")
				if err != nil {
					t.Fatal(err)
				}
				port = l.Addr().(*net.TCPAddr).Port
				_ = l.Close()
				url := fmt.Sprintf("http://127.0.0.1:%d/slack/events", port)
				s.DeliverTo(url, url, url)
			}
			app := startBolt(t, s, port)
			at := s.PostAsApp("C1", `[{"type":"section","text":{"type":"mrkdwn","text":"Which?"}},
				{"type":"actions","block_id":"a","elements":[
					{"type":"button","action_id":"pick","value":"pg","text":{"type":"plain_text","text":"PostgreSQL"}},
					{"type":"button","action_id":"form","value":"f","text":{"type":"plain_text","text":"Other"}},
					{"type":"checkboxes","action_id":"boxes","options":[{"value":"x","text":{"type":"plain_text","text":"X"}},{"value":"y","text":{"type":"plain_text","text":"Y"}}]}]}]`)

			acked(t, s.Choose("U1", at, "boxes", fakeslack.Input{Options: []string{"X", "Y"}}))
			app.heard(map[string]any{"boxes": []any{"x", "y"}})
			acked(t, s.Click("U1", at, "Other"))
			app.heard(map[string]any{"opened": true})
			acked(t, s.Submit("U1", map[string]fakeslack.Input{"Why?": {Text: "no"}}))
			if v, open := s.Modal("U1"); !open || v.Errors["q"] != "Please say more." {
				t.Errorf("the modal after a refused answer: %v %+v", open, v)
			}
			acked(t, s.Submit("U1", map[string]fakeslack.Input{"Why?": {Text: "because"}}))
			app.heard(map[string]any{"submitted": "because", "user": "U1", "metadata": "the ask"})
			if _, open := s.Modal("U1"); open {
				t.Error("the modal stays open after an answer")
			}
			acked(t, s.Command("U1", "C1", "/askbus", "list"))
			app.heard(map[string]any{"command": "list"})
			s.Write("U1", "C1", at.TS, "hello there")
			app.heard(map[string]any{"message": "hello there", "thread": at.TS})
			s.OpenHome("U1")
			app.heard(map[string]any{"home": "U1"})
			if _, ok := s.Home("U1"); !ok {
				t.Error("no Home tab")
			}
			acked(t, s.Click("U1", at, "PostgreSQL"))
			app.heard(map[string]any{"click": "pg", "user": "U1"})
			s.Await(t.Context(), func() bool { m, _ := s.Message(at); return m.Text == "chosen: pg" && !m.Live() })
			if t.Context().Err() != nil {
				t.Error("the card was not edited")
			}
		})
	}
}

func acked(t *testing.T, d fakeslack.Delivery) {
	t.Helper()
	if !d.Acked {
		t.Errorf("not acknowledged: %+v", d)
	}
}
