package web_test

import (
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/askbus/askbus/internal/answering/web"
	"github.com/askbus/askbus/internal/testkit/natstest"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/board"
	"github.com/askbus/askbus/pkg/responder"
	"github.com/chromedp/chromedp"
)

// withLinks returns an inbox that links chats on a real bus, whose people sign in at a
// provider, and a chat.
func withLinks(t *testing.T, on *natstest.Bus, b *bus) (in inbox, chat *responder.Responder) {
	t.Helper()
	of, err := responder.New(on.Responder("web"), "web", responder.Options{Logger: natstest.Logger()})
	if err != nil {
		t.Fatal(err)
	}
	if chat, err = responder.New(on.Responder("telegram"), "telegram", responder.Options{}); err != nil {
		t.Fatal(err)
	}
	return serve(t, b, func(o *web.Options) { o.Links = board.NewSharedLinks(of) }), chat
}

func claim(t *testing.T, chat *responder.Responder, id, name string) string {
	t.Helper()
	code, _, err := chat.Claim(t.Context(), ask.By{Principal: "telegram:" + id, Name: name, Proof: ask.ProofTelegram})
	if err != nil {
		t.Fatal(err)
	}
	return code
}

// TestAPersonLinksAChat at one inbox, sees it at the other one, and ends it there. A GET
// links nobody, a stale page and somebody else's code do neither, and a code dies.
func TestAPersonLinksAChat(t *testing.T) {
	t.Parallel()
	on, b := natstest.Start(t, natstest.Options{}), newBus()
	in, chat := withLinks(t, on, b)
	second, _ := withLinks(t, on, newBus())
	u, other, eve := in.signedIn(t, mei), second.signedIn(t, mei), second.signedIn(t, tom)
	code := claim(t, chat, "4711", "Ana <b>")
	at := web.ChatsPath + "/" + code
	for range 2 {
		if res := u.get(at); res.status != http.StatusOK || !contains(res.body, "Telegram: Ana &lt;b&gt; (telegram:4711)") || !contains(res.body, "os:mei") {
			t.Fatalf("%d %s", res.status, res.body)
		}
	}
	form := url.Values{"as": {mei.Principal}, "code": {code}}
	if res := u.post(web.ChatsPath, url.Values{"as": {tom.Principal}, "code": {code}}); res.status != http.StatusConflict {
		t.Errorf("a page of somebody else: %d", res.status)
	}
	if res := u.post(web.ChatsPath, form); res.status != http.StatusOK || !contains(res.body, "is linked with you") {
		t.Fatalf("%d %s", res.status, res.body)
	}
	if res := eve.post(web.ChatsPath, url.Values{"as": {tom.Principal}, "code": {code}}); res.status != http.StatusUnprocessableEntity || !contains(res.body, `role="alert"`) {
		t.Errorf("the code again: %d", res.status)
	}
	natstest.Eventually(t, "the other inbox knows it", func() bool { return contains(other.get(web.ChatsPath).body, "telegram:4711") })
	if contains(eve.get(web.ChatsPath).body, "telegram:4711") {
		t.Error("others see it")
	}
	eve.post(web.ChatsPath, url.Values{"as": {tom.Principal}, "end": {"telegram:4711"}})
	if code = claim(t, chat, "4711", "Ana"); !contains(eve.get(web.ChatsPath+"?code="+code).body, "is linked to somebody else already") {
		t.Error("another person is shown that they could take it over")
	}
	for _, c := range [][2]string{{code, "未作任何更改：telegram:4711 已关联到别人；要先由那个人或运维人员解除"}, {"AAAA-BBBB-CCCC", "没有任何聊天认识这个代码"}} {
		if res := eve.do(http.MethodGet, web.ChatsPath+"?code="+c[0], nil, "Accept-Language", "zh"); !contains(res.body, c[1]) {
			t.Errorf("%s is refused in Chinese with %s", c[0], res.body)
		}
	}
	// What she did in the chat is hers here.
	k := b.ask(question("d1", database()), 0)
	if _, err := b.Answer(t.Context(), k, ask.Reply{AnswerID: "a1", By: ask.By{Principal: "telegram:4711", Name: "Ana", Responder: "telegram"}, Answers: []ask.Answer{{QuestionID: "db", Selected: []string{"pg"}}}}); err != nil {
		t.Fatal(err)
	}
	natstest.Eventually(t, "she answered", func() bool { return contains(u.get("/ask/"+k.String()).body, "You chose") })
	if res := other.post(web.ChatsPath, url.Values{"as": {mei.Principal}, "end": {"telegram:4711"}}); res.status != http.StatusOK {
		t.Errorf("ended: %d", res.status)
	}
	natstest.Eventually(t, "it has ended everywhere", func() bool { return !contains(u.get(web.ChatsPath).body, "telegram:4711") })
	if got := in.stranger(t).get(at); got.status != http.StatusUnauthorized || !strings.Contains(got.body, "login") {
		t.Errorf("nobody: %d", got.status)
	}
}

// pictures saves pictures of a page for phones and desks, light and dark, in the
// directory that ASKBUS_SHOTS names, if it does.
func pictures(b tab, name string) {
	dir := os.Getenv("ASKBUS_SHOTS")
	if dir == "" {
		return
	}
	for _, width := range []int64{1280, 390} {
		for _, scheme := range []string{"dark", "light"} {
			screen(width, 844, scheme)(b)
			image, err := chromedp.Run(b.ctx, chromedp.FullScreenshot(100))
			if err != nil {
				b.t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("chats-%s-%d-%s.png", name, width, scheme)), image, 0o600); err != nil {
				b.t.Fatal(err)
			}
		}
	}
}

// TestBrowserAPersonLinksAChat follows the bot's link, reads whom it names, and presses
// the button.
func TestBrowserAPersonLinksAChat(t *testing.T) {
	t.Parallel()
	on := natstest.Start(t, natstest.Options{})
	in, chat := withLinks(t, on, newBus())
	tab := in.open(t, mei, screen(390, 844, "light"))
	tab.do(chromedp.Navigate(in.URL + web.ChatsPath + "/" + claim(t, chat, "4711", "Ana")))
	tab.sees("Telegram: Ana (telegram:4711)")
	pictures(tab, "would")
	tab.click(".would button")
	tab.sees("is linked with you")
	pictures(tab, "linked")
	tab.click(".chats button")
	tab.sees("No chat is linked with you.")
	if got := tab.js(`String(document.documentElement.scrollWidth <= innerWidth)`); got != "true" {
		t.Error("the page is wider than the phone")
	}
}
