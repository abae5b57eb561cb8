package role

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/askbus/askbus/internal/cli"
	"github.com/askbus/askbus/internal/process/daemon"
)

// openFiles counts what this process has open.
func openFiles(t *testing.T) int {
	t.Helper()
	all, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(all)
}

// The watch of the connected chats sees every change of a chat's settings, and 2,000 of them leave nothing behind: no
// goroutine, no open file, no handler, and one line about what is wrong.
//
//nolint:paralleltest // it counts what the whole process has open
func TestTheWatchOfChatsLeavesNothingBehind(t *testing.T) {
	const changes = 2_000
	synctest.Test(t, func(t *testing.T) {
		var said bytes.Buffer
		a := &cli.App{Stderr: &said}
		a.Dir = t.TempDir()
		r := &Process{a: a}
		r.connectedChats("")
		var watch daemon.Part
		for _, p := range r.parts {
			if p.Name == "connected chats" {
				watch = p
			}
		}
		c := telegramEntry()
		name := c.chatFile(r.a.Dir)
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- watch.Run(ctx) }()
		change := func(i int) {
			if i%10 == 0 { // disconnected
				if err := os.Remove(name); err != nil && !os.IsNotExist(err) {
					t.Fatal(err)
				}
			} else {
				if err := os.WriteFile(name, []byte("ASKBUS_TELEGRAM_TOKEN_FILE=gone\n"), 0o600); err != nil {
					t.Fatal(err)
				}
				at := time.Unix(int64(1_000_000+i), 0)
				if err := os.Chtimes(name, at, at); err != nil {
					t.Fatal(err)
				}
			}
			time.Sleep(lookForChats)
			synctest.Wait()
		}
		for i := range 50 {
			change(i)
		}
		goroutines, files := runtime.NumGoroutine(), openFiles(t)
		for i := range changes {
			change(50 + i)
		}
		if now := runtime.NumGoroutine(); now > goroutines {
			t.Errorf("%d goroutines, before %d", now, goroutines)
		}
		if now := openFiles(t); now > files {
			t.Errorf("%d open files, before %d", now, files)
		}
		lines := strings.Count(said.String(), "\n")
		if removed := (changes + 50) / 10; lines > removed+1 || lines < removed/2 {
			t.Errorf("%d lines about %d times that the chat was connected anew: %.300s", lines, removed, said.String())
		}
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

// A variable of the environment alone does not complete the file that "askbus connect" wrote, and it is said which counts.
func TestTheEnvironmentCountsBeforeWhatConnectWrote(t *testing.T) {
	var said bytes.Buffer
	a := &cli.App{Stderr: &said}
	a.Dir = t.TempDir()
	c := slackEntry()
	name := c.chatFile(a.Dir)
	if err := c.canConnect(a.Dir); err != nil {
		t.Fatal(err)
	}
	if _, err := c.connect(a.Dir, "", map[string]string{"ASKBUS_SLACK_BOT_TOKEN": "xoxb-1", "ASKBUS_SLACK_APP_TOKEN": "xapp-1", "ASKBUS_SLACK_CHANNEL": "C1"}, nil); err != nil {
		t.Fatal(err)
	}
	t.Setenv("ASKBUS_SLACK_BOT_TOKEN_FILE", filepath.Join(a.Dir, "token"))
	if err := os.WriteFile(filepath.Join(a.Dir, "token"), []byte("xoxb-2"), 0o600); err != nil {
		t.Fatal(err)
	}
	(&Process{a: a}).startChat(t.Context(), c, fileStamp(name), "", nil, "")
	for _, words := range []string{"Slack cannot run: ", "set ASKBUS_SLACK_APP_TOKEN", "the environment has ASKBUS_SLACK_BOT_TOKEN_FILE, so " + name + " does not count: set all there, or unset it\n"} {
		if !strings.Contains(said.String(), words) {
			t.Errorf("%q does not say %q", said.String(), words)
		}
	}
}

// Each account of a chat has files of its own, and a secret in the environment is of one account only.
func TestTwoAccountsOfOneChat(t *testing.T) {
	var said bytes.Buffer
	a := &cli.App{Stderr: &said}
	a.Dir = filepath.Join(t.TempDir(), "a[b") // no pattern
	two := slackEntry()
	two.Posting.Type = "slack-emea"
	for _, c := range []*chatEntry{slackEntry(), two} {
		if err := c.canConnect(a.Dir); err != nil {
			t.Fatal(err)
		}
		if _, err := c.connect(a.Dir, "", map[string]string{"ASKBUS_SLACK_BOT_TOKEN": "xoxb-1", "ASKBUS_SLACK_APP_TOKEN": "xapp-1", "ASKBUS_SLACK_CHANNEL": "C1"}, nil); err != nil {
			t.Fatal(err)
		}
	}
	var served []string
	for _, c := range accounts(a.Dir) {
		if c.Type == "slack" {
			served = append(served, c.served())
			if err := c.fill(a.Dir); err != nil || c.setBy() == "" {
				t.Errorf("%s is set by %q, %v", c.served(), c.setBy(), err)
			}
		}
	}
	if strings.Join(served, " ") != "slack slack-emea" {
		t.Errorf("the accounts are %v", served)
	}
	for _, typ := range []string{"telegram", "slack-", "slack-a b", "slacks", "web"} {
		c := slackEntry()
		c.Posting.Type = typ
		if err := c.checkType(); err == nil {
			t.Errorf("type %q: %v", typ, err)
		}
	}

	t.Setenv("ASKBUS_SLACK_BOT_TOKEN", "xoxb-2")
	two = slackEntry()
	two.account = "slack-emea"
	(&Process{a: a}).startChat(t.Context(), two, fileStamp(two.chatFile(a.Dir)), "", nil, "")
	if words := "Slack (slack-emea) cannot run: the environment has ASKBUS_SLACK_BOT_TOKEN, which is of one account only"; !strings.Contains(said.String(), words) {
		t.Errorf("%q does not say %q", said.String(), words)
	}
}
