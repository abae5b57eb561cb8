package discord

import (
	"regexp"
	"strings"

	"github.com/askbus/askbus/internal/answering/chat"
	"github.com/askbus/askbus/pkg/card"
)

const zero = "\u200b"

// short is for one line of plain text, such as a label.
func short(s string, most int) string { return chat.ClipUnits(chat.OneLine(s), most) }

//nolint:gochecknoglobals // never changed
var marks = strings.NewReplacer(
	`\`, `\\`, "*", `\*`, "_", `\_`, "~", `\~`, "|", `\|`, "`", "\\`", "[", `\[`, "]", `\]`, "<", `\<`, ">", `\>`, "@", "@"+zero, "://", ":"+zero+"//",
)

// lineMark matches what begins a heading, a list or small print.
var lineMark = regexp.MustCompile(`(?m)^(\s*)(-?#|[-+>]|[0-9]+[.)])`)

// escape makes text literal.
func escape(s string) string {
	return lineMark.ReplaceAllStringFunc(marks.Replace(s), func(m string) string {
		at := strings.IndexFunc(m, func(r rune) bool { return r != ' ' && r != '\t' })
		if m[at] >= '0' && m[at] <= '9' {
			return m[:len(m)-1] + `\` + m[len(m)-1:]
		}
		return m[:at] + `\` + m[at:]
	})
}

// literal makes text literal on one line, and cuts it.
func literal(s string, most int) string { return escape(short(s, most)) }

// styled draws the marks of [card.Inline]. A link shows the host that it goes to.
func styled(s string) string {
	var b strings.Builder
	for _, sp := range card.Inline(s) {
		words := escape(sp.Text)
		switch {
		case sp.Code:
			words = "`" + strings.NewReplacer("`", "ˋ", "@", "@"+zero).Replace(sp.Text) + "`"
		case sp.Link != "" && !strings.ContainsAny(sp.Link, "<>()\\ "):
			if words = "<" + sp.Link + ">"; sp.Text != sp.Link {
				words = "[" + escape(sp.Text) + "](<" + sp.Link + ">)"
			}
			if sp.Host != "" {
				words += " (" + escape(sp.Host) + ")"
			}
		}
		if sp.Bold {
			words = "**" + words + "**"
		}
		b.WriteString(words)
	}
	return b.String()
}

// fenced draws text as a block of code in a language, which may be empty.
func fenced(language string) func(string) string {
	return func(s string) string {
		return "```" + language + "\n" + strings.ReplaceAll(strings.Trim(s, "\n"), "```", "`"+zero+"`"+zero+"`") + "\n```"
	}
}

var (
	heading = regexp.MustCompile(`^ {0,3}(#{1,6}) +`)
	bullet  = regexp.MustCompile(`^( *)([-*+]|[0-9]{1,9}[.)]) +`)
)

// prose draws an agent's Markdown with what Discord has of it.
func prose(s string) string {
	var out []string
	for _, p := range card.Pieces(s) {
		if p.Code {
			if p.Language != "diff" {
				p.Language = ""
			}
			out = append(out, fenced(p.Language)(p.Text))
			continue
		}
		for l := range strings.SplitSeq(p.Text, "\n") {
			switch m := bullet.FindStringSubmatch(l); {
			case heading.MatchString(l):
				out = append(out, "**"+escape(card.InlinePlain(heading.ReplaceAllString(l, "")))+"**")
			case m != nil:
				out = append(out, m[1]+strings.NewReplacer("*", "-", "+", "-", ")", ".").Replace(m[2])+" "+styled(l[len(m[0]):]))
			default:
				out = append(out, styled(l))
			}
		}
	}
	return strings.Join(out, "\n")
}
