package dialect

import (
	"encoding/base64"
	"errors"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/askbus/askbus/pkg/ask"
)

// Upload is a file that a foreign body holds. It has to be uploaded in the session
// of the ask before whatever refers to it is sent.
type Upload struct {
	ask.File
	Data []byte
}

// HoldsFiles reports whether requests in this dialect can hold files.
func (d Dialect) HoldsFiles() bool { return d.files }

// carriesFiles reports whether its tasks and answers have a place for files; others name them in words.
func (d Dialect) carriesFiles() bool { return d.Name == a2aName }

// AskFiles is Ask for a caller that uploads files: the ask refers to those that the
// request holds.
func (d Dialect) AskFiles(body []byte) (a ask.Ask, files []Upload, warnings []Warning, err error) {
	a, warnings, err = d.ask(body, func(f Upload) { files = append(files, f) })
	return a, files, warnings, err
}

// foreignFile is a file in a foreign body: its bytes in base64, its text, or where it is.
type foreignFile struct {
	at      value
	name    string
	encoded value
	text    value
	url     string
}

// bytes returns what the body holds of the file; nil: only where it is.
func (f *foreignFile) bytes() ([]byte, error) {
	encoded := f.encoded.text()
	if encoded == "" && strings.HasPrefix(f.url, "data:") {
		encoded = f.url
	}
	switch {
	case encoded != "":
		return decodeBase64(encoded)
	case f.text.given():
		return []byte(f.text.text()), nil
	}
	return nil, nil
}

// decodeBase64 decodes either alphabet, with or without padding, alone or as a data URL.
func decodeBase64(s string) ([]byte, error) {
	if strings.HasPrefix(s, "data:") {
		_, s, _ = strings.Cut(s, ",")
	}
	s = strings.TrimRight(s, "=")
	if strings.ContainsAny(s, "-_") {
		return base64.RawURLEncoding.DecodeString(s)
	}
	return base64.RawStdEncoding.DecodeString(s)
}

// attach adds a file of the request to the evidence. One that nobody uploads, that is
// elsewhere, or that no ask can have is named in the context: a dialect refuses no
// request because of it.
func (b *builder) attach(f foreignFile) {
	data, err := f.bytes()
	if err != nil {
		f.at.warn("is not base64 (%s); the file is only named", err)
	}
	if data == nil || err != nil {
		b.name(f)
		return
	}
	file, fault := ask.NewFile(f.name, data)
	switch {
	case fault != nil:
		f.at.warn("%s; the file is only named", fault.In(""))
	case slices.ContainsFunc(b.ask.Files, func(had ask.File) bool { return had.ID == file.ID }):
		return // the same file twice
	case len(b.ask.Files) >= ask.MaxFiles:
		f.at.warn("is more than the %d files that an ask can have; the file is only named", ask.MaxFiles)
	case b.upload != nil:
		b.ask.Files = append(b.ask.Files, file)
		b.upload(Upload{file, data})
		return
	}
	b.name(f)
}

// name remembers a file to name. Data URLs are not shown.
func (b *builder) name(f foreignFile) {
	words := ask.FileName(f.name)
	if f.url != "" && !strings.HasPrefix(f.url, "data:") {
		words = strings.TrimSpace(words + " " + ask.CleanLine(ask.Clip(f.url, 500)))
	}
	if words == "" {
		words = say(&b.ask, "a file without a name")
	}
	b.unshown = append(b.unshown, words)
}

// maxNamed bounds the files that are named; the warnings have them all.
const maxNamed = 20

// nameFiles adds the files that are not shown to the context, as far as there is room.
func (b *builder) nameFiles() {
	if len(b.unshown) == 0 {
		return
	}
	names := strings.Join(b.unshown[:min(maxNamed, len(b.unshown))], ", ")
	if len(b.unshown) > maxNamed {
		names += ", …"
	}
	named := strings.TrimSpace(b.ask.Context + "\n\n" + say(&b.ask, "Files that are not shown here: %s", names))
	if utf8.RuneCountInString(named) <= ask.MaxLong {
		b.ask.Context = named
	}
}

// attach adds files to the first answer, because a foreign shape does not say to which
// question a file belongs.
func (g *Given) attach(a *ask.Ask, files []foreignFile) {
	for i, f := range files {
		if i == ask.MaxFiles {
			f.at.fault(ask.FaultTooMany, len(files), "files", ask.MaxFiles)
			return
		}
		data, err := f.bytes()
		if err == nil && data == nil {
			err = errors.New("give its bytes; an address is not read")
		}
		if err != nil {
			f.at.fault(ask.FaultUnreadable, err)
			continue
		}
		file, fault := ask.NewFile(f.name, data)
		if fault != nil {
			f.at.add(*fault)
			continue
		}
		if len(g.Reply.Answers) == 0 {
			g.Reply.Answers = []ask.Answer{{QuestionID: a.Questions[0].ID}}
		}
		g.Reply.Answers[0].Files = append(g.Reply.Answers[0].Files, file)
		g.Files = append(g.Files, Upload{file, data})
	}
}

// askInWords names the files of an ask in its context.
func askInWords(a *ask.Ask) *ask.Ask {
	lines := []string{a.Context}
	add := func(line string, f *ask.File) {
		if link := recall(a, "", "link"); link != "" {
			line += " " + link + "/file/" + f.ID
		}
		lines = append(lines, line)
	}
	for i := range a.Files {
		add(say(a, "File: %s", fileWords(&a.Files[i])), &a.Files[i])
	}
	for i := range a.Questions {
		for j := range a.Questions[i].Options {
			if o := &a.Questions[i].Options[j]; o.File != nil {
				add(say(a, "File of %q: %s", o.Label, fileWords(o.File)), o.File)
			}
		}
	}
	if len(lines) == 1 {
		return a
	}
	worded := *a
	worded.Context = strings.TrimSpace(strings.Join(lines, "\n\n"))
	return &worded
}

// answerInWords names the files of an answer in its note.
func answerInWords(a *ask.Ask, o *ask.Outcome) *ask.Outcome {
	var worded *ask.Outcome
	for i := range o.Answers {
		if len(o.Answers[i].Files) == 0 {
			continue
		}
		if worded == nil {
			worded = new(*o)
			worded.Answers = slices.Clone(o.Answers)
		}
		lines := []string{o.Answers[i].Notes}
		for _, f := range o.Answers[i].Files {
			lines = append(lines, say(a, "Attached: %s; read it with GET /v1/files/%s?session=%s or askbus file %s/%s", fileWords(&f), f.ID, a.Session, a.Session, f.ID))
		}
		worded.Answers[i].Notes = strings.TrimSpace(strings.Join(lines, "\n"))
	}
	if worded == nil {
		return o
	}
	return worded
}

// fileWords describes a file: its name, media type and size.
func fileWords(f *ask.File) string {
	size := strconv.FormatInt(f.Size, 10) + " B"
	if f.Size >= 1<<10 {
		size = strconv.FormatInt((f.Size+1<<9)>>10, 10) + " KiB"
	}
	return f.Label() + " (" + f.MediaType + ", " + size + ")"
}
