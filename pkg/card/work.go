package card

import (
	"regexp"
	"strings"
	"sync"
)

// machineMade matches names that a program made up: UUIDs, and long runs of
// hexadecimal digits.
//
//nolint:gochecknoglobals // compiled once
var machineMade = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}$|^[0-9a-fA-F]{16,}$`)
})

// sessionName returns a session's display name: its name, or the beginning of a generated one.
func sessionName(name string) string {
	if machineMade().MatchString(name) {
		return name[:8]
	}
	return name
}

// linkHost returns the host of an http or https URL, without the port.
func linkHost(link string) string {
	_, rest, _ := strings.Cut(link, "://")
	if at := strings.IndexAny(rest, "/?#"); at >= 0 {
		rest = rest[:at]
	}
	if at := strings.LastIndexByte(rest, ':'); at >= 0 && !strings.HasSuffix(rest, "]") {
		rest = rest[:at]
	}
	return rest
}
