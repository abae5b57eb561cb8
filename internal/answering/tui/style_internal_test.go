package tui

import (
	"image/color"
	"math"
	"testing"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/colorprofile"
)

func TestThemeOfCOLORFGBG(t *testing.T) {
	t.Parallel()
	for fgbg, want := range map[string]Theme{
		"": ThemeAuto, "15": ThemeLight, "15;0": ThemeDark, "0;15": ThemeLight, "15;default;0": ThemeDark, "7;8": ThemeDark, "0;7": ThemeLight,
		"0;default": ThemeAuto, "0;-1": ThemeAuto, "0;231": ThemeAuto, ";": ThemeAuto,
	} {
		if got := themeOf(fgbg); got != want {
			t.Errorf("COLORFGBG=%q is %s, want %s", fgbg, got, want)
		}
	}
}

// Every color can be read on its ground, those of ThemeAuto on both, and has the same hue in a terminal of 256 colors.
func TestColorsCanBeRead(t *testing.T) {
	t.Parallel()
	black, white := lipgloss.Color("#000000"), lipgloss.Color("#ffffff")
	grounds := map[Theme][]color.Color{ThemeLight: {white}, ThemeDark: {black, lipgloss.Color("#303030")}, ThemeAuto: {black, white}}
	for theme, p := range palettes() {
		for _, hex := range []string{p.dim, p.accent, p.fault, p.added} {
			c := lipgloss.Color(hex)
			for _, ground := range grounds[theme] {
				if ratio := contrast(c, ground); ratio < 3.8 {
					t.Errorf("%s: %s has a contrast of %.1f", theme, hex, ratio)
				}
			}
			r, g, b, _ := c.RGBA()
			if r2, g2, b2, _ := colorprofile.ANSI256.Convert(c).RGBA(); r != r2 || g != g2 || b != b2 {
				t.Errorf("%s: %s is another color in a terminal of 256", theme, hex)
			}
		}
		if p.picked != "" && contrast(lipgloss.Color(p.ink), lipgloss.Color(p.picked)) < 7 {
			t.Errorf("%s: a picked row cannot be read", theme)
		}
	}
}

// With 16 colors a picked row swaps ink and ground, whatever they are, and nothing is bright black on an unknown ground.
func TestAPickedRowCanBeReadWithFewColors(t *testing.T) {
	t.Parallel()
	for theme := range palettes() {
		for _, few := range []colorprofile.Profile{colorprofile.ASCII, colorprofile.ANSI} {
			if s := newStyles(theme, few).picked; !s.GetReverse() || s.GetForeground() != (lipgloss.NoColor{}) || s.GetBackground() != (lipgloss.NoColor{}) {
				t.Errorf("%s, %s: %+v", theme, few, s)
			}
			if s := newStyles(theme, few).dim; s.GetFaint() != (theme == ThemeAuto) || theme == ThemeAuto && s.GetForeground() != (lipgloss.NoColor{}) {
				t.Errorf("%s, %s: what is less important is %+v", theme, few, s)
			}
		}
		if many := newStyles(theme, colorprofile.ANSI256).picked; many.GetReverse() != (theme == ThemeAuto) {
			t.Errorf("%s in 256 colors: %+v", theme, many)
		}
	}
}

// contrast is the ratio of WCAG 2.
func contrast(a, b color.Color) float64 {
	light := func(c color.Color) float64 {
		r, g, b, _ := c.RGBA()
		linear := func(v uint32) float64 {
			s := float64(v) / 0xffff
			if s <= 0.04045 {
				return s / 12.92
			}
			return math.Pow((s+0.055)/1.055, 2.4)
		}
		return 0.2126*linear(r) + 0.7152*linear(g) + 0.0722*linear(b) + 0.05
	}
	x, y := light(a), light(b)
	return max(x, y) / min(x, y)
}
