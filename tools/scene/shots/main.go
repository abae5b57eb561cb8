// Command shots takes the pictures of the inbox in the documentation, from a
// real askbus and Chromium. Asks are made with its command line. A script in
// the page sets only how long asks have waited, because the pictures show
// hours.
//
// hack/screenshots runs it.
package main

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/askbus/askbus/tools/scene/chromium"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

//go:embed asks.json
var asks []byte

// staged is one ask in a picture.
type staged struct {
	Session string          `json:"session"`
	Answer  []string        `json:"answer"` // arguments of askbus answer; none: it stays pending
	Ask     json.RawMessage `json:"ask"`
}

// shot is one picture.
type shot struct {
	name, path    string
	width, height int64
	scale         float64
	scheme        string
	prepare       string // a script that runs before the picture is taken
}

func shots(embed string) []shot {
	return []shot{
		{"inbox", "/", 1280, 800, 1, "light", ""},
		{"dark", "/ask/default/payments/refunds", 1280, 800, 1, "dark", `document.querySelector('input[value="=void"]').click()`},
		{"previews", "/ask/default/checkout/layout", 1280, 720, 1, "light", `document.querySelector('input[value="=one"]').click()`},
		{"phone", "/ask/default/auth/tokens", 390, 780, 2, "light", `document.querySelector('input[value="=d7"]').click()`},
		{"approval", "/ask/default/release-9/deploy", 1280, 800, 1, "light", ""},
		{"ladder", "/ask/default/infra/disk", 1280, 800, 1, "light", ""},
		{"stand-in", "/ask/default/release-9/rollback", 1280, 800, 1, "light", ""},
		{"break-glass", "/ask/default/release-9/failover", 1280, 1080, 1, "light", `document.querySelector('.break-glass').open = true; document.querySelector('.break-glass input[type=radio]').click(); document.querySelector('#why').value = 'INC-77: the main region is down'; document.querySelector('.break-glass [type=checkbox]').click()`},
		{"history", "/history", 1280, 800, 1, "light", ""},
		{"embed", embed, 640, 200, 1, "light", ""},
	}
}

// aged sets how long each ask has waited, and who else has it open.
const aged = `(() => {
	const ages = [3, 7, 12, 26, 41, 58, 95, 130, 240, 260];
	const at = (min) => new Date(Date.now() - min * 60e3).toISOString();
	let i = 0;
	for (const t of document.querySelectorAll('#list time[data-tick=since]')) t.dateTime = at(ages[i++ % ages.length]);
	for (const t of document.querySelectorAll('.asker time[data-tick=since]')) t.dateTime = document.querySelector('#list a[aria-current] time')?.dateTime ?? at(3);
	i = 2;
	for (const t of document.querySelectorAll('#ended time[data-tick=ago]')) t.dateTime = at(i *= 2);
	i = 3;
	for (const t of document.querySelectorAll('.past time')) {
		const ended = new Date(Date.now() - (i *= 2) * 60e3);
		t.textContent = ended.toTimeString().slice(0, 5);
		t.nextSibling.textContent = ', after ' + ages[i % 7] + ' min ';
	}
})()`

func main() {
	askbus, out := flag.String("askbus", "", "`binary` to show"), flag.String("out", "docs/images", "`folder` to write to")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	ctx, cancel := context.WithTimeout(ctx, 5*time.Minute)
	defer cancel()
	if err := take(ctx, *askbus, *out); err != nil {
		fmt.Fprintln(os.Stderr, "screenshots:", err)
		os.Exit(1)
	}
}

// rules let Mei decide alone what needs votes, and say who Mei and Ana are.
const rules = `
break_glass: [ { name: commanders, from: ["os:mei"], min_proof: os, reason: { prompt: "the incident", pattern: "^INC-" } } ]
people: [ { name: Mei, principals: ["os:mei"] }, { name: Ana, principals: ["os:ana"] } ]
`

// bus runs commands on the bus of the pictures.
type bus struct{ askbus, dir string }

func (b bus) command(ctx context.Context, in []byte, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, b.askbus, append(args, "--dir", b.dir)...) //nolint:gosec // the binary in the pictures
	cmd.Stdin = bytes.NewReader(in)
	var said bytes.Buffer
	cmd.Stderr = &said
	text, err := cmd.Output()
	if err != nil {
		return string(text), fmt.Errorf("askbus %s: %w: %s", strings.Join(args, " "), err, said.String())
	}
	return strings.TrimSpace(string(text)), nil
}

func take(ctx context.Context, askbus, out string) error {
	home, err := os.MkdirTemp("", "askbus-shots")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(home) }()
	b := bus{askbus, filepath.Join(home, "bus")}
	file := filepath.Join(home, "approvals.yaml")
	if err := os.WriteFile(file, []byte(rules), 0o600); err != nil {
		return err
	}
	up := exec.CommandContext(ctx, askbus, "up", "--dir", b.dir, "--approvals", file, "--no-open", "--http-addr", "127.0.0.1:0", "--nats-addr", "127.0.0.1:0") //nolint:gosec // the binary in the pictures
	up.Cancel = func() error { return up.Process.Signal(os.Interrupt) }
	if err := up.Start(); err != nil {
		return err
	}
	defer func() { _ = up.Process.Signal(os.Interrupt); _ = up.Wait() }()
	link, err := b.link(ctx)
	if err != nil {
		return err
	}
	if err := b.away(ctx, home); err != nil {
		return err
	}
	if err := b.seed(ctx); err != nil {
		return err
	}
	if err := b.escalated(ctx); err != nil {
		return err
	}
	token, err := b.command(ctx, nil, "token", "issue", "--role", "screen", "--session", "auth", "--output", "text")
	if err != nil {
		return err
	}
	site := link[:strings.Index(link, "/login")]
	return film(ctx, filepath.Join(home, "chromium"), link, site, shots("/t/"+lastWord(token)+"/embed?session=auth&by=Mei"), out)
}

func lastWord(s string) string {
	for w := range strings.FieldsSeq(s) {
		if strings.HasPrefix(w, "askb_") {
			return w
		}
	}
	return ""
}

// link returns a login link, once the bus is ready.
func (b bus) link(ctx context.Context) (string, error) {
	for {
		link, err := b.command(ctx, nil, "login", "--output", "text")
		if err == nil && strings.HasPrefix(link, "http") {
			return link, nil
		}
		select {
		case <-ctx.Done():
			return "", errors.Join(ctx.Err(), err)
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// away lets Mei stand in for Ana, who says so as a user of this machine.
func (b bus) away(ctx context.Context, home string) error {
	passwd := filepath.Join(home, "passwd")
	if err := os.WriteFile(passwd, []byte("ana:x:0:0:Ana:/:/bin/bash\n"), 0o600); err != nil {
		return err
	}
	ana := bus{"unshare", b.dir}
	_, err := ana.command(ctx, nil, "--mount", "bash", "-c", `mount --bind "$1" /etc/passwd && shift && exec "$@"`, "-", passwd,
		b.askbus, "away", "--until", time.Now().AddDate(0, 0, 3).Format(time.DateOnly), "--for-me", "os:mei")
	return err
}

// escalated waits until the first step of the ladder in the pictures was taken.
func (b bus) escalated(ctx context.Context) error {
	for {
		if text, _ := b.command(ctx, nil, "get", "infra/disk"); strings.Contains(text, `"steps"`) {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(500 * time.Millisecond):
		}
	}
}

// seed makes all asks, and answers those that have ended in the pictures.
func (b bus) seed(ctx context.Context) error {
	var all []staged
	if err := json.Unmarshal(asks, &all); err != nil {
		return err
	}
	for _, one := range all {
		var head struct {
			ID string `json:"id"`
		}
		if err := json.Unmarshal(one.Ask, &head); err != nil {
			return err
		}
		if _, err := b.command(ctx, one.Ask, "ask", "--file", "-", "--session", one.Session, "--wait", "0", "--repository", ""); err != nil && !strings.Contains(err.Error(), "exit status 3") {
			return err
		}
		if len(one.Answer) > 0 {
			// Exit code 4 is a decline.
			if _, err := b.command(ctx, nil, append([]string{"answer", one.Session + "/" + head.ID}, one.Answer...)...); err != nil && !strings.Contains(err.Error(), "exit status 4") {
				return err
			}
		}
	}
	return nil
}

// film opens each page and takes its picture.
func film(ctx context.Context, dir, link, site string, all []shot, out string) error {
	chrome, err := chromium.Path()
	if err != nil {
		return err
	}
	alloc, stop := chromedp.NewExecAllocator(ctx, append(slices.Clone(chromedp.DefaultExecAllocatorOptions[:]), chromedp.ExecPath(chrome), chromedp.UserDataDir(dir), chromedp.Flag("hide-scrollbars", true))...)
	defer stop()
	tab, end := chromedp.NewContext(alloc)
	defer end()
	if err := chromedp.Do(tab, chromedp.Navigate(link), chromedp.Evaluate[chromedp.Void](`localStorage.setItem('askbus:notify', 'off')`)); err != nil {
		return fmt.Errorf("sign in: %w", err)
	}
	for _, s := range all {
		if err := s.take(tab, site, out); err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
	}
	return nil
}

func (s shot) take(tab context.Context, site, out string) error {
	if _, err := chromedp.Call(tab, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{
		{Name: "prefers-color-scheme", Value: s.scheme}, {Name: "prefers-reduced-motion", Value: "reduce"},
	}}); err != nil {
		return err
	}
	if _, err := chromedp.Call(tab, emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{
		Width: s.width, Height: s.height, DeviceScaleFactor: s.scale, Mobile: s.width < 500,
	}); err != nil {
		return err
	}
	if err := chromedp.Do(tab, chromedp.Navigate(site+s.path)); err != nil {
		return err
	}
	ready := `document.documentElement.dataset.live === 'on' || document.body.classList.contains('reading')`
	if s.name == "embed" {
		ready = `document.body.innerText.trim().length > 80`
	}
	if _, err := chromedp.Run(tab, chromedp.Poll[bool](ready, chromedp.WithPollingTimeout(30*time.Second))); err != nil {
		return err
	}
	script := aged + `; ` + s.prepare + `; document.activeElement?.blur(); new Promise((end) => setTimeout(() => requestAnimationFrame(() => end(true)), 1200))`
	if _, err := chromedp.Run(tab, chromedp.Evaluate[bool](script, chromedp.EvalAwaitPromise)); err != nil {
		return err
	}
	image, err := chromedp.Run(tab, chromedp.CaptureScreenshot())
	if err == nil {
		image, err = small(image)
	}
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(out, s.name+".png"), image, 0o644) //nolint:gosec // readable by everybody
}
