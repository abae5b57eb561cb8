package tui

import "charm.land/lipgloss/v2"

// styles are the styles of a screen. Each one comes with words or a glyph: color alone carries no
// information.
type styles struct {
	title, dim, accent, urgent, fault, chip, picked, bar, added, removed lipgloss.Style
}

func newStyles(dark bool) styles {
	pick := lipgloss.LightDark(dark)
	color := func(light, dark string) lipgloss.Style {
		return lipgloss.NewStyle().Foreground(pick(lipgloss.Color(light), lipgloss.Color(dark)))
	}
	return styles{
		title:   lipgloss.NewStyle().Bold(true),
		dim:     color("#5c5f66", "#9aa0aa"),
		accent:  color("#0b57d0", "#8ab4f8").Bold(true),
		urgent:  color("#b3261e", "#f2b8b5").Bold(true),
		fault:   color("#b3261e", "#f2b8b5"),
		chip:    color("#0b57d0", "#8ab4f8"),
		picked:  lipgloss.NewStyle().Background(pick(lipgloss.Color("#dfe7fb"), lipgloss.Color("#2b3446"))),
		bar:     color("#5c5f66", "#9aa0aa"),
		added:   color("#146c2e", "#81c995"),
		removed: color("#b3261e", "#f28b82"),
	}
}
