//go:build shots

package web_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/answering/web"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/chromedp/chromedp"
)

// rareStates are looked at, and not measured each time.
func rareStates(t *testing.T) []state {
	shown := func(change func(*ask.Record)) func(tab) {
		return func(b tab) {
			b.live()
			k := b.in.bus.ask(full(), 25*time.Minute)
			b.in.bus.mu.Lock()
			change(b.in.bus.held[k])
			b.in.bus.mu.Unlock()
			b.do(chromedp.Navigate(b.in.URL + "/ask/" + k.String()))
			b.wait(`!!document.querySelector('article')`)
		}
	}
	over := func(o ask.Outcome) func(tab) {
		return func(b tab) {
			b.live()
			k := b.in.bus.ask(full(), 3*time.Minute)
			b.wait(`!!document.querySelector('article')`)
			_, _ = b.in.bus.end(k, o)
			b.wait(`!!document.querySelector('[data-verdict]')`)
		}
	}
	at := func(path string) func(tab) {
		return func(b tab) {
			teamAtWork(b)
			b.do(chromedp.Navigate(b.in.URL + path))
			b.wait(`document.readyState === 'complete'`)
		}
	}
	return []state{
		{"lost", func(b tab) {
			b.live()
			teamAtWork(b)
			b.wait(`!!document.querySelector('article')`)
			_ = b.in.Listener.Close()
			b.in.CloseClientConnections()
			b.wait(`!document.querySelector('#lost').hidden`)
		}},
		{"signedout", func(b tab) {
			b.live()
			teamAtWork(b)
			b.wait(`!!document.querySelector('article')`)
			b.keys("1") // without a choice it opens the sign-in page
			b.in.bus.people.mu.Lock()
			clear(b.in.bus.people.held)
			b.in.bus.people.mu.Unlock()
			b.in.CloseClientConnections()
			b.wait(`!document.querySelector('#signedout').hidden`)
		}},
		{"ladder", shown(func(r *ask.Record) {
			r.Ask.Escalate = []ask.Escalation{{After: 10 * time.Minute, Tell: []string{"group:oncall"}}, {After: 30 * time.Minute, Tell: []string{"schedule:sre"}}}
			r.Escalated = &ask.Escalated{Steps: []ask.Step{{N: 1, At: time.Now().Add(-13 * time.Minute), Tell: []string{"group:oncall"}}}}
		})},
		{"votes", shown(func(r *ask.Record) {
			r.Ask.Approval = &ask.Approval{AnyOf: []ask.Alternative{{Need: 2}}, ApproveOptions: []string{"pg"}}
			r.Votes = []ask.Vote{{By: tom, Choice: ask.ChoiceApprove, Option: "pg", At: time.Now().Add(-time.Minute), Reason: "we run it already"}}
		})},
		{"standin", shown(func(r *ask.Record) { r.Ask.Audience = []string{tom.Principal} })},
		{"files", func(b tab) {
			b.live()
			b.in.bus.ask(withFiles(t), time.Minute)
			b.wait(`!!document.querySelector('article img')`)
		}},
		{"attached", func(b tab) {
			b.live()
			b.in.bus.ask(question("db", database()), time.Minute)
			b.wait(`!!document.querySelector('article')`)
			b.keys("1n")
			b.js(`(() => { const c = document.createElement('canvas'); c.width = 640; c.height = 360; c.getContext('2d').fillRect(40, 40, 300, 200); c.toBlob((blob) => { const d = new DataTransfer(); d.items.add(new File([blob], 'screenshot.png', { type: 'image/png' })); document.querySelector('.note textarea').dispatchEvent(new ClipboardEvent('paste', { clipboardData: d, bubbles: true, cancelable: true })) }); return '' })()`)
			b.wait(`!!document.querySelector('.attached img')`)
		}},
		{"declining", func(b tab) {
			b.live()
			teamAtWork(b)
			b.wait(`!!document.querySelector('article')`)
			b.keys("x")
			b.wait(`document.querySelector('.decline').open`)
		}},
		{"withdrawn", over(ask.Outcome{Status: ask.StatusWithdrawn, Reason: "found it in the docs"})},
		{"aborted", over(ask.Outcome{Status: ask.StatusAborted, Reason: "the runner is gone"})},
		{"palette", func(b tab) {
			b.live()
			teamAtWork(b)
			b.wait(`!!document.querySelector('article')`)
			b.js(`dispatchEvent(new KeyboardEvent('keydown', { key: 'k', ctrlKey: true, bubbles: true })); document.dispatchEvent(new KeyboardEvent('keydown', { key: 'k', ctrlKey: true, bubbles: true })); ''`)
			b.wait(`document.querySelector('#palette').open`)
		}},
		{"settings", func(b tab) {
			b.live()
			b.click("[data-settings]")
			b.wait(`document.querySelector('#settings').open`)
		}},
		{"away", at("/away")}, {"chats", at("/account/chats")}, {"setup", at("/setup")}, {"nopage", at("/nothing/here")}, {"readers", at("/?show=all")},
		{"gate", func(b tab) {
			b.do(chromedp.Navigate(b.in.URL + "/login"))
			b.wait(`document.readyState === 'complete'`)
		}},
		{"rows", func(b tab) {
			b.live()
			teamAtWork(b)
			for i := range 40 {
				a := question("more"+string(rune('a'+i%26))+string(rune('a'+i/26)), database())
				a.Agent.Name = []string{"builder", "reviewer", "release-bot", "构建助手"}[i%4]
				b.in.bus.ask(a, time.Duration(i)*time.Minute)
			}
			b.wait(`document.querySelectorAll('#list > li').length > 40`)
		}},
	}
}

// TestScreenshots saves screenshots of the inbox's states in the directory that
// ASKBUS_SHOTS names:
//
//	ASKBUS_SHOTS=/tmp/shots go test -tags shots -run TestScreenshots ./internal/answering/web
func TestScreenshots(t *testing.T) {
	dir := os.Getenv("ASKBUS_SHOTS")
	if dir == "" {
		t.Fatal("ASKBUS_SHOTS is not set")
	}
	forms := []struct {
		name          string
		width, height int64
		scheme        string
		language      string
	}{
		{"light", 1280, 900, "light", ""},
		{"dark", 1280, 900, "dark", ""},
		{"phone", 390, 844, "light", ""},
		{"zh-light", 1280, 900, "light", "zh-Hans"},
		{"zh-dark", 1280, 900, "dark", "zh-Hans"},
		{"zh-phone", 390, 844, "light", "zh-Hans"},
		{"zh-phone-dark", 390, 844, "dark", "zh-Hans"},
	}
	for _, s := range append(states(), rareStates(t)...) {
		for _, f := range forms {
			t.Run(s.name+"-"+f.name, func(t *testing.T) {
				in := serve(t, newBus(), func(o *web.Options) {
					o.StandIns = &absence{all: []ask.StandIn{{Absent: mei, By: "os:ana", Until: time.Now().Add(48 * time.Hour)}, {Absent: tom, By: mei.Principal, Until: time.Now().Add(48 * time.Hour)}}}
				})
				b := in.open(t, mei, screen(f.width, f.height, f.scheme))
				if s.name != "empty" && s.name != "folded" { // these two offer notifications
					b.js(`localStorage.setItem('askbus:notify', 'off') ?? ''`)
					b.do(chromedp.Reload())
				}
				if f.language != "" {
					b.js(`document.cookie = 'askbus_language=` + f.language + `; path=/'`)
					b.do(chromedp.Reload())
				}
				s.reach(b)
				// High enough that nothing is cut off and the bar is at its
				// usual place.
				whole, err := chromedp.Run(b.ctx, chromedp.Evaluate[int64](`document.documentElement.scrollHeight`))
				if err != nil {
					t.Fatal(err)
				}
				screen(f.width, max(f.height, whole), f.scheme)(b)
				image, err := chromedp.Run(b.ctx, chromedp.FullScreenshot(100))
				if err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(filepath.Join(dir, s.name+"-"+f.name+".png"), image, 0o600); err != nil {
					t.Fatal(err)
				}
			})
		}
	}
}
