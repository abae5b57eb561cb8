package dialect

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/askbus/askbus/pkg/ask"
)

// maxShown bounds what is shown of a permission, in bytes: the inbox shows a text of 64 KiB whole.
const maxShown = 60_000

// wholeFile is the file that has all of a permission which is longer.
const wholeFile = "call.txt"

// fitContext puts a permission that is too long for its context into a file of the ask, and leaves out its middle in the context, which
// is then code, so that none of its markup is open. Without a file it stays too long, which is a fault.
func (b *builder) fitContext() {
	whole := b.ask.Context
	if !b.ask.Permits() || len(whole) <= maxShown || b.upload == nil {
		return
	}
	files := len(b.ask.Files)
	if b.attach(foreignFile{name: wholeFile, text: value{r: b.reader, raw: whole}}); len(b.ask.Files) > files {
		b.ask.Context = say(&b.ask, "This is too long to be shown whole here. All of it is in the file %s: read it before you permit it.", code(wholeFile)) +
			"\n\n" + fenced("", shorten(whole, maxShown-1_000))
	}
}

// permissionContext returns, as Markdown, what a person must see before
// allowing something: the explanation, the command, and the tool's input and
// content. Images and other files of the content become files of the ask.
func (b *builder) permissionContext(description string, subject, call value) string {
	var parts []string
	var said bool // what the call does, as code
	add := func(part string) {
		if part = strings.TrimSpace(part); part != "" {
			parts = append(parts, part)
		}
	}
	show := func(code string) {
		said = said || code != ""
		add(code)
	}
	add(description)
	switch kind := subject.field("type").text(); kind {
	case "", "tool_call":
	case "command":
		show(fenced("sh", subject.field("command").text()))
		if cwd := subject.field("cwd").text(); cwd != "" {
			add("in " + code(cwd))
		}
	default:
		show(fenced("json", indented(encode(subject.raw))))
	}
	if title := strings.TrimSpace(call.field("title").text()); title != "" && subject.given() {
		add(title)
	}
	if name := call.field("name").text(); name != "" {
		add("Tool: " + code(name))
	}
	input := call.first("rawInput", "raw_input")
	if o, ok := input.raw.(*object); ok && len(o.keys) > 0 {
		show(fenced("json", indented(encode(o))))
	} else if text := input.text(); text != "" {
		show(fenced("", text))
	}
	// Text is Markdown, of which a card hides characters. Where nothing else says what the call does, it is shown as it is, except for
	// a plan.
	literal := !said && call.field("kind").text() != "switch_mode"
	if items, ok := call.field("content").raw.([]any); ok {
		for i := range items {
			item := value{r: call.r, at: call.at + "/content/" + strconv.Itoa(i), raw: items[i]}
			part := b.toolContent(item)
			if literal && item.field("type").text() == "content" {
				part = fenced("", part)
			}
			add(part)
		}
	}
	if items, ok := call.field("locations").raw.([]any); ok {
		var paths []string
		for i := range items {
			if path := (value{r: call.r, raw: items[i]}).field("path").text(); path != "" {
				paths = append(paths, code(path))
			}
		}
		add(strings.Join(paths, ", "))
	}
	return strings.Join(parts, "\n\n")
}

// toolContent formats one content item of a tool call.
func (b *builder) toolContent(v value) string {
	switch v.field("type").text() {
	case "content":
		return b.contentBlock(v.field("content"))
	case "diff":
		if path := v.field("path").text(); path != "" {
			old, text := v.field("oldText").text(), v.field("newText").text()
			shown := prefixed("+", text)
			if old != "" {
				shown = prefixed("-", old) + "\n" + shown
			}
			return code(path) + "\n\n" + fenced("diff", shown)
		}
		if patch := v.field("patch").first("diff", "content", "text").text(); patch != "" {
			return fenced("diff", patch)
		}
		return fenced("json", indented(encode(v.raw)))
	}
	return ""
}

// contentBlock returns the text of a content block. An image or an embedded resource
// becomes a file.
func (b *builder) contentBlock(block value) string {
	f := foreignFile{at: block, name: block.field("uri").text(), encoded: block.field("data")}
	switch block.field("type").text() {
	case "image", "audio":
	case "resource":
		held := block.field("resource")
		f.name, f.encoded, f.text = held.field("uri").text(), held.field("blob"), held.field("text")
	case "resource_link":
		f.name, f.encoded, f.url = block.field("name").text(), value{}, block.field("uri").text()
	default:
		return block.field("text").text()
	}
	b.attach(f)
	return ""
}

// text returns a string, or nothing for another type: in text that is only
// shown, a wrong type is not a fault.
func (v value) text() string {
	s, ok := v.raw.(string)
	if !ok {
		return ""
	}
	return s
}

func prefixed(mark, text string) string {
	return mark + strings.ReplaceAll(strings.TrimSuffix(text, "\n"), "\n", "\n"+mark)
}

// shorten leaves out the middle of a text of more bytes than most: what a command
// does can be at its end.
func shorten(s string, most int) string {
	if len(s) <= most {
		return s
	}
	head, tail := strings.ToValidUTF8(s[:most*2/3], ""), strings.ToValidUTF8(s[len(s)-most/3:], "")
	left := utf8.RuneCountInString(s) - utf8.RuneCountInString(head) - utf8.RuneCountInString(tail)
	return head + fmt.Sprintf("\n… (%d characters are not shown) …\n", left) + tail
}

// code and fenced quote text for Markdown with more backticks than it contains.
func code(s string) string {
	s = strings.Join(strings.Fields(ask.Visible(s)), " ")
	fence := strings.Repeat("`", longest(s)+1)
	if strings.HasPrefix(s, "`") || strings.HasSuffix(s, "`") {
		s = " " + s + " "
	}
	return fence + s + fence
}

func fenced(language, s string) string {
	if strings.TrimSpace(s) == "" {
		return ""
	}
	s = ask.Visible(strings.TrimSuffix(s, "\n"))
	fence := strings.Repeat("`", max(3, longest(s)+1))
	return fence + language + "\n" + s + "\n" + fence
}

// longest returns the length of the longest run of backticks.
func longest(s string) int {
	most, run := 0, 0
	for _, r := range s {
		if run++; r != '`' {
			run = 0
		}
		most = max(most, run)
	}
	return most
}
