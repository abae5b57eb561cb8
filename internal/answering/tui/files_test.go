package tui_test

import (
	"bytes"
	"context"
	"errors"
	"image"
	"image/png"
	"strings"
	"testing"

	"github.com/askbus/askbus/internal/answering/tui"
	"github.com/askbus/askbus/pkg/ask"
	uv "github.com/charmbracelet/ultraviolet"
)

// withFiles is a screen on an ask with an image, a text and a PDF.
func withFiles(t *testing.T) *screen {
	t.Helper()
	var shot bytes.Buffer
	if err := png.Encode(&shot, image.NewNRGBA(image.Rect(0, 0, 640, 400))); err != nil {
		t.Fatal(err)
	}
	stored := map[string][]byte{}
	var refs []ask.File
	for _, f := range []struct{ name, data string }{
		{"shot.png", shot.String()}, {"log.txt", "first line\n\x1b[31mred\x1b[0m\x1b]0;title\x07 \u202eend"}, {"plan.pdf", "%PDF-1.7"},
	} {
		ref, fault := ask.NewFile(f.name, []byte(strings.ReplaceAll(f.data, "\x07", "")))
		if fault != nil {
			t.Fatal(fault)
		}
		stored[ref.ID], refs = []byte(f.data), append(refs, ref)
	}
	b := &bus{}
	b.asked(ask.Ask{Files: refs, Questions: []ask.Question{{ID: "q", Kind: ask.KindText, Text: "Ship it?"}}})
	opts := options(b)
	opts.File = func(_ context.Context, s ask.Session, id string) (ask.File, []byte, error) {
		if s != (ask.Session{Tenant: ask.DefaultTenant, Name: "build-42"}) {
			return ask.File{}, nil, errors.New("of another session")
		}
		return ask.File{ID: id}, stored[id], nil
	}
	return newScreen(t, opts, 100, 30)
}

func (s *screen) drew(what string) bool { return strings.Contains(strings.Join(s.raw, ""), what) }

func TestFilesAreShownAsTheTerminalCan(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		replies []any
		drawn   string // of the image; empty: it draws none
	}{
		"kitty":   {[]any{uv.KittyGraphicsEvent{Payload: []byte("OK")}, uv.CellSizeEvent{Width: 10, Height: 20}, uv.PrimaryDeviceAttributesEvent{62, 4}}, "\x1b_Ga=T,f=100"},
		"sixel":   {[]any{uv.CellSizeEvent{Width: 10, Height: 20}, uv.PrimaryDeviceAttributesEvent{62, 4, 22}}, "\x1bP0;1q\"1;1;640;400"},
		"no size": {[]any{uv.CellSizeEvent{Width: 1 << 30, Height: 1}, uv.PrimaryDeviceAttributesEvent{4}}, "\x1bP0;1q\"1;1;640;400"},
		"refused": {[]any{uv.KittyGraphicsEvent{Payload: []byte("EINVAL")}, uv.PrimaryDeviceAttributesEvent{1, 2}}, ""},
		"none":    {[]any{uv.PrimaryDeviceAttributesEvent{1, 2}}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := withFiles(t)
			s.has("▤ shot.png (PNG, ", "f shows it", "▤ plan.pdf (PDF, 8 B)  f has the link")
			if s.drew("\x1b_G") {
				t.Error("the terminal was asked before it was needed")
			}
			s.patience = 2 * painted
			s.keys("f")
			if !s.drew("a=q") || !s.drew("\x1b[c") {
				t.Errorf("the terminal was not asked: %q", s.raw)
			}
			for _, r := range c.replies {
				s.send(r)
			}
			s.has("http://127.0.0.1:8420/ask/")
			switch {
			case c.drawn == "":
				s.has("This terminal draws no images.")
				if s.drew("\x1bP") || s.drew("a=T") {
					t.Error("an image was drawn")
				}
			case !s.drew(c.drawn):
				t.Errorf("not drawn: %.200q", s.raw)
			}
			s.keys("right")
			s.has("log.txt", "2/3", "first line", "red")
			s.hasNot("\x1b]0;", "\u202e")
			s.keys("right").has("plan.pdf", "3/3", "/file/")
			s.raw = nil
			s.keys("right")
			if c.drawn != "" && !s.drew(c.drawn) {
				t.Error("not drawn again")
			}
			s.keys("esc").has("Ship it?")
			if name == "kitty" && !s.drew("a=d") {
				t.Error("the image stays on the screen")
			}
		})
	}
}

// painted is longer than the terminal's time to draw what is below an image.
const painted = tui.Painted
