package main

import (
	"bytes"
	"net/http"
	"net/http/cookiejar"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/process/httpserver"
	"github.com/askbus/askbus/internal/testkit/natstest"
)

// standIn puts a browser into a directory for PATH that keeps its arguments as /proc shows them to
// every user, and the file that it opens, in the directory.
func standIn(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	script := "#!/bin/sh\ncat \"/proc/$$/cmdline\" > " + dir + "/cmdline.new\nstat -c %a \"$1\" > " + dir + "/mode\ncat \"$1\" > " + dir + "/page\nmv " + dir + "/cmdline.new " + dir + "/cmdline\n"
	if err := os.WriteFile(filepath.Join(dir, "xdg-open"), []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	return dir
}

// opened waits for the stand-in, and returns its arguments and the page that it read.
func opened(t *testing.T, dir string) (arguments []string, page string) {
	t.Helper()
	natstest.Eventually(t, "a browser is started", func() bool {
		_, err := os.Stat(filepath.Join(dir, "cmdline"))
		return err == nil
	})
	line, err := os.ReadFile(filepath.Join(dir, "cmdline"))
	if err != nil {
		t.Fatal(err)
	}
	if mode, _ := os.ReadFile(filepath.Join(dir, "mode")); strings.TrimSpace(string(mode)) != "600" {
		t.Errorf("the page has mode %s", mode)
	}
	text, _ := os.ReadFile(filepath.Join(dir, "page"))
	return strings.Split(string(bytes.TrimRight(line, "\x00")), "\x00"), string(text)
}

var leadsTo = regexp.MustCompile(`url=(http[^"]+)"`)

// Other users of the machine read the arguments of every process: a browser is started with the
// name of a file that only this user can read.
func TestNoBrowserIsStartedWithASecret(t *testing.T) {
	t.Parallel()
	dir := standIn(t)
	pl := place{t, filepath.Join(t.TempDir(), "state")}
	path := "PATH=" + dir + ":" + os.Getenv("PATH")
	p, _ := onTerminal(t, 200, 40, []string{path}, "up", "--dir", pl.dir, "--nats-addr", "127.0.0.1:0", "--http-addr", "127.0.0.1:0", "--ops-addr", "127.0.0.1:0")
	p.out.wait(t, "askbus is up.")
	arguments, page := opened(t, dir)
	if all := strings.Join(arguments, " "); strings.Contains(all, "t=") || strings.Contains(all, "http") {
		t.Errorf("every user can read %q", all)
	}
	link := leadsTo.FindStringSubmatch(page)
	if link == nil {
		t.Fatalf("the page leads nowhere: %s", page)
	}
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	browser := &http.Client{Jar: jar, Transport: httpserver.LocalTransport(), Timeout: time.Minute}
	res, err := browser.Get(strings.ReplaceAll(link[1], "&amp;", "&"))
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close()
	if res.StatusCode != http.StatusOK {
		t.Errorf("the page's link: %d", res.StatusCode)
	}
	file := arguments[len(arguments)-1]
	natstest.Eventually(t, "the page is removed after its use", func() bool {
		_, err := os.Stat(file)
		return os.IsNotExist(err)
	})

	// "askbus login URL" too.
	other, config := standIn(t), t.TempDir()
	login, _ := onTerminal(t, 200, 40, []string{"PATH=" + other + ":" + os.Getenv("PATH"), "XDG_CONFIG_HOME=" + config, "SSH_CONNECTION="}, "login", pl.context().HTTPURL, "--dir", t.TempDir())
	login.out.wait(t, "Code: ")
	arguments, page = opened(t, other)
	if all := strings.Join(arguments, " "); strings.Contains(all, "/terminal/") || !strings.Contains(page, "/terminal/") {
		t.Errorf("every user can read %q; the page is %s", all, page)
	}
}
