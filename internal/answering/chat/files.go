package chat

import (
	"context"
	"log/slog"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/card"
	"github.com/askbus/askbus/pkg/responder"
)

// FileText names a file on a card: "📎 shot.png (PNG, 47 KiB)". Clean is as for [Summarize].
func FileText(f *card.File, clean func(s string, most int) string) string {
	return "📎 " + clean(f.Text(""), 160)
}

// FileTexts names files on a card.
func FileTexts(files []card.File, clean func(s string, most int) string) (lines []string) {
	for i := range files {
		lines = append(lines, FileText(&files[i], clean))
	}
	return lines
}

// InboxFiles names the files of an ask on a card of a chat that takes no files: its link leads to them. Without one, such as
// on a machine that others cannot reach, it says where they are.
func InboxFiles(c *card.Card, link string, clean func(s string, most int) string) []string {
	lines := FileTexts(c.Files, clean)
	for i, line := range lines {
		if link == "" {
			lines[i] = c.Say("%s (only in the inbox)", line)
		}
	}
	return lines
}

// Attached is a file of an ask that goes with its message.
type Attached struct {
	ask.File
	Data []byte
}

// Whole returns a question as a text file that goes with a message into which it does not fit, where no link leads to the rest of
// it, as on a machine that others cannot reach; else nil.
func Whole(c *card.Card, cut bool, link string) *Attached {
	if !cut || link != "" {
		return nil
	}
	data := []byte(c.Text())
	return &Attached{ask.File{ID: "whole", Name: "question.txt", MediaType: ask.MediaText, Size: int64(len(data))}, data}
}

// endings returns the endings that the name of an attachment may have: those of what its bytes are. An agent names its
// files, and what a program opens a file with hangs on the ending: as "invoice.html" or "run.bat" any text runs.
func endings(mediaType string) []string {
	switch mediaType {
	case ask.MediaPNG:
		return []string{".png"}
	case ask.MediaJPEG:
		return []string{".jpg", ".jpeg"}
	case ask.MediaWebP:
		return []string{".webp"}
	case ask.MediaPDF:
		return []string{".pdf"}
	}
	return []string{".txt", ".md", ".log", ".csv", ".json", ".diff", ".patch", ".yaml", ".yml"}
}

// Filename returns the name under which the file is sent, whose ending is what its bytes are.
func (f *Attached) Filename() string {
	name, may := f.Label(), endings(f.MediaType)
	if slices.Contains(may, strings.ToLower(path.Ext(name))) {
		return name
	}
	return name + may[0]
}

// attachFor bounds reading and sending the files of one ask, which may hold up what follows.
const attachFor = 20 * time.Second

// maxSending is how many files of a surface are in memory at a time: asks come faster than a chat takes files.
const maxSending = 8

// Attach passes the whole question, if it is not nil, and each file of an ask once, in their order, to send, up to a number of
// bytes together. The card names all files, and leads to them, so one that cannot be read or sent is left out, and is among
// those that it returns.
func (s *Surface) Attach(ctx context.Context, a *ask.Ask, whole *Attached, most int64, send func(ctx context.Context, f *Attached) error) (left []ask.File) {
	ctx, cancel := context.WithTimeout(ctx, attachFor)
	defer cancel()
	if whole != nil {
		if err := send(ctx, whole); err != nil {
			s.Log.WarnContext(ctx, "the whole question is not sent with its ask", slog.String("ask_id", a.ID), slog.String("error", err.Error()))
		}
	}
	var seen []string
	for _, f := range a.AllFiles() {
		if slices.Contains(seen, f.ID) {
			continue
		}
		if seen = append(seen, f.ID); f.Size > most {
			left = append(left, *f)
			continue
		}
		most -= f.Size
		if err := s.attach(ctx, a, f, send); err != nil {
			left = append(left, *f)
			s.Log.WarnContext(ctx, "a file is not sent with its ask", slog.String("ask_id", a.ID), slog.String("file", f.ID), slog.String("error", err.Error()))
		}
	}
	return left
}

// AttachOnce is Attach for a post, once in this process: after a crash its files may come twice.
func (s *Surface) AttachOnce(ctx context.Context, p *responder.Post, whole *Attached, most int64, send func(ctx context.Context, f *Attached) error) {
	if again, _ := s.attached.ContainsOrAdd(p.Key, struct{}{}); !again {
		s.Attach(ctx, &p.Ask, whole, most, send)
	}
}

// attach passes one file to send, once few others are being sent.
func (s *Surface) attach(ctx context.Context, a *ask.Ask, f *ask.File, send func(ctx context.Context, f *Attached) error) error {
	select {
	case s.sending <- struct{}{}:
		defer func() { <-s.sending }()
	case <-ctx.Done():
		return ctx.Err()
	}
	_, data, err := s.Bus.File(ctx, a.Key().InSession(), f.ID)
	if err != nil {
		return err
	}
	return send(ctx, &Attached{*f, data})
}
