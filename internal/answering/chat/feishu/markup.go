package feishu

import (
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/askbus/askbus/internal/answering/chat"
	"github.com/askbus/askbus/pkg/card"
)

// marks are the characters that mean something in a card's Markdown, as entities.
var marks = strings.NewReplacer("&", "&#38;", "<", "&#60;", ">", "&#62;", "*", "&#42;", "~", "&#126;", "[", "&#91;", "]", "&#93;", "_", "&#95;", "`", "&#96;", "#", "&#35;", "!", "&#33;", "|", "&#124;", "\\", "&#92;", "$", "&#36;", ":", "&#58;") //nolint:gochecknoglobals // never changed

// escape makes text literal in Markdown: no mention, link, picture or emoji.
func escape(s string) string { return marks.Replace(s) }

// tagged matches what may begin a tag such as <at id=all></at>.
var tagged = regexp.MustCompile(`<([/A-Za-z])`)

// code makes text literal between marks of code, where entities would be shown as they are: a space without width parts
// what may be a tag.
func code(s string) string {
	return strings.ReplaceAll(tagged.ReplaceAllString(s, "<\u200b$1"), "```", "`\u200b`\u200b`")
}

func block(s string) string { return "```\n" + code(strings.Trim(s, "\n")) + "\n```" }

// inline renders a line with the marks of [card.Inline]. Links are words: what an agent writes opens nothing.
func inline(s string) string {
	var b strings.Builder
	for _, sp := range card.Inline(s) {
		text := escape(sp.Text)
		switch {
		case strings.TrimSpace(sp.Text) == "":
		case sp.Code:
			text = "`" + strings.ReplaceAll(code(sp.Text), "`", "'") + "`"
		case sp.Bold:
			text = "**" + text + "**"
		}
		b.WriteString(text)
		if sp.Host != "" {
			b.WriteString(escape(" (" + sp.Host + ")"))
		}
	}
	return b.String()
}

var heading = regexp.MustCompile(`^ {0,3}#{1,6} +`)

// body renders what an agent wrote, in at most a number of bytes of it. It reports whether something was left out.
func body(p *card.Preview, most int) (markdown string, cut bool) {
	whole := strings.TrimSpace(p.Body)
	if p.Kind == card.Layout {
		short := card.Middle(whole, most)
		return block(short), short != whole
	}
	whole = card.Tables(whole)
	short := clip(whole, most)
	var out []string
	for _, p := range card.Pieces(short) {
		if p.Code {
			out = append(out, block(p.Text))
			continue
		}
		for l := range strings.SplitSeq(p.Text, "\n") {
			if heading.MatchString(l) {
				out = append(out, "**"+escape(card.InlinePlain(heading.ReplaceAllString(l, "")))+"**")
			} else {
				out = append(out, inline(l))
			}
		}
	}
	return strings.Join(out, "\n"), short != whole
}

// clip cuts text to a number of bytes, between characters.
func clip(s string, most int) string {
	if len(s) <= most {
		return s
	}
	s = s[:max(most-len("…"), 0)]
	for s != "" && !utf8.ValidString(s) {
		s = s[:len(s)-1]
	}
	return s + "…"
}

func literal(s string, most int) string { return clip(chat.OneLine(s), most) }
