package main

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"image"
	"image/draw"
	"image/png"
	"slices"
	"strings"

	"github.com/askbus/askbus/tools/scene/chromium"
	"github.com/chromedp/chromedp"
)

//go:embed stage.html
var stagePage string

// stage is a browser with two tabs: the inbox, and the page that shows it
// beside the terminal.
type stage struct {
	inbox, page context.Context //nolint:containedctx // chromedp's tabs
	closers     []context.CancelFunc
}

func (s *stage) close() {
	for _, c := range slices.Backward(s.closers) {
		c()
	}
}

// newStage opens the inbox with a login link.
func newStage(ctx context.Context, dir, login string) (*stage, error) {
	path, err := chromium.Path()
	if err != nil {
		return nil, err
	}
	s := &stage{}
	alloc, stop := chromedp.NewExecAllocator(ctx, append(slices.Clone(chromedp.DefaultExecAllocatorOptions[:]), chromedp.ExecPath(path), chromedp.UserDataDir(dir))...)
	page, stopPage := chromedp.NewContext(alloc)
	s.closers = append(s.closers, stop, stopPage)
	s.page = page
	if err := chromedp.Do(page, chromedp.EmulateViewport(1280, 720), chromedp.Navigate("data:text/html;charset=utf-8;base64,"+base64.StdEncoding.EncodeToString([]byte(stagePage)))); err != nil {
		s.close()
		return nil, fmt.Errorf("open the stage: %w", err)
	}
	inbox, stopInbox := chromedp.NewContext(page)
	s.closers = append(s.closers, stopInbox)
	s.inbox = inbox
	if err := chromedp.Do(inbox, chromedp.EmulateViewport(640, 713, chromedp.EmulateScale(580.0/640)), chromedp.Navigate(login)); err != nil {
		s.close()
		return nil, fmt.Errorf("open the inbox: %w", err)
	}
	return s, nil
}

// wait waits until the inbox shows a text.
func (s *stage) wait(text string) error {
	var shown string
	err := eventually(s.inbox, fmt.Sprintf("%q in the browser", text), func() (ok bool, err error) {
		shown, err = chromedp.Run(s.inbox, chromedp.Evaluate[string](`document.body.innerText`))
		return strings.Contains(shown, text), err
	})
	if err != nil {
		return fmt.Errorf("%w; it shows:\n%s", err, shown)
	}
	return nil
}

// click clicks the button with this label.
func (s *stage) click(words string) error {
	return eventually(s.inbox, fmt.Sprintf("button %q", words), func() (bool, error) {
		return chromedp.Run(s.inbox, chromedp.Evaluate[bool](`(() => {
			const b = [...document.querySelectorAll('button')].find((b) => b.textContent === `+quoted(words)+`);
			if (b) b.click();
			return !!b;
		})()`))
	})
}

// frame returns a picture of terminal and inbox, with the last pressed key.
func (s *stage) frame(t *terminal, key string) (*image.RGBA, error) {
	upper, err := t.drawn(asking)
	if err != nil {
		return nil, err
	}
	lower, err := t.drawn(answering)
	if err != nil {
		return nil, err
	}
	inbox, err := chromedp.Run(s.inbox, chromedp.CaptureScreenshot())
	if err != nil {
		return nil, fmt.Errorf("draw the inbox: %w", err)
	}
	fill := fmt.Sprintf(`(() => {
		upper.innerHTML = %s; lower.innerHTML = %s; key.textContent = %s;
		page.src = %s;
		return page.decode().then(() => true);
	})()`, quoted(upper), quoted(lower), quoted(key), quoted("data:image/png;base64,"+base64.StdEncoding.EncodeToString(inbox)))
	if _, err := chromedp.Run(s.page, chromedp.Evaluate[bool](fill, chromedp.EvalAwaitPromise)); err != nil {
		return nil, fmt.Errorf("fill the stage: %w", err)
	}
	shot, err := chromedp.Run(s.page, chromedp.CaptureScreenshot())
	if err != nil {
		return nil, fmt.Errorf("draw the stage: %w", err)
	}
	picture, err := png.Decode(bytes.NewReader(shot))
	if err != nil {
		return nil, err
	}
	frame := image.NewRGBA(picture.Bounds())
	draw.Draw(frame, frame.Rect, picture, image.Point{}, draw.Src)
	return frame, nil
}

// quoted returns a text as a JavaScript string.
func quoted(text string) string {
	b, _ := json.Marshal(text) // strings always marshal
	return string(b)
}
