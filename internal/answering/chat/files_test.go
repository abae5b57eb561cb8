package chat_test

import (
	"testing"
	"time"

	"github.com/askbus/askbus/internal/answering/chat"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/card"
)

// What a program opens an attachment with hangs on its ending, and agents name files.
func TestTheNameOfAnAttachmentEndsAsItsBytesAre(t *testing.T) {
	t.Parallel()
	for _, one := range []struct{ name, mediaType, want string }{
		{"log.txt", ask.MediaText, "log.txt"},
		{"NOTES.MD", ask.MediaText, "NOTES.MD"},
		{"fix.patch", ask.MediaText, "fix.patch"},
		{"invoice.html", ask.MediaText, "invoice.html.txt"},
		{"run.bat", ask.MediaText, "run.bat.txt"},
		{"run.hta.", ask.MediaText, "run.hta..txt"},
		{"Makefile", ask.MediaText, "Makefile.txt"},
		{"shot.png", ask.MediaText, "shot.png.txt"},
		{"shot.png", ask.MediaPNG, "shot.png"},
		{"shot.svg", ask.MediaPNG, "shot.svg.png"},
		{"photo.jpeg", ask.MediaJPEG, "photo.jpeg"},
		{"photo", ask.MediaJPEG, "photo.jpg"},
		{"a.webp", ask.MediaWebP, "a.webp"},
		{"plan.pdf", ask.MediaPDF, "plan.pdf"},
		{"plan.js", ask.MediaPDF, "plan.js.pdf"},
		{"", ask.MediaText, "01234567.txt"},
	} {
		f := chat.Attached{File: ask.File{ID: "0123456789abcdef", Name: one.name, MediaType: one.mediaType}}
		if got := f.Filename(); got != one.want {
			t.Errorf("%q of %s is sent as %q; want %q", one.name, one.mediaType, got, one.want)
		}
	}
}

// A card without a link names its files, and does not leave people to look for them.
func TestACardWithoutALinkSaysWhereItsFilesAre(t *testing.T) {
	t.Parallel()
	rec := ask.Record{State: ask.StatePending, Ask: ask.Ask{
		Files:     []ask.File{{ID: "0123456789abcdef", Name: "log.txt", MediaType: ask.MediaText, Size: 12}},
		Questions: []ask.Question{{ID: "db", Text: "Which database?"}},
	}}
	clean := func(s string, _ int) string { return s }
	for _, one := range []struct{ lang, link, want string }{
		{"en", "https://inbox.example/ask/a1", "📎 log.txt (TXT, 12 B)"},
		{"en", "", "📎 log.txt (TXT, 12 B) (only in the inbox)"},
		{"zh-Hans", "", "📎 log.txt (TXT, 12 B)（仅在收件箱中）"},
	} {
		c := card.New(&rec, card.Viewer{Surface: "slack", Lang: one.lang, Shared: true}, time.Now())
		if got := chat.InboxFiles(c, one.link, clean); len(got) != 1 || got[0] != one.want {
			t.Errorf("%s, %q: %q; want %q", one.lang, one.link, got, one.want)
		}
	}
}
