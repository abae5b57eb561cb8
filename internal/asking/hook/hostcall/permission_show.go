package hostcall

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/askbus/askbus/internal/process/lang"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/dialect"
	"github.com/aymanbagabas/go-udiff"
)

// Bounds of what is shown. A permission has all of its call: an ask has room for it, and a surface that does not show all of
// an ask does not give it. Of what is longer the beginning and the end are shown, and all of it is a file of the ask.
const (
	maxShown   = 60_000 // of all texts of a context, in bytes: the inbox shows a text of 64 KiB whole
	leastShown = 1_000  // of each text
	maxPreview = 6_000  // of a preview, in bytes; the context has a longer one
	maxCode    = 1_000  // of a name or a path, in code points
	wholeFile  = "call.txt"
)

// runs reports whether the tool runs a command.
func (p *permission) runs() bool { return p.tool == "Bash" || p.tool == "PowerShell" }

func (p *permission) question(l *lang.Language) string {
	file := code(p.text("file_path", "notebook_path", "filePath"))
	switch p.tool {
	case "Bash", "PowerShell":
		return l.Say("May the agent run this command?")
	case "Edit", "MultiEdit", "NotebookEdit":
		if p.changes != "" && p.text("file_path", "filePath") == "" {
			return l.Say("May the agent make these changes?")
		}
		return l.Say("May the agent edit %s?", file)
	case "Write":
		return l.Say("May the agent write %s?", file)
	case "ExitPlanMode":
		return l.Say("May the agent carry out this plan?")
	}
	if tool, ok := strings.CutPrefix(p.tool, "mcp__"+p.server+"__"); ok && p.server != "" {
		return l.Say("May the agent use %s of the MCP server %s?", code(tool), code(p.server))
	}
	return l.Say("May the agent use the tool %s?", code(p.tool))
}

// showCall puts the call into the ask. What is too long for its context is whole in a file, and can only be refused if no file
// has room for it.
func showCall(e *Event, l *lang.Language) {
	text, cut := e.permission.context(l, e.CWD, maxShown)
	if e.Ask.Context = text; !cut {
		return
	}
	text, _ = e.permission.context(l, e.CWD, math.MaxInt)
	file, fault := ask.NewFile(wholeFile, []byte(text))
	q := &e.Ask.Questions[0]
	if fault != nil {
		e.Ask.Context = l.Say("This is too long to be shown, so it can only be refused here.") + "\n\n" + e.Ask.Context
		q.Options = slices.DeleteFunc(q.Options, func(o ask.Option) bool { return o.ID != refuseOption && o.ID != stopOption })
		return
	}
	e.Ask.Files, e.Files = []ask.File{file}, []dialect.Upload{{File: file, Data: []byte(text)}}
	e.Ask.Context = l.Say("This is too long to be shown whole here. All of it is in the file %s: read it before you permit it.", code(file.Name)) + "\n\n" + e.Ask.Context
	q.Options[0].Description += " " + l.Say("Not all of it is on this card: read the file %s first.", file.Name)
}

// context returns the truth about the call, as Markdown, and whether something of it is left out: of all texts at most room
// bytes are shown.
func (p *permission) context(l *lang.Language, dir string, room int) (text string, cut bool) {
	var parts []string
	show := func(language, text string) {
		text, less := clipped(l, text, max(room, leastShown))
		room, cut = room-len(text), cut || less
		parts = append(parts, fenced(language, text))
	}
	shown := map[string]bool{} // input that stands elsewhere
	switch p.tool {
	case "Bash", "PowerShell":
		show("sh", p.text("command"))
		shown["command"] = true
	case "Edit", "Write":
		shown["file_path"], shown["old_string"], shown["new_string"], shown["content"] = true, true, true, true
		show("diff", p.diff())
	case "ExitPlanMode":
		show("markdown", p.text("plan"))
		shown["plan"] = true
	}
	var rest []member
	input, _ := members(p.input) // an object, as was checked
	for _, m := range input {
		if !shown[m.key] && !p.hides(m.key) || textOf(input, m.key) == "" {
			rest = append(rest, m)
		}
	}
	if len(rest) > 0 {
		var b bytes.Buffer
		if err := json.Indent(&b, join(rest), "", "  "); err != nil {
			b.Write(p.input)
		}
		show("json", b.String())
	}
	if dir != "" {
		parts = append(parts, l.Say("Directory: %s", code(dir)))
	}
	return strings.Join(parts, "\n\n"), cut
}

// preview returns the diff of an edit, or nil: a long one is only in the context, as an ask has room for it once.
func (p *permission) preview() *ask.Preview {
	if d := p.diff(); d != "" && len(d) <= maxPreview && (p.tool == "Edit" || p.tool == "Write") {
		d, _ = clipped(lang.Of(lang.English), d, maxShown)
		return &ask.Preview{Format: ask.PreviewMarkdown, Body: fenced("diff", d)}
	}
	return nil
}

// diff returns the change of an Edit or a Write. The host does not say what a Write replaces.
func (p *permission) diff() string {
	if p.changes != "" {
		return p.changes
	}
	was, is, file := p.text("old_string"), p.text("new_string")+p.text("content"), p.text("file_path")
	return udiff.Unified(file, file, was, is)
}

// text returns the first of these texts of the input.
func (p *permission) text(keys ...string) string {
	input, _ := members(p.input) // an object, as was checked
	for _, key := range keys {
		if s := textOf(input, key); s != "" {
			return s
		}
	}
	return ""
}

// blank is white space that would push what follows it out of sight.
var blank = regexp.MustCompile(`[ \t\n]{100,}`)

// clipped makes everything in a text visible: long white space by its length. Of a text of more bytes than most it leaves
// out the middle, and says so.
func clipped(l *lang.Language, s string, most int) (text string, cut bool) {
	s = blank.ReplaceAllStringFunc(ask.Visible(s), func(run string) string { return "\n" + l.Say("[… %d spaces and line breaks …]", len(run)) + "\n" })
	if len(s) <= most {
		return s, false
	}
	head, tail := strings.ToValidUTF8(s[:most*2/3], ""), strings.ToValidUTF8(s[len(s)-most/3:], "")
	left := l.Say("[… %d characters are not shown …]", utf8.RuneCountInString(s)-utf8.RuneCountInString(head)-utf8.RuneCountInString(tail))
	return head + "\n" + left + "\n" + tail, true
}

// fenced returns a code block, whose fence is longer than any in the text.
func fenced(language, s string) string {
	fence := "```"
	for strings.Contains(s, fence) {
		fence += "`"
	}
	return fence + language + "\n" + strings.TrimSuffix(s, "\n") + "\n" + fence
}

// code returns a short text of one line as inline code.
func code(s string) string {
	runes := []rune(strings.ReplaceAll(ask.Visible(s), "\n", "⟨U+000A⟩"))
	if len(runes) > maxCode {
		runes = slices.Concat(runes[:maxCode/2], []rune(fmt.Sprintf("…[%d]…", len(runes)-maxCode)), runes[len(runes)-maxCode/2:])
	}
	s = string(runes)
	fence := "`"
	for strings.Contains(s, fence) {
		fence += "`"
	}
	if len(fence) > 1 {
		return fence + " " + s + " " + fence
	}
	return fence + s + fence
}
