package ask

import "strings"

// ValidLink reports whether s is a URL that is safe to show to a person: http
// or https, with a host, without a user name, and printable ASCII only, so that
// the visible text is where it leads.
func ValidLink(s string) bool {
	rest, ok := strings.CutPrefix(s, "https://")
	if !ok {
		rest, ok = strings.CutPrefix(s, "http://")
	}
	host := rest
	if at := strings.IndexAny(rest, "/?#"); at >= 0 {
		host = rest[:at]
	}
	inHost := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune(".-_:[]", r)
	}
	return ok && host != "" && host[0] != ':' && strings.Trim(host, ".-_:[]") != "" &&
		!strings.ContainsFunc(host, func(r rune) bool { return !inHost(r) }) &&
		!strings.ContainsFunc(rest, func(r rune) bool { return r <= ' ' || r >= 0x7f || r == '\\' })
}
