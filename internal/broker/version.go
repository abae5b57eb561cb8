package broker

import (
	"regexp"
	"strings"
)

// semantic is a version as semver.org defines it; the micro library refuses
// every other one.
var semantic = regexp.MustCompile(`^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)` +
	`(-(0|[1-9]\d*|\d*[a-zA-Z-][0-9a-zA-Z-]*)(\.(0|[1-9]\d*|\d*[a-zA-Z-][0-9a-zA-Z-]*))*)?` +
	`(\+[0-9a-zA-Z-]+(\.[0-9a-zA-Z-]+)*)?$`)

// unversioned is the semantic version of a build that has none.
const unversioned = "0.0.0"

// semver returns a valid semantic version for any version string: the string
// itself without a leading v, or 0.0.0 with what is usable of it as build
// metadata. It is for the micro library; people are shown the string as it is.
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
