//go:build linux

package main

import (
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/askbus/askbus/internal/process/httpserver"
)

// pages returns the address of the inbox's pages.
func (pl place) pages() string {
	pl.t.Helper()
	at, _, _ := strings.Cut(pl.must(0, "login", "--output", "json")["url"].(string), "/login")
	return at
}

// visitor is a person's browser without scripts.
type visitor struct {
	t      *testing.T
	base   string
	client *http.Client
}

func (pl place) visitor() visitor {
	pl.t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		pl.t.Fatal(err)
	}
	v := visitor{pl.t, pl.pages(), &http.Client{Jar: jar, Transport: httpserver.LocalTransport()}}
	link := pl.must(0, "login", "--output", "json")["url"].(string)
	v.read(v.client.Get(link))
	return v
}

func (v visitor) read(res *http.Response, err error) string {
	if err != nil {
		v.t.Error(err)
		return ""
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		v.t.Error(err)
	}
	return string(body)
}

var hiddenField = regexp.MustCompile(`<input type="hidden" name="([^"]*)" value="([^"]*)"`)

// form returns what an ask's page would submit.
func (v visitor) form(path string) url.Values {
	form := url.Values{}
	for _, m := range hiddenField.FindAllStringSubmatch(v.read(v.client.Get(v.base+path)), -1) {
		form.Set(m[1], m[2])
	}
	return form
}

// TestWebTerminalAndCommandLineRace lets a person in the browser, one at "askbus tui" in tmux and
// one at "askbus answer" answer each ask at the same moment: there is one outcome, and all three
// report it. ASKBUS_SLOW=1 races for 300 asks.
func TestWebTerminalAndCommandLineRace(t *testing.T) {
	t.Parallel()
	n := 12
	if os.Getenv("ASKBUS_SLOW") != "" {
		n = 300
	}
	pl, _ := up(t)
	web := pl.visitor()
	screen := inTmux(t, 120, 30, "tui", "--dir", pl.dir)
	screen.wait("Nothing waits for you.")
	labels := []string{"Browser", "Terminal", "Line"}
	won := map[string]int{}
	for i := range n {
		id, question := fmt.Sprint("r", i), fmt.Sprintf("Who is first in race %d?", i)
		pl.must(3, "ask", "--id", id, "--session", "s", "--question", question, "--option", labels[0], "--option", labels[1], "--option", labels[2], "--wait", "0")
		path := "/ask/default/s/" + id
		form := web.form(path)
		form.Set("select:q1", "=o1")
		line, typing := onTerminal(t, 80, 24, nil, "answer", "s/"+id, "--dir", pl.dir)
		line.out.wait(t, "Choose one")
		screen.wait("1 waiting", question)
		screen.keys("j")
		screen.wait("( ) Terminal", question)
		screen.keys("2")
		screen.wait("(•) Terminal")

		dawdle := func() { // pressing a key in tmux takes a process
			for range rand.IntN(10) {
				web.form(path)
			}
		}
		var told string
		racers := []func(){
			func() {
				dawdle()
				told = web.read(web.client.PostForm(web.base+path+"/answer", form))
			},
			func() { screen.keys("Enter") },
			func() {
				dawdle()
				typed(t, typing, "3\n")
			},
		}
		rand.Shuffle(len(racers), func(i, j int) { racers[i], racers[j] = racers[j], racers[i] })
		var race sync.WaitGroup
		for _, r := range racers {
			race.Go(r)
		}
		race.Wait()
		line.wait()

		o := pl.must(0, "get", "s/"+id)["outcome"].(map[string]any)
		selected := fmt.Sprint(o["answers"].([]any)[0].(map[string]any)["selected"])
		at := slices.Index([]string{"[o1]", "[o2]", "[o3]"}, selected)
		if at < 0 {
			t.Fatalf("outcome %v", o)
		}
		first := labels[at]
		if by := o["by"].(map[string]any)["responder"]; (by == "web") != (first == "Browser") {
			t.Errorf("%s: %s by %v", id, first, by)
		}
		won[first]++
		screen.wait("0 waiting", "✓ You chose "+first)
		if !strings.Contains(told, first) {
			t.Errorf("%s: %s was first, and the browser is told\n%s", id, first, told)
		}
		if said := line.out.String(); !strings.Contains(said[strings.LastIndex(said, "Choose one"):], first) {
			t.Errorf("%s: %s was first, and the line says %q", id, first, said)
		}
	}
	t.Logf("first of %d: %v", n, won)
}
