package config_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/cli"
	"github.com/askbus/askbus/internal/process/config"
	"github.com/askbus/askbus/pkg/client"
)

type settings struct {
	config.Common
	config.Reach
	config.Ledger
	config.Listen
	config.Web
	config.Log
}

// TestSettingsAreNamedAsTheEnvironmentReadsThem sets every variable of the
// table and checks that Load reads it, because the table and envconfig derive
// the names separately.
func TestSettingsAreNamedAsTheEnvironmentReadsThem(t *testing.T) {
	rows := config.Settings(settings{}, &settings{})
	names := make([]string, len(rows))
	for i, r := range rows {
		names[i] = r.Name
		if r.Description == "" {
			t.Errorf("%s is not described", r.Name)
		}
	}
	for _, want := range []string{
		"ASKBUS_DIR", "ASKBUS_TENANT", "ASKBUS_NATS_URL", "ASKBUS_HTTP_URL", "ASKBUS_TOKEN", "ASKBUS_CREDS", "ASKBUS_MAX_STORE", "ASKBUS_NATS_ADDR",
		"ASKBUS_HTTP_ADDR", "ASKBUS_OPS_ADDR", "ASKBUS_WEB_COOKIE_KEY", "ASKBUS_RETENTION", "ASKBUS_GROUPS", "ASKBUS_LOG_LEVEL",
	} {
		if !slices.Contains(names, want) {
			t.Errorf("%s is not among %v", want, names)
		}
	}
	if !slices.IsSorted(names) || len(slices.Compact(slices.Clone(names))) != len(names) {
		t.Errorf("not sorted, or not once each: %v", names)
	}
	for name, value := range map[string]string{
		"ASKBUS_NATS_URL": "nats://x", "ASKBUS_HTTP_ADDR": "127.0.0.1:1", "ASKBUS_NATS_ADDR": "127.0.0.1:2", "ASKBUS_OPS_ADDR": "127.0.0.1:3", "ASKBUS_MAX_STORE": "1GiB",
		"ASKBUS_WEB_COOKIE_KEY": "secret", "ASKBUS_WEB_HOSTS": "a,b", "ASKBUS_GROUPS": "ops, dev", "ASKBUS_RETENTION": "2h", "ASKBUS_PARTITIONS": "7",
	} {
		t.Setenv(name, value)
	}
	t.Setenv("URL", "bare") // a bare variable is ignored
	t.Setenv("TENANT", "bare")
	var s settings
	if err := config.Load(&s); err != nil {
		t.Fatal(err)
	}
	if s.NATS.URL != "nats://x" || s.HTTPAddr != "127.0.0.1:1" || s.NATSAddr != "127.0.0.1:2" || s.OpsAddr != "127.0.0.1:3" || s.MaxStore != "1GiB" ||
		s.Web.Web.CookieKey != "secret" || !slices.Equal(s.Web.Web.Hosts, []string{"a", "b"}) || !slices.Equal(s.Groups, []string{"ops", "dev"}) || s.Retention != 2*time.Hour || s.Partitions != 7 {
		t.Errorf("%+v", s)
	}
	if s.Tenant != "default" || s.Margin != 0 || s.HTTP.URL != "" {
		t.Errorf("defaults: %+v", s)
	}
	t.Setenv("ASKBUS_RETENTION", "a week")
	if err := config.Load(&s); err == nil || !strings.Contains(err.Error(), `ASKBUS_RETENTION is "a week": give a duration such as 90s`) {
		t.Errorf("a wrong value: %v", err)
	}
	t.Setenv("ASKBUS_RETENTION", "2h")
	t.Setenv("ASKBUS_UNDO", "")
	t.Setenv("ASKBUS_TENANT", "")
	if err := config.Load(&s); err != nil || s.Undo != 3*time.Second || s.Tenant != "default" {
		t.Errorf("empty variables: %v, %+v", err, s)
	}
	t.Setenv("ASKBUS_PARTITIONS", "0")
	if err := config.Load(&s); err == nil || !strings.Contains(err.Error(), "ASKBUS_PARTITIONS") {
		t.Errorf("no partitions: %v", err)
	}
	t.Setenv("ASKBUS_PARTITIONS", "7")
	for name, value := range map[string]string{"ASKBUS_HTTP_CONNECTIONS": "-3", "ASKBUS_WEB_HOSTS": "https://ask.example.com"} {
		was := os.Getenv(name)
		t.Setenv(name, value)
		if err := config.Load(&s); err == nil || !strings.Contains(err.Error(), name+` is "`+value+`": give `) {
			t.Errorf("%s=%s: %v", name, value, err)
		}
		t.Setenv(name, was)
		if err := config.Load(&s); err != nil {
			t.Errorf("%s as before: %v", name, err)
		}
	}
}

// A struct of settings may also hold what is no setting.
func TestAFieldThatIsNoSettingIsLeftAlone(t *testing.T) {
	t.Parallel()
	type more struct {
		config.Log
		own string
	}
	s := more{own: "kept"}
	if err := config.Load(&s); err != nil || s.own != "kept" || s.LogFormat == "" {
		t.Errorf("%+v, %v", s, err)
	}
}

// A variable that a host of the agent names keeps that name, in the table and in
// the environment.
func TestAVariableOfTheHostHasNoPrefix(t *testing.T) {
	const session, task = "__VF_PROJECT_AI_SESSION_ID__", "__VF_PROJECT_AI_TASK_ID__"
	t.Setenv(session, "s-1")
	t.Setenv(task, "t-1")
	var s cli.HostSettings
	if err := config.Load(&s); err != nil || s.ProjectSession != "s-1" || s.ProjectTask != "t-1" {
		t.Errorf("%+v, %v", s, err)
	}
	for _, want := range []string{session, task} {
		if !slices.ContainsFunc(config.Settings(s), func(r config.Setting) bool { return r.Name == want && r.Description != "" }) {
			t.Errorf("%s is not in the table", want)
		}
	}
}

func TestUnknownVariablesAreNamed(t *testing.T) {
	t.Setenv("ASKBUS_RETENTON", "1h")
	t.Setenv("ASKBUS_OPSADDR", "x")
	t.Setenv("ASKBUS_TENANT", "acme")
	t.Setenv("ASKBUS_TEST_LOG", "1")
	got := config.Unknown(settings{})
	got = slices.DeleteFunc(got, func(s string) bool {
		return s != "ASKBUS_RETENTON" && s != "ASKBUS_OPSADDR" && s != "ASKBUS_TENANT" && s != "ASKBUS_TEST_LOG"
	})
	if !slices.Equal(got, []string{"ASKBUS_OPSADDR", "ASKBUS_RETENTON"}) {
		t.Errorf("unknown are %v", got)
	}
}

func TestConcurrentUpdatesOfTheContext(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "deep", "er")
	if c, err := cli.ReadContext(dir); err != nil || c.NATSURL != "" {
		t.Errorf("a missing one: %+v, %v", c, err)
	}
	var wg sync.WaitGroup
	for i := range 40 {
		wg.Go(func() {
			if err := cli.UpdateContext(dir, func(c *cli.Context) { c.SetOps(fmt.Sprint("role", i), "http://x") }); err != nil {
				t.Error(err)
			}
		})
		wg.Go(func() {
			if _, err := cli.ReadContext(dir); err != nil {
				t.Errorf("read half a file: %v", err)
			}
		})
	}
	wg.Wait()
	if err := cli.UpdateContext(dir, func(c *cli.Context) {
		c.NATSURL, c.Operator = "nats://x", &client.Credential{Name: "operator", Creds: "secret"}
	}); err != nil {
		t.Fatal(err)
	}
	c, err := cli.ReadContext(dir)
	if err != nil || len(c.Ops) != 40 || c.NATSURL != "nats://x" || c.Operator.Creds != "secret" {
		t.Errorf("%d roles, %+v, %v", len(c.Ops), c, err)
	}
	path := filepath.Join(dir, "context.json")
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	data, err := os.ReadFile(path)
	if err != nil || !json.Valid(data) {
		t.Errorf("%s, %v", data, err)
	}
}

func TestADamagedContextIsReportedAndReplaced(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "context.json")
	if err := os.WriteFile(path, []byte(`{"nats_url":`), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := cli.ReadContext(dir); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("a damaged one: %v", err)
	}
	if err := cli.UpdateContext(dir, func(c *cli.Context) { c.HTTPURL = "http://x" }); err != nil {
		t.Fatal(err)
	}
	if c, err := cli.ReadContext(dir); err != nil || c.HTTPURL != "http://x" {
		t.Errorf("%+v, %v", c, err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
}

func TestDefaultDir(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", "/state")
	if d := config.DefaultDir(); d != "/state/askbus" {
		t.Error(d)
	}
	t.Setenv("XDG_STATE_HOME", "")
	t.Setenv("HOME", "/home/mei")
	if d := config.DefaultDir(); d != "/home/mei/.local/state/askbus" {
		t.Error(d)
	}
	t.Setenv("HOME", "") // as in a service: the system's list of users has it
	if u, err := user.Current(); err != nil || config.DefaultDir() != filepath.Join(u.HomeDir, ".local", "state", "askbus") {
		t.Error(config.DefaultDir(), err)
	}
}
