package programstatus_test

import (
	"encoding/base64"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"github.com/askbus/askbus/internal/answering/programstatus"
)

const (
	blocked = "\x1b]7501;state=blocked:kind=question:app=askbus:msg=V2hpY2ggZGF0YWJhc2U/\x1b\\"
	cleared = "\x1b]7501;state=clear:app=askbus\x1b\\"
)

// terminal returns a file that collects what is written to it. Without O_APPEND
// each report overwrites the previous one, as a terminal's record does.
func terminal(t *testing.T) (path string, read func() string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "tty")
	read = func() string {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Truncate(path, 0); err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	return path, read
}

func TestTheFirstWaitIsReportedAndTheLastTakesItBack(t *testing.T) {
	t.Parallel()
	path, read := terminal(t)
	r := programstatus.New(programstatus.Options{Term: "xterm-256color", Path: path})
	first := r.Waiting("Which database?")
	if got := read(); got != blocked {
		t.Errorf("got %q", got)
	}
	second := r.Waiting("Deploy?")
	first()
	first()
	if got := read(); got != "" {
		t.Errorf("with one wait left: %q", got)
	}
	second()
	if got := read(); got != cleared {
		t.Errorf("got %q", got)
	}
}

func TestManyWaitsLeaveNothingBehind(t *testing.T) {
	t.Parallel()
	path, read := terminal(t)
	r := programstatus.New(programstatus.Options{Term: "xterm", Path: path})
	open := func() int {
		names, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Skip("no /proc")
		}
		return len(names)
	}
	before := open()
	var wg sync.WaitGroup
	for range 2000 {
		wg.Go(func() { r.Waiting("x")() })
	}
	wg.Wait()
	if got := read(); !strings.HasPrefix(got, cleared) {
		t.Errorf("left %q", got)
	}
	if after := open(); after > before+20 { // other tests also open files
		t.Errorf("%d descriptors, before %d", after, before)
	}
}

func TestTmuxHandsTheReportOn(t *testing.T) {
	t.Parallel()
	path, read := terminal(t)
	r := programstatus.New(programstatus.Options{Term: "tmux-256color", Tmux: true, Path: path})
	r.Waiting("Which database?")
	want := "\x1bPtmux;\x1b\x1b]7501;state=blocked:kind=question:app=askbus:msg=V2hpY2ggZGF0YWJhc2U/\x1b\x1b\\\x1b\\"
	if got := read(); got != want {
		t.Errorf("got %q", got)
	}
}

func TestWhoCannotTakeReportsGetsNone(t *testing.T) {
	t.Parallel()
	path, read := terminal(t)
	for _, opts := range []programstatus.Options{{}, {Term: "dumb"}, {Term: "linux"}, {Term: "screen", Screen: true}} {
		opts.Path = path
		programstatus.New(opts).Waiting("x")()
		if got := read(); got != "" {
			t.Errorf("%+v: %q", opts, got)
		}
	}
	programstatus.New(programstatus.Options{Term: "xterm", Path: filepath.Join(t.TempDir(), "none")}).Waiting("x")() // no terminal
}

func TestALongMessageIsCutBetweenCharacters(t *testing.T) {
	t.Parallel()
	for _, s := range []string{strings.Repeat("数据库", 200), strings.Repeat("a", 241), "\x1b]0;owned\x07"} {
		report := programstatus.Blocked(s)
		_, encoded, _ := strings.Cut(strings.TrimSuffix(report, "\x1b\\"), ":msg=")
		message, err := base64.StdEncoding.DecodeString(encoded)
		if err != nil || !utf8.Valid(message) || len(message) > 240 {
			t.Errorf("%d bytes, %v: %q", len(message), err, message)
		}
		if strings.Count(report, "\x1b") != 2 || strings.ContainsAny(report, "\a") {
			t.Errorf("the message is not only data: %q", report)
		}
	}
}
