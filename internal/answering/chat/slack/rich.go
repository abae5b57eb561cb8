package slack

import (
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/askbus/askbus/pkg/card"
	slackapi "github.com/slack-go/slack"
	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	extast "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

const (
	maxPieces = 60 // differently styled pieces of one body; the rest is plain
	maxIndent = 4  // of nested lists
)

// body renders agent-written prose under our heading, in at most the given number of characters.
// Markdown becomes rich text, whose text elements Slack shows literally: they cannot contain a
// mention, a link or an emoji. Anything else becomes a code block. It reports whether it left
// something out.
func body(heading string, p *card.Preview, most int) (blocks []slackapi.Block, cut bool) {
	said := p.Body
	if p.Kind == card.Prose {
		said = clip(card.Tables(said), most)
		if rich := richText(heading, said); len(rich) > 0 {
			return rich, said != card.Tables(p.Body)
		}
	}
	whole := escapeCode(p.Body)
	code := card.Middle(whole, most)
	if heading != "" {
		heading = "*" + escape(heading) + "*\n"
	}
	for _, part := range split(code, maxSection-len(heading)-10) {
		blocks = append(blocks, slackapi.NewSectionBlock(mrkdwn(heading+"```\n"+part+"\n```", maxSection), nil, nil))
		heading = ""
	}
	return blocks, code != whole
}

// parsed parses what an agent writes. It knows neither HTML nor the definitions of references, of which a part is not shown:
// they are text.
//
//nolint:gochecknoglobals // made once, never changed
var parsed = sync.OnceValue(func() goldmark.Markdown {
	html := func(v util.PrioritizedValue) bool {
		return v.Value == parser.NewHTMLBlockParser() || v.Value == parser.NewRawHTMLParser()
	}
	return goldmark.New(goldmark.WithExtensions(extension.Strikethrough), goldmark.WithParser(parser.NewParser(
		parser.WithBlockParsers(slices.DeleteFunc(parser.DefaultBlockParsers(), html)...), parser.WithInlineParsers(slices.DeleteFunc(parser.DefaultInlineParsers(), html)...),
	)))
})

// richText renders Markdown as Slack's rich text elements.
func richText(heading, markdown string) (blocks []slackapi.Block) {
	r := &rich{source: []byte(markdown)}
	if heading != "" {
		r.write(heading, style{Bold: true})
		r.headed = true
	}
	r.blocks(parsed().Parser().Parse(text.NewReader(r.source)), 0)
	r.endSection()
	var block []slackapi.RichTextElement
	n := 0
	for _, e := range r.elements {
		length := textOf(e)
		if n += length; n > maxSection && len(block) > 0 {
			blocks, block, n = append(blocks, slackapi.NewRichTextBlock("", block...)), nil, length
		}
		block = append(block, e)
	}
	if len(block) > 0 {
		blocks = append(blocks, slackapi.NewRichTextBlock("", block...))
	}
	return blocks
}

// textOf returns the number of characters of an element that may be long; others are about as long as a line.
func textOf(e slackapi.RichTextElement) (n int) {
	var all []slackapi.RichTextSectionElement
	switch e := e.(type) {
	case *slackapi.RichTextSection:
		all = e.Elements
	case *slackapi.RichTextPreformatted:
		all = e.Elements
	}
	for _, one := range all {
		if t, ok := one.(*slackapi.RichTextSectionTextElement); ok {
			n += utf8.RuneCountInString(t.Text)
		}
	}
	return n
}

type style = slackapi.RichTextSectionTextStyle

// rich collects the elements of a block. Consecutive paragraphs share one section, with an empty
// line between them.
type rich struct {
	source   []byte
	elements []slackapi.RichTextElement
	section  []slackapi.RichTextSectionElement
	pieces   int
	headed   bool // the current section ends with a heading
}

// write adds text to the current section.
func (r *rich) write(s string, how style) {
	if s == "" {
		return
	}
	if !how.Code {
		s = emoji.ReplaceAllString(s, "$1"+zero+"$2")
	}
	if n := len(r.section); n > 0 {
		last, ok := r.section[n-1].(*slackapi.RichTextSectionTextElement)
		if ok && (styleOf(last) == how || r.pieces >= maxPieces) {
			last.Text += s
			return
		}
	}
	r.pieces++
	var given *style
	if how != (style{}) && r.pieces < maxPieces {
		given = &how
	}
	r.section = append(r.section, slackapi.NewRichTextSectionTextElement(s, given))
}

// emoji matches the name of an emoji, which some clients draw in any text.
var emoji = regexp.MustCompile(`(:)([a-z0-9_+'-]+:)`)

func styleOf(e *slackapi.RichTextSectionTextElement) style {
	if e.Style == nil {
		return style{}
	}
	return *e.Style
}

// finish returns the elements of the current section and starts a new one.
func (r *rich) finish() []slackapi.RichTextSectionElement {
	section := r.section
	r.section, r.headed = nil, false
	return section
}

func (r *rich) endSection() {
	if section := r.finish(); len(section) > 0 {
		r.elements = append(r.elements, slackapi.NewRichTextSection(section...))
	}
}

func (r *rich) paragraph() {
	switch {
	case len(r.section) == 0:
	case r.headed:
		r.write("\n", style{})
	default:
		r.write("\n\n", style{})
	}
	r.headed = false
}

func (r *rich) blocks(parent ast.Node, indent int) {
	for n := parent.FirstChild(); n != nil; n = n.NextSibling() {
		switch n := n.(type) {
		case *ast.Heading:
			r.paragraph()
			r.inlines(n, style{Bold: true})
			r.headed = true
		case *ast.List:
			r.list(n, indent)
		case *ast.Blockquote:
			r.endSection()
			r.quoted(n)
			if quote := r.finish(); len(quote) > 0 {
				r.elements = append(r.elements, &slackapi.RichTextQuote{Type: slackapi.RTEQuote, Elements: quote})
			}
		case *ast.ThematicBreak:
			r.paragraph()
			r.write("———", style{})
		case *ast.CodeBlock, *ast.FencedCodeBlock:
			r.pre(lines(n, r.source))
		default:
			if raw := lines(n, r.source); table.MatchString(raw) {
				r.pre(raw)
				continue
			}
			r.paragraph()
			r.inlines(n, style{})
		}
	}
}

// table matches the line below a table's header.
var table = regexp.MustCompile(`(?m)\A.*\|.*\n *\|?[ :|-]*-[ :|-]*\|[ :|-]*$`)

// lines returns the text of a block, with what is beside the language of a fence.
func lines(n ast.Node, source []byte) string {
	text := strings.TrimRight(string(n.Lines().Value(source)), "\n")
	if fence, ok := n.(*ast.FencedCodeBlock); ok && fence.Info != nil {
		if _, words := card.Info(string(fence.Info.Value(source))); words != "" {
			return words + "\n" + text
		}
	}
	return text
}

func (r *rich) pre(code string) {
	r.endSection()
	if strings.TrimSpace(code) == "" {
		return
	}
	r.pieces++
	for _, part := range split(code, maxSection) {
		r.elements = append(r.elements, &slackapi.RichTextPreformatted{Type: slackapi.RTEPreformatted, Elements: []slackapi.RichTextSectionElement{slackapi.NewRichTextSectionTextElement(part, nil)}})
	}
}

// quoted writes a quotation as plain text: Slack's quotes contain no other elements.
func (r *rich) quoted(n ast.Node) {
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		switch {
		case c.Type() == ast.TypeBlock && c.FirstChild() != nil && c.FirstChild().Type() == ast.TypeBlock:
			r.quoted(c)
		case c.FirstChild() == nil:
			r.paragraph()
			r.write(lines(c, r.source), style{})
		default:
			r.paragraph()
			r.inlines(c, style{})
		}
	}
}

// list writes a list, and nested lists after the entries that contain them: in Slack a nested list
// is a separate list with a larger indent.
func (r *rich) list(l *ast.List, indent int) {
	r.endSection()
	kind, entries, number := slackapi.RTEListBullet, []slackapi.RichTextElement(nil), l.Start
	if l.IsOrdered() {
		kind = slackapi.RTEListOrdered
	}
	flush := func() {
		if len(entries) == 0 {
			return
		}
		list := slackapi.NewRichTextList(kind, min(indent, maxIndent), entries...)
		if l.IsOrdered() {
			list.Offset = max(number-len(entries)-1, 0)
		}
		r.elements, entries = append(r.elements, list), nil
	}
	for item := l.FirstChild(); item != nil; item = item.NextSibling() {
		for n := item.FirstChild(); n != nil; n = n.NextSibling() {
			if n, ok := n.(*ast.List); ok {
				if section := r.finish(); len(section) > 0 {
					entries, number = append(entries, slackapi.NewRichTextSection(section...)), number+1
				}
				flush()
				r.list(n, indent+1)
				continue
			}
			if len(r.section) > 0 {
				r.write("\n", style{})
			}
			switch first := n.FirstChild(); {
			case first == nil:
				r.write(lines(n, r.source), style{Code: true})
			case first.Type() == ast.TypeBlock:
				r.quoted(n)
			default:
				r.inlines(n, style{})
			}
		}
		if section := r.finish(); len(section) > 0 {
			entries, number = append(entries, slackapi.NewRichTextSection(section...)), number+1
		}
	}
	flush()
}

// inlines writes the text of a paragraph with its styles. It writes a link's target after its text,
// not as a link.
func (r *rich) inlines(parent ast.Node, how style) {
	for n := parent.FirstChild(); n != nil; n = n.NextSibling() {
		inner := how
		switch n := n.(type) {
		case *ast.Text:
			r.write(unescaped(n.Segment.Value(r.source)), how)
			switch {
			case n.HardLineBreak():
				r.write("\n", style{})
			case n.SoftLineBreak():
				r.write(" ", how)
			}
		case *ast.String:
			r.write(string(n.Value), how)
		case *ast.Emphasis:
			if n.Level > 1 {
				inner.Bold = true
			} else {
				inner.Italic = true
			}
			r.inlines(n, inner)
		case *extast.Strikethrough:
			inner.Strike = true
			r.inlines(n, inner)
		case *ast.CodeSpan:
			inner.Code = true
			r.inlines(n, inner)
		case *ast.Link:
			r.inlines(n, how)
			r.leads(n.Destination, n.Title)
		case *ast.Image:
			r.inlines(n, how)
			r.leads(n.Destination, n.Title)
		case *ast.AutoLink:
			inner.Code = true
			r.write(string(n.URL(r.source)), inner)
		default:
			r.inlines(n, how)
		}
	}
}

// leads writes a link's target as code, which Slack does not turn into a link, and its title.
func (r *rich) leads(to, title []byte) {
	if said := strings.TrimSpace(string(to) + " " + string(title)); said != "" {
		r.write(" (", style{})
		r.write(said, style{Code: true})
		r.write(")", style{})
	}
}

// unescaped removes Markdown's escaping backslashes.
func unescaped(b []byte) string {
	return backslash.ReplaceAllString(string(b), "$1")
}

var backslash = regexp.MustCompile("\\\\([!-/:-@\\[-`{-~])")
