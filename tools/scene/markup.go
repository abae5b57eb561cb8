package main

import (
	"cmp"
	"fmt"
	"html"
	"regexp"
	"strconv"
	"strings"
)

// Colours of the terminal, reported by tmux and drawn by the page.
const (
	foreground = "#d7dae0"
	background = "#16181d"
)

// pen is the style of the next character.
type pen struct {
	fg, bg                                string // CSS colours; empty: the terminal's
	bold, dim, italic, underline, reverse bool
}

// sequence is one escape sequence: SGR, another CSI, or an OSC.
var sequence = regexp.MustCompile(`\x1b\[([0-9;:]*)([A-Za-z])|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b[()].|[\x0e\x0f]`)

// markup converts what tmux captured to HTML. It drops everything except text
// and colours.
func markup(captured string) string {
	var b strings.Builder
	var p pen
	rest := captured
	for {
		at := sequence.FindStringSubmatchIndex(rest)
		if at == nil {
			p.write(&b, rest)
			return b.String()
		}
		p.write(&b, rest[:at[0]])
		if at[4] >= 0 && rest[at[4]:at[5]] == "m" {
			p.change(rest[at[2]:at[3]])
		}
		rest = rest[at[1]:]
	}
}

func (p *pen) write(b *strings.Builder, text string) {
	if text == "" {
		return
	}
	if style := p.style(); style != "" {
		fmt.Fprintf(b, `<span style="%s">%s</span>`, style, html.EscapeString(text))
		return
	}
	b.WriteString(html.EscapeString(text))
}

func (p *pen) style() string {
	var s []string
	fg, bg := p.fg, p.bg
	if p.reverse {
		fg, bg = cmp.Or(bg, background), cmp.Or(fg, foreground)
	}
	for _, r := range []struct {
		on   bool
		rule string
	}{
		{fg != "", "color:" + fg},
		{bg != "", "background:" + bg},
		{p.bold, "font-weight:700"},
		{p.dim, "opacity:.65"},
		{p.italic, "font-style:italic"},
		{p.underline, "text-decoration:underline"},
	} {
		if r.on {
			s = append(s, r.rule)
		}
	}
	return strings.Join(s, ";")
}

// change applies the parameters of an SGR sequence.
func (p *pen) change(params string) {
	var n []int
	for field := range strings.FieldsFuncSeq(params, func(r rune) bool { return r == ';' || r == ':' }) {
		v, _ := strconv.Atoi(field)
		n = append(n, v)
	}
	if len(n) == 0 {
		n = []int{0}
	}
	for i := 0; i < len(n); i++ {
		switch v := n[i]; {
		case v == 0:
			*p = pen{}
		case v == 1:
			p.bold = true
		case v == 2:
			p.dim = true
		case v == 3:
			p.italic = true
		case v == 4:
			p.underline = true
		case v == 7:
			p.reverse = true
		case v == 22:
			p.bold, p.dim = false, false
		case v == 23:
			p.italic = false
		case v == 24:
			p.underline = false
		case v == 27:
			p.reverse = false
		case v == 38, v == 48:
			colour, used := extended(n[i+1:])
			i += used
			p.paint(v == 48, colour)
		case v == 39, v == 49:
			p.paint(v == 49, "")
		case v >= 30 && v <= 37, v >= 40 && v <= 47:
			p.paint(v >= 40, palette(v%10))
		case v >= 90 && v <= 97, v >= 100 && v <= 107:
			p.paint(v >= 100, palette(v%10+8))
		}
	}
}

func (p *pen) paint(back bool, colour string) {
	if back {
		p.bg = colour
		return
	}
	p.fg = colour
}

// extended parses the parameters after 38 or 48, and returns how many it used.
func extended(n []int) (colour string, used int) {
	switch {
	case len(n) >= 4 && n[0] == 2:
		return fmt.Sprintf("#%02x%02x%02x", n[1]&255, n[2]&255, n[3]&255), 4
	case len(n) >= 2 && n[0] == 5:
		return palette(n[1] & 255), 2
	}
	return "", len(n)
}

// palette returns a colour of the 256-colour palette.
func palette(i int) string {
	base := []string{
		"#2b2f37", "#f07178", "#9ece8a", "#e5c07b", "#7aa2f7", "#bb9af7", "#6fc3c3", "#c8ccd4",
		"#6b7280", "#ff8b92", "#b5e0a5", "#f0d399", "#9cbcff", "#d0b8ff", "#8fdada", "#f2f4f8",
	}
	switch {
	case i < len(base):
		return base[i]
	case i < 232:
		level := func(v int) int {
			if v == 0 {
				return 0
			}
			return 55 + 40*v
		}
		i -= 16
		return fmt.Sprintf("#%02x%02x%02x", level(i/36), level(i/6%6), level(i%6))
	}
	grey := 8 + 10*(i-232)
	return fmt.Sprintf("#%02x%02x%02x", grey, grey, grey)
}
