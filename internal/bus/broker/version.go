package broker

import (
	"regexp"
	"strings"
)

// semantic matches a version as defined by semver.org; the micro library
// refuses any other.
var semantic = regexp.MustCompile(`^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)` +
	`(-(0|[1-9]\d*|\d*[a-zA-Z-][0-9a-zA-Z-]*)(\.(0|[1-9]\d*|\d*[a-zA-Z-][0-9a-zA-Z-]*))*)?` +
	`(\+[0-9a-zA-Z-]+(\.[0-9a-zA-Z-]+)*)?$`)

// unversioned is the semantic version of a build without one.
const unversioned = "0.0.0"

// semver returns a valid semantic version for any version string: the string
// itself without a leading v, or 0.0.0 with its usable parts as build metadata.
// It is for the micro library; people see the string itself.
func semver(version string) string {
	if v := strings.TrimPrefix(version, "v"); semantic.MatchString(v) {
		return v
	}
	usable := func(r rune) bool {
		return r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r == '-'
	}
	build := strings.Join(strings.FieldsFunc(version, func(r rune) bool { return !usable(r) }), ".")
	if build == "" {
		return unversioned
	}
	return unversioned + "+" + build
}
