package hostcall

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/askbus/askbus/internal/process/lang"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/aymanbagabas/go-udiff"
)

// Bounds of what is shown of one text, in code points. Of a longer one the beginning and the end are shown.
const (
	maxShown  = 6000
	shownHead = 4000
	shownTail = maxShown - shownHead
	maxCode   = 1000 // of a name or a path
)

func (p *permission) question(l *lang.Language) string {
	file := code(p.text("file_path", "notebook_path", "filePath"))
	switch p.tool {
	case "Bash", "PowerShell":
		return l.Say("May the agent run this command?")
	case "Edit", "MultiEdit", "NotebookEdit":
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

// context returns the whole truth about the call, as Markdown.
func (p *permission) context(l *lang.Language, dir string) string {
	var parts []string
	shown := map[string]bool{} // input that stands elsewhere
	switch p.tool {
	case "Bash", "PowerShell":
		parts, shown["command"] = append(parts, fenced("sh", clipped(l, p.text("command")))), true
	case "Edit", "Write":
		shown["file_path"], shown["old_string"], shown["new_string"], shown["content"] = true, true, true, true
		parts = append(parts, fenced("diff", clipped(l, p.diff())))
	case "ExitPlanMode":
		parts, shown["plan"] = append(parts, fenced("markdown", clipped(l, p.text("plan")))), true
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
		parts = append(parts, fenced("json", clipped(l, b.String())))
	}
	if dir != "" {
		parts = append(parts, l.Say("Directory: %s", code(dir)))
	}
	return strings.Join(parts, "\n\n")
}

// preview returns the diff of an edit, or nil.
func (p *permission) preview() *ask.Preview {
	if d := p.diff(); d != "" && (p.tool == "Edit" || p.tool == "Write") {
		return &ask.Preview{Format: ask.PreviewMarkdown, Body: fenced("diff", clipped(lang.Of(lang.English), d))}
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

// clipped makes everything in a text visible: long white space by its length. Of a long text it leaves out the middle.
func clipped(l *lang.Language, s string) string {
	s = blank.ReplaceAllStringFunc(ask.Visible(s), func(run string) string { return "\n" + l.Say("[… %d spaces and line breaks …]", len(run)) + "\n" })
	runes := []rune(s)
	if len(runes) <= maxShown {
		return string(runes)
	}
	left := l.Say("[… %d characters are not shown …]", len(runes)-maxShown)
	return string(runes[:shownHead]) + "\n" + left + "\n" + string(runes[len(runes)-shownTail:])
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
