package lang

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Styled is a value of a message in the style of a surface. The words around it are spaced as around its text.
type Styled struct{ Text, As string }

// String implements [fmt.Stringer].
func (s Styled) String() string { return s.As }

// Fill formats a message as [Language.Say] does. Chinese is written without spaces, except beside Latin letters and
// digits: a space of the message beside a value is left out if the value begins or ends there with a Chinese character.
func Fill(pattern string, args ...any) string { return fmt.Sprintf(closed(pattern, args), args...) }

// value matches a verb with the spaces around it.
var value = regexp.MustCompile(`( ?)%(?:\[(\d)\])?[sd]( ?)`)

// closed returns a message without the spaces that its values do not need.
func closed(pattern string, args []any) string {
	if isASCII(pattern) {
		return pattern
	}
	var b strings.Builder
	last, next := 0, 0
	for _, m := range value.FindAllStringSubmatchIndex(pattern, -1) {
		if m[4] >= 0 {
			next, _ = strconv.Atoi(pattern[m[4]:m[5]])
			next--
		}
		if next < 0 || next >= len(args) {
			return pattern // a fault of the catalogue, which its test finds
		}
		text := textOf(args[next])
		next++
		before, _ := utf8.DecodeLastRuneInString(pattern[:m[0]])
		after, _ := utf8.DecodeRuneInString(pattern[m[1]:])
		first, _ := utf8.DecodeRuneInString(text)
		end, _ := utf8.DecodeLastRuneInString(text)
		from, to := m[0], m[1]
		b.WriteString(pattern[last:from])
		if isWide(before) && isWide(first) {
			from = m[3]
		}
		if isWide(end) && isWide(after) {
			to = m[6]
		}
		b.WriteString(pattern[from:to])
		last = m[1]
	}
	return b.String() + pattern[last:]
}

// textOf is the text of a value that a message shows.
func textOf(arg any) string {
	switch v := arg.(type) {
	case Styled:
		return v.Text
	case string:
		return v
	}
	return "" // a number keeps its spaces
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// isWide reports whether a character is Chinese, or punctuation that brings its own space.
func isWide(r rune) bool {
	return unicode.Is(unicode.Han, r) || r >= 0x3000 && r <= 0x303f || r >= 0xff00 && r <= 0xff60 || strings.ContainsRune("“”‘’…", r)
}
