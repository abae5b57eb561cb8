package chat

import (
	"strings"
	"unicode/utf16"
)

// Units counts text as JavaScript does, in UTF-16: as Telegram does, and platforms that do not say how.
func Units(s string) int { return len(utf16.Encode([]rune(s))) }

// ClipUnits cuts text to a number of units.
func ClipUnits(s string, most int) string {
	if Units(s) <= most {
		return s
	}
	if most < 2 {
		return ""
	}
	cut := string(utf16.Decode(utf16.Encode([]rune(s))[:most-1]))
	return strings.TrimSuffix(cut, "\ufffd") + "…" // half a character
}
