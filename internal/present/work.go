package present

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

// sessionName is a session as people tell it from another one: as it is called,
// or the beginning of a name that a program made up.
func sessionName(name string) string {
	if machineMade().MatchString(name) {
		return name[:8]
	}
	return name
}

// linkHost is the host of an http or https URL, without its port.
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
