package web_test

import (
	"bytes"
	"context"
	"image"
	"image/color"
	"image/png"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/answering/auth"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/chromedp/chromedp"
)

// drawn returns a file with a picture of one colour.
func drawn(t *testing.T, name string, c color.Color) ask.File {
	t.Helper()
	img := image.NewNRGBA(image.Rect(0, 0, 640, 400))
	for y := range 400 {
		for x := range 640 {
			if (x/40+y/40)%2 == 0 {
				img.Set(x, y, c)
			} else {
				img.Set(x, y, color.White)
			}
		}
	}
	var b bytes.Buffer
	if err := png.Encode(&b, img); err != nil {
		t.Fatal(err)
	}
	f, err := put(name, b.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func withFiles(t *testing.T) ask.Ask {
	t.Helper()
	log, err := put("build.log", []byte("<script>alert(1)</script>\n"))
	if err != nil {
		t.Fatal(err)
	}
	a := question("files", database())
	a.Files = []ask.File{drawn(t, "page.png", color.NRGBA{R: 200, G: 90, B: 40, A: 255}), log}
	one, two := drawn(t, "left.png", color.NRGBA{R: 40, G: 90, B: 200, A: 255}), drawn(t, "right.png", color.NRGBA{R: 40, G: 160, B: 90, A: 255})
	a.Questions[0].Options[0].File, a.Questions[0].Options[1].File = &one, &two
	for i := range a.Questions[0].Options {
		a.Questions[0].Options[i].Preview = nil
	}
	return a
}

func TestFilesAreServedToWhoSeesTheAsk(t *testing.T) {
	t.Parallel()
	bus := newBus()
	a := withFiles(t)
	k := bus.ask(a, 0)
	other, err := put("other.txt", []byte("of another ask"))
	if err != nil {
		t.Fatal(err)
	}
	in := serve(t, bus)
	get := func(u user, id string) response { return u.get("/ask/" + k.String() + "/file/" + id) }
	me := in.signedIn(t, mei)
	for _, f := range append(a.Files, *a.Questions[0].Options[0].File) {
		res := get(me, f.ID)
		h := res.header
		if res.status != 200 || h.Get("X-Content-Type-Options") != "nosniff" || !strings.HasPrefix(h.Get("Content-Security-Policy"), "sandbox; default-src 'none'") {
			t.Errorf("%s: %d %v", f.Name, res.status, h)
		}
		if f.MediaType == ask.MediaText && (h.Get("Content-Type") != "text/plain; charset=utf-8" || !strings.HasPrefix(h.Get("Content-Disposition"), "attachment")) {
			t.Errorf("%s: %v", f.Name, h)
		}
	}
	// A browser's copy is used only by who may see the ask now, and a part of a file is never a response of its own.
	path, known := "/ask/"+k.String()+"/file/"+a.Files[0].ID, `"`+a.Files[0].ID+`"`
	if res := get(me, a.Files[0].ID); res.header.Get("Cache-Control") != "private, no-cache" || res.header.Get("ETag") != known {
		t.Errorf("caching: %v", res.header)
	}
	if res := me.do(http.MethodGet, path, nil, "If-None-Match", known); res.status != 304 || res.body != "" {
		t.Errorf("a copy: %d %q", res.status, res.body)
	}
	if res := in.stranger(t).do(http.MethodGet, path, nil, "If-None-Match", known); res.status != 401 {
		t.Errorf("a copy of somebody who is not signed in: %d", res.status)
	}
	if res := me.do(http.MethodGet, path, nil, "Range", "bytes=1-3"); res.status != 200 || !strings.HasPrefix(res.body, "\x89PNG") {
		t.Errorf("a range: %d", res.status)
	}
	if res := get(me, other.ID); res.status != 404 {
		t.Errorf("a file that the ask does not refer to: %d", res.status)
	}
	if res := get(in.stranger(t), a.Files[0].ID); res.status == 200 && strings.Contains(res.body, "PNG") {
		t.Errorf("somebody who is not signed in: %d", res.status)
	}
	ref, err := put("vote.png", []byte("what a voter saw"))
	if err != nil {
		t.Fatal(err)
	}
	if res := get(me, ref.ID); res.status != 404 {
		t.Errorf("a file of a vote that was not given: %d", res.status)
	}
	bus.mu.Lock()
	bus.held[k].Ask.Approval = &ask.Approval{AnyOf: []ask.Alternative{{Need: 2}}}
	bus.held[k].Votes = []ask.Vote{{By: ask.By{Principal: "os:jo", Name: "Jo"}, Choice: ask.ChoiceApprove, Files: []ask.File{ref}}}
	bus.mu.Unlock()
	if res := get(me, ref.ID); res.status != 200 {
		t.Errorf("a file of a vote: %d", res.status)
	}
	if page := me.get("/ask/" + k.String()); !strings.Contains(page.body, "/file/"+ref.ID) {
		t.Error("the card does not show the file of a vote")
	}
	elsewhere := in.as(t, auth.Person{By: ask.By{Principal: "os:jo", Name: "Jo", Proof: "os"}, Access: ask.Access{{Tenants: []string{"elsewhere"}}}})
	if res := get(elsewhere, a.Files[0].ID); res.status != 404 {
		t.Errorf("somebody of another tenant: %d", res.status)
	}
	if res := elsewhere.do(http.MethodGet, path, nil, "If-None-Match", known); res.status != 404 {
		t.Errorf("a copy of somebody of another tenant: %d", res.status)
	}
}

// slowFiles is a bus whose files are not read before begin is closed.
type slowFiles struct {
	*bus
	reading chan struct{}
	begin   chan struct{}
}

func (s *slowFiles) File(ctx context.Context, at ask.Session, id string) (ask.File, []byte, error) {
	s.reading <- struct{}{}
	<-s.begin
	return s.bus.File(ctx, at, id)
}

// TestOnePersonLeavesUploadsToOthers: whoever reads files slowly, in as many windows as
// they like, keeps nobody else from attaching one.
func TestOnePersonLeavesUploadsToOthers(t *testing.T) {
	t.Parallel()
	b := &slowFiles{newBus(), make(chan struct{}, 20), make(chan struct{})}
	a := withFiles(t)
	k := b.ask(a, 0)
	in := serveAsks(t, b.bus, b)
	me, other := in.signedIn(t, mei), in.signedIn(t, tom)
	var done sync.WaitGroup
	for range 20 {
		done.Go(func() { me.get("/ask/" + k.String() + "/file/" + a.Files[0].ID) })
	}
	for range 4 {
		<-b.reading
	}
	res := other.post("/ask/"+k.String()+"/file?name=a.txt", url.Values{"x": {"1"}})
	if res.status != http.StatusOK || len(b.reading) > 0 {
		t.Errorf("%d %s, while %d more files of the other person are read", res.status, res.body, len(b.reading))
	}
	close(b.begin)
	done.Wait()
}

// paste pastes a picture into the page, as a browser does.
const paste = `(async () => {
	const canvas = new OffscreenCanvas(64, 48);
	canvas.getContext('2d').fillRect(0, 0, 32, 24);
	const data = new DataTransfer();
	data.items.add(new File([await canvas.convertToBlob()], 'pasted.png', { type: 'image/png' }));
	document.querySelector('form.answer').dispatchEvent(new ClipboardEvent('paste', { clipboardData: data, bubbles: true, cancelable: true }));
})()`

func TestBrowserAPastedScreenshotIsPartOfTheAnswer(t *testing.T) {
	t.Parallel()
	bus := newBus()
	in := serve(t, bus)
	k := bus.ask(withFiles(t), time.Minute)
	b := in.open(t, mei, screen(1280, 900, "light")).live()
	b.wait(`document.querySelectorAll('.options.shots .shot img').length === 2 && document.querySelector('.files a.document').innerText === 'build.log'`)
	b.wait(`[...document.querySelectorAll('figure img')].every((i) => i.complete && i.naturalWidth === 640)`)
	b.do(chromedp.Evaluate[chromedp.Void](paste))
	b.wait(`document.querySelector('.attached img')?.src.startsWith('data:image/png')`)
	clean(t, b)
	look(t, b, "files")
	b.do(chromedp.Reload())
	b.wait(`document.querySelector('.attached bdi')?.innerText === 'pasted.png'`) // the draft has it
	b.keys("1")
	b.click(".send")
	o := bus.untilEnded(t, k)
	if len(o.Answers[0].Files) != 1 || o.Answers[0].Files[0].Name != "pasted.png" || o.Answers[0].Files[0].MediaType != ask.MediaPNG {
		t.Errorf("answer %+v", o.Answers[0])
	}
	b.do(chromedp.Navigate(in.URL + "/ask/" + k.String()))
	b.wait(`document.querySelector('.verdict .files figcaption bdi')?.innerText === 'pasted.png'`)
	clean(t, b)
}

// look saves screenshots where ASKBUS_SHOTS says, to be looked at.
func look(t *testing.T, b tab, name string) {
	t.Helper()
	dir := os.Getenv("ASKBUS_SHOTS")
	if dir == "" {
		return
	}
	for _, form := range []struct {
		name   string
		width  int64
		scheme string
	}{{"light", 1280, "light"}, {"dark", 1280, "dark"}, {"phone", 390, "light"}, {"phone-dark", 390, "dark"}} {
		screen(form.width, 1400, form.scheme)(b)
		shot, err := chromedp.Run(b.ctx, chromedp.FullScreenshot(100))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name+"-"+form.name+".png"), shot, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	screen(1280, 900, "light")(b)
}
