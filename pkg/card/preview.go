package card

import (
	"regexp"
	"strings"
	"sync"
	"unicode"

	"github.com/askbus/askbus/pkg/ask"
)

// Preview is a body to read or compare.
type Preview struct {
	Kind PreviewKind
	Body string
}

// Short reports whether a body is short enough to show without a request.
func (p *Preview) Short() bool {
	return len(p.Body) <= 400 && strings.Count(strings.TrimSpace(p.Body), "\n") < 5
}

// OpensContext reports whether a screen shows the context of a pending ask without a request: it is short, the ask is
// urgent, or it is [Delicate], and the context is what somebody permits.
func OpensContext(a *ask.Ask) bool {
	return Delicate(a) || a.Priority == ask.PriorityUrgent || (&Preview{Body: a.Context}).Short()
}

// Diff reports whether a body is a diff, whose lines need the full width.
func (p *Preview) Diff() bool {
	return strings.HasPrefix(p.Body, "@@ ") || strings.Contains(p.Body, "\n@@ ") || strings.HasPrefix(p.Body, "+++ ") || strings.Contains(p.Body, "\n+++ ") ||
		strings.HasPrefix(p.Body, "```diff") || strings.Contains(p.Body, "\n```diff")
}

// Middle shortens text such as a command to at most so many characters by leaving out its middle: what it does can be at
// its end.
func Middle(s string, most int) string {
	runes := []rune(s)
	if len(runes) <= most {
		return s
	}
	const gap = "\n…\n"
	rest := max(0, most-len([]rune(gap)))
	end := rest / 3
	return string(runes[:rest-end]) + gap + string(runes[len(runes)-end:])
}

// A question longer than briefFrom starts with about briefTo characters; the rest unfolds.
const (
	briefFrom  = 420
	briefTo    = 280
	briefLines = 8
)

// brief returns the beginning of a long text, up to the end of a word.
func brief(s string) string {
	runes := []rune(s)
	if len(runes) <= briefFrom && strings.Count(s, "\n") < briefLines {
		return ""
	}
	cut := string(runes[:min(len(runes), briefTo)])
	if lines := strings.SplitN(cut, "\n", briefLines/2+1); len(lines) > briefLines/2 {
		cut = strings.Join(lines[:briefLines/2], "\n")
	} else if at := strings.LastIndexAny(cut, " \n"); at > briefTo/2 {
		cut = cut[:at]
	}
	return strings.TrimRight(cut, " \n.,;:") + " …"
}

// PreviewKind is how a body is rendered.
type PreviewKind string

// The kinds of previews. A body that is not clearly Markdown prose is a [Layout]: monospaced, with
// all spaces and line breaks.
const (
	Layout PreviewKind = "layout"
	Prose  PreviewKind = "prose" // Markdown, with layouts in fences
)

func preview(p *ask.Preview) *Preview {
	if p == nil {
		return nil
	}
	if p.Format == ask.PreviewMarkdown {
		return Markdown(p.Body)
	}
	return &Preview{Layout, text(p.Body)}
}

// Markdown separates prose from layout in a Markdown text. It puts layout blocks (drawn boxes,
// columns, indented lines) into fences; a body with nothing else is a layout.
func Markdown(body string) *Preview {
	body = text(body)
	blocks := split(body)
	layouts := 0
	for _, b := range blocks {
		if b.layout {
			layouts++
		}
	}
	switch {
	case layouts == 0:
		return &Preview{Prose, body}
	case layouts == len(blocks):
		return &Preview{Layout, strings.Trim(body, "\n")}
	}
	var parts []string
	for _, b := range blocks {
		part := strings.Join(b.lines, "\n")
		if b.layout {
			fence := fenceFor(part)
			part = fence + "\n" + part + "\n" + fence
		}
		parts = append(parts, part)
	}
	return &Preview{Prose, strings.Join(parts, "\n\n")}
}

// fenceFor returns a fence longer than every run of backticks in the body.
func fenceFor(body string) string {
	longest, run := 2, 0
	for _, r := range body {
		if r == '`' {
			run++
			longest = max(longest, run)
		} else {
			run = 0
		}
	}
	return strings.Repeat("`", longest+1)
}

// block is a group of lines between empty ones; adjacent layout blocks are merged.
type block struct {
	lines  []string
	layout bool
	fenced bool
}

//nolint:gochecknoglobals // compiled once, never changed
var (
	fenceMark = compiled("^ {0,3}(```+|~~~+)")
	listMark  = compiled(`^[ \t]*([-*+]|[0-9]{1,9}[.)])[ \t]+`)
	tableRow  = compiled(`^ {0,3}\|?[ \t]*:?-+:?[ \t]*(\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*$`)
	drawn     = compiled(`^[-+|=/\\_<>^v*.:'#~\s]*$`)
)

func split(body string) []block {
	var blocks []block
	var open block
	var gap int // empty lines before the next block
	inList, fence := false, ""
	end := func() {
		if len(open.lines) == 0 {
			return
		}
		if !open.fenced {
			open.layout = isLayout(open.lines, inList)
			inList = !open.layout && (listMark().MatchString(open.lines[0]) || inList && indent(open.lines[0]) > 0)
		}
		if last := len(blocks) - 1; open.layout && last >= 0 && blocks[last].layout {
			for range gap {
				blocks[last].lines = append(blocks[last].lines, "")
			}
			blocks[last].lines = append(blocks[last].lines, open.lines...)
		} else {
			blocks = append(blocks, open)
		}
		open, gap = block{}, 0
	}
	for l := range strings.Lines(body) {
		l = strings.TrimSuffix(l, "\n")
		mark := fenceMark().FindStringSubmatch(l)
		switch {
		case fence != "":
			open.lines = append(open.lines, l)
			if mark != nil && strings.HasPrefix(mark[1], fence) && strings.Trim(l, " `~") == "" {
				fence = ""
				end()
			}
		case mark != nil:
			end()
			fence, open = mark[1], block{lines: []string{l}, fenced: true}
		case strings.TrimSpace(l) == "":
			end()
			gap++
		default:
			open.lines = append(open.lines, l)
		}
	}
	end()
	return blocks
}

// isLayout reports whether a block is a layout: box-drawing characters, runs of spaces, rows of
// drawing, or indented lines outside a list.
func isLayout(lines []string, inList bool) bool {
	table := len(lines) > 1 && strings.Contains(lines[0], "|") && strings.Contains(lines[1], "-") && tableRow().MatchString(lines[1])
	for i, l := range lines {
		if strings.ContainsFunc(l, drawing) {
			return true
		}
		item := listMark().FindString(l)
		inList = inList || item != ""
		in := indent(l)
		l = strings.TrimRight(strings.TrimLeft(l[len(item):], "> \t"), " \t")
		switch {
		case table:
		case in >= 2 && !inList, columns(l), item == "" && i > 0 && !inList && rowOfDrawing(l):
			return true
		case i == 0 && item == "" && len(lines) > 1 && rowOfDrawing(l):
			return true
		}
	}
	return false
}

// drawing reports whether r is a box-drawing, block or braille character.
func drawing(r rune) bool {
	return r >= 0x2500 && r <= 0x259F || r >= 0x2800 && r <= 0x28FF || r >= 0x1FB00 && r <= 0x1FBFF
}

// columns reports whether a line contains a tab or a run of spaces used for alignment. Two spaces
// after a sentence do not count.
func columns(l string) bool {
	run, before := 0, ' '
	for _, r := range l {
		switch {
		case r == '\t':
			return true
		case r == ' ':
			run++
			continue
		case run > 2, run == 2 && !strings.ContainsRune(".!?:。！？…", before) && !unicode.Is(unicode.Quotation_Mark, before):
			return true
		}
		run, before = 0, r
	}
	return false
}

// rowOfDrawing matches rows such as +-----+ or /\/\; Markdown rules and underlines, which repeat
// one mark, do not count.
func rowOfDrawing(l string) bool {
	marks := map[rune]bool{}
	for _, r := range l {
		if r != ' ' {
			marks[r] = true
		}
	}
	return len(l) > 2 && len(marks) > 1 && drawn().MatchString(l) && !tableRow().MatchString(l)
}

func indent(l string) int {
	n := 0
	for _, r := range l {
		switch r {
		case ' ':
			n++
		case '\t':
			n += 4
		default:
			return n
		}
	}
	return n
}

// compiled compiles a pattern when it is first used: most commands of the program use none.
func compiled(pattern string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(pattern) })
}
