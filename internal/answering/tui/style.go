package tui

import (
	"strconv"
	"strings"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/colorprofile"
)

// A Theme is the ground that the screen is drawn for.
type Theme string

// The themes. [ThemeAuto] is what the terminal says (OSC 11), else what COLORFGBG says; until one of them does,
// colors are used that can be read on both grounds.
const (
	ThemeAuto  Theme = "auto"
	ThemeLight Theme = "light"
	ThemeDark  Theme = "dark"
)

// themeOf returns the theme that COLORFGBG names, such as 15;0 or 15;default;0: the last number is the ground.
func themeOf(fgbg string) Theme {
	n, err := strconv.Atoi(fgbg[strings.LastIndexByte(fgbg, ';')+1:])
	switch {
	case err != nil || n < 0 || n > 15:
		return ThemeAuto
	case n == 7 || n > 8:
		return ThemeLight
	default:
		return ThemeDark
	}
}

// styles are the styles of a screen. Each one comes with words or a glyph: color alone carries no
// information.
type styles struct {
	title, dim, accent, urgent, fault, chip, picked, bar, added, removed lipgloss.Style
}

// palette has the colors of one theme, all of them also exact in a palette of 256.
type palette struct {
	dim, accent, fault, added string
	ink, picked               string // of a picked row; empty: swapped
}

// palettes returns the colors of each theme. Those of [ThemeAuto] have a contrast of about 4.5 on black and on white.
func palettes() map[Theme]palette {
	return map[Theme]palette{
		ThemeAuto:  {dim: "#767676", accent: "#0087d7", fault: "#d70000", added: "#008700"},
		ThemeLight: {dim: "#626262", accent: "#005fd7", fault: "#af0000", added: "#005f00", ink: "#121212", picked: "#d7d7ff"},
		ThemeDark:  {dim: "#a8a8a8", accent: "#87afff", fault: "#ffafaf", added: "#87d787", ink: "#eeeeee", picked: "#3a3a3a"},
	}
}

// newStyles returns the styles of a theme. With 16 colors or fewer a picked row is swapped in every theme, and what is
// less important is faint where the ground is unknown: what a terminal makes of "bright black" is anything from its
// ground to its ink.
func newStyles(theme Theme, colors colorprofile.Profile) styles {
	p := palettes()[theme]
	color := func(hex string) lipgloss.Style { return lipgloss.NewStyle().Foreground(lipgloss.Color(hex)) }
	picked := lipgloss.NewStyle().Reverse(true)
	if p.picked != "" && colors > colorprofile.ANSI {
		picked = color(p.ink).Background(lipgloss.Color(p.picked))
	}
	dim := color(p.dim)
	if theme == ThemeAuto && colors <= colorprofile.ANSI {
		dim = lipgloss.NewStyle().Faint(true)
	}
	return styles{
		title:   lipgloss.NewStyle().Bold(true),
		dim:     dim,
		accent:  color(p.accent).Bold(true),
		urgent:  color(p.fault).Bold(true),
		fault:   color(p.fault),
		chip:    color(p.accent),
		picked:  picked,
		bar:     dim,
		added:   color(p.added),
		removed: color(p.fault),
	}
}
