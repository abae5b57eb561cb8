package interop_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"os"
	"os/exec"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/answering/chat"
	"github.com/askbus/askbus/internal/answering/chat/feishu"
	"github.com/askbus/askbus/internal/lab/fakefeishu"
	"github.com/askbus/askbus/internal/lab/freeaddr"
	"github.com/askbus/askbus/internal/testkit/waittest"
)

// feishuTenant starts the fake Feishu of our own tests. The tests here check that Feishu's own SDK accepts it.
func feishuTenant(t *testing.T) *fakefeishu.Server {
	t.Helper()
	f := fakefeishu.Start()
	t.Cleanup(f.Close)
	f.AddUser(fakefeishu.User{Union: "on_mei", Open: "ou_mei", Name: "Mei"}, "oc_asks")
	f.AddUser(fakefeishu.User{Union: "on_tom", Open: "ou_tom", Name: "Tom"}, "oc_asks")
	return f
}

func feishuEnv(f *fakefeishu.Server, more ...string) []string {
	return append(append(os.Environ(), "FEISHU_DOMAIN="+f.URL(), "FEISHU_APP_ID="+fakefeishu.AppID, "FEISHU_APP_SECRET="+fakefeishu.AppSecret,
		"FEISHU_ENCRYPT_KEY="+fakefeishu.EncryptKey, "FEISHU_VERIFICATION_TOKEN="+fakefeishu.VerificationToken), more...)
}

// runFeishu runs a script to its end, and returns its lines by name.
func runFeishu(t *testing.T, script string, env []string) map[string]map[string]any {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "node", "feishu/"+script)
	cmd.Env, cmd.Stderr = env, os.Stderr
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
	return got
}

func expectFields(t *testing.T, got, want map[string]map[string]any) {
	t.Helper()
	for name, fields := range want {
		for key, value := range fields {
			if !reflect.DeepEqual(got[name][key], value) {
				t.Errorf("%s: %s is %v, want %v (%v)", name, key, got[name][key], value, got[name])
			}
		}
	}
}

func TestFeishuClient(t *testing.T) {
	t.Parallel()
	expectFields(t, runFeishu(t, "client.mjs", feishuEnv(feishuTenant(t))), map[string]map[string]any{
		"post":                    {"ok": true, "code": 0.0, "chat": "oc_asks"},
		"post again":              {"ok": true, "same": true},
		"edit":                    {"ok": true, "code": 0.0},
		"reply":                   {"ok": true, "code": 0.0},
		"image":                   {"ok": true, "code": 0.0},
		"file":                    {"ok": true, "code": 0.0},
		"members":                 {"ok": true, "names": []any{"Mei", "Tom"}},
		"user":                    {"ok": true, "user": "Mei"},
		"an unknown property":     {"ok": false, "code": 230099.0},
		"an unknown element":      {"ok": false, "code": 230099.0},
		"a form without a button": {"ok": false, "code": 230099.0},
		"30 KB":                   {"ok": false, "code": 230025.0},
		"no chat":                 {"ok": false, "code": 230002.0},
		"no message":              {"ok": false, "code": 230001.0},
		"storm":                   {"ok": false, "code": 230020.0, "reset": "1"},
		"a wrong secret":          {"ok": false},
	})
}

// feishuApp is a running app of the SDK.
type feishuApp struct {
	t     *testing.T
	lines chan map[string]any
}

func startFeishuApp(t *testing.T, env []string) *feishuApp {
	t.Helper()
	cmd := exec.Command("node", "feishu/events.mjs")
	cmd.Env, cmd.Stderr = env, os.Stderr
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
	app := &feishuApp{t, make(chan map[string]any, 100)}
	t.Cleanup(func() {
		_ = in.Close()
		if err := cmd.Wait(); err != nil {
			t.Errorf("the app: %v", err)
		}
	})
	go func() {
		for lines := bufio.NewScanner(out); lines.Scan(); {
			var one map[string]any
			if json.Unmarshal(lines.Bytes(), &one) == nil && one["did"] != nil {
				app.lines <- one
			}
		}
	}()
	app.next("ready")
	return app
}

// next returns the next line, which must say that this was done.
func (a *feishuApp) next(did string) map[string]any {
	a.t.Helper()
	select {
	case one := <-a.lines:
		if one["did"] != did {
			a.t.Fatalf("the app did %v, want %s", one, did)
		}
		return one
	case <-time.After(waittest.Limit):
		a.t.Fatalf("the app did not: %s", did)
	}
	return nil
}

// feishuCard posts a card with a form as our surface draws it, and returns it.
func feishuCard(t *testing.T, f *fakefeishu.Server) fakefeishu.Message {
	t.Helper()
	runFeishu(t, "post.mjs", feishuEnv(f))
	all := f.Messages()
	if len(all) != 1 || !all[0].Open() {
		t.Fatalf("the card is %+v", all)
	}
	return all[0]
}

// The SDK's client of the long connection gets clicks and messages from our fake, whole and in fragments, answers them, and
// connects again.
func TestFeishuLongConnection(t *testing.T) {
	t.Parallel()
	f := feishuTenant(t)
	m := feishuCard(t, f)
	app := startFeishuApp(t, feishuEnv(f))
	click := func() {
		t.Helper()
		r := f.Click(t.Context(), m, fakefeishu.Click{User: "on_mei", Label: "Send", Form: map[string]any{"other_0": "用 PostgreSQL"}})
		if r.Err != nil || r.Told != "stored by dispatcher" || r.Card == nil {
			t.Errorf("the click gets %+v", r)
		}
		if did := app.next("dispatcher"); did["who"] != "on_mei" || did["tenant"] != fakefeishu.Tenant || did["name"] != "send_0_x" || fmt.Sprint(did["form"]) != "map[other_0:用 PostgreSQL]" || did["message"] != m.ID {
			t.Errorf("the app got %v", did)
		}
	}
	click()
	f.Fragment(50)
	click()
	f.Disconnect()
	app.next("reconnected")
	click()
	if err := f.Write(t.Context(), "on_tom", "oc_asks", "hello", "", true); err != nil {
		t.Error(err)
	}
	if did := app.next("message"); did["text"] != "@_user_1 hello" || did["who"] != "on_tom" {
		t.Errorf("the app got %v", did)
	}
}

// The SDK's dispatcher and its handler of cards decrypt and verify what our fake sends as webhooks.
func TestFeishuWebhooks(t *testing.T) {
	t.Parallel()
	f := feishuTenant(t)
	m := feishuCard(t, f)
	addresses, err := freeaddr.Pick(1)
	if err != nil {
		t.Fatal(err)
	}
	address := addresses[0]
	app := startFeishuApp(t, feishuEnv(f, "FEISHU_PORT="+address[strings.LastIndex(address, ":")+1:]))
	for path, by := range map[string]string{"/events": "dispatcher", "/card": "handler"} {
		f.Webhook("http://" + address + path)
		if got, err := f.Challenge(t.Context(), "ch1"); err != nil || string(got) != `{"challenge":"ch1"}` {
			t.Errorf("%s: the challenge gets %s, %v", path, got, err)
		}
		if r := f.Click(t.Context(), m, fakefeishu.Click{User: "on_mei", Label: "Send"}); r.Err != nil || r.Told != "stored by "+by {
			t.Errorf("%s: the click gets %+v", path, r)
		}
		app.next(by)
	}
}

// Our receiver takes a webhook that the SDK's own check accepts, and not one with another signature.
func TestFeishuReceiver(t *testing.T) {
	t.Parallel()
	f := feishuTenant(t)
	app, err := feishu.New(nil, feishu.Options{
		AppID: fakefeishu.AppID, AppSecret: fakefeishu.AppSecret, Domain: f.URL(), EncryptKey: fakefeishu.EncryptKey, VerificationToken: fakefeishu.VerificationToken,
		Options: chat.Options{Routes: chat.Routes{Default: chat.Target{Channel: "oc_asks"}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	web := httptest.NewServer(app.Handler())
	t.Cleanup(web.Close)
	expectFields(t, runFeishu(t, "sender.mjs", feishuEnv(f, "FEISHU_URL="+web.URL+feishu.PathEvents)), map[string]map[string]any{
		"sdk":    {"valid": true, "event": "e1"},
		"signed": {"status": 200.0, "body": "{}"},
		"forged": {"status": 401.0},
	})
}
