package interop_test

import (
	"encoding/json"
	"os/exec"
	"strings"
	"testing"

	"github.com/askbus/askbus/internal/testkit/browsertest"
	"github.com/chromedp/chromedp"
)

// TestMCPIsAnsweredInTheBrowser lets a foreign MCP client start askbus mcp, and
// answers in a real browser.
func TestMCPIsAnsweredInTheBrowser(t *testing.T) {
	b := up(t)
	out, err := exec.Command(b.binary, "login", "--dir", b.dir, "--output", "json").Output()
	if err != nil {
		t.Fatal(err)
	}
	var login struct {
		URL string `json:"url"`
	}
	if err := json.Unmarshal(out, &login); err != nil {
		t.Fatal(err)
	}
	tab := browsertest.Open(t)
	tab.Do(chromedp.Navigate(login.URL))
	tab.Wait(`document.readyState === "complete" && !location.pathname.startsWith("/login")`)
	s := b.connect(mcpClients()[0], "s1", nil, asking(300, nil))
	click(tab, `[...document.querySelectorAll("label")].find(l => l.innerText.includes("SQLite"))`)
	click(tab, `[...document.querySelectorAll("button")].find(x => x.innerText.trim().startsWith("Answer"))`)
	r := s.result()
	if r.IsError || !strings.Contains(r.Text, " on the web\n") || !strings.Contains(r.Text, `"Which database?"="SQLite"`) {
		t.Errorf("the result is %+v", r)
	}
	tab.Wait(`document.body.innerText.includes("just now")`)
}

func click(b *browsertest.Tab, element string) {
	b.Wait(`(() => { const e = ` + element + `; if (!e) return false; e.click(); return true })()`)
}
