//go:build shots

package web_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/chromedp/chromedp"
)

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
	for _, s := range states() {
		for _, f := range forms {
			t.Run(s.name+"-"+f.name, func(t *testing.T) {
				in := serve(t, newBus())
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
