package cli

import (
	"runtime/debug"
	"strings"
)

// version is set by the linker (make build); see [BuildVersion].
var version string

// unknownVersion is the version of a build without version information.
const unknownVersion = "devel"

// BuildVersion returns the version of this program. Nothing may depend on its format.
func BuildVersion() string {
	info, _ := debug.ReadBuildInfo()
	return VersionOf(version, info)
}

// VersionOf returns the version from the linker, else the module's version ("go install …@v1.2.3"),
// else the commit ("go build" in a clone).
func VersionOf(stamped string, info *debug.BuildInfo) string {
	if stamped = strings.TrimSpace(stamped); stamped != "" {
		return stamped
	}
	if info == nil {
		return unknownVersion
	}
	if v := info.Main.Version; v != "" && v != "(devel)" {
		return v
	}
	commit := BuildSetting(info, "vcs.revision")
	if commit == "" {
		return unknownVersion
	}
	if commit = commit[:min(len(commit), 12)]; BuildSetting(info, "vcs.modified") == "true" {
		commit += "-dirty"
	}
	return commit
}

// BuildSetting returns a setting of the build, such as vcs.revision; empty if there is none.
func BuildSetting(info *debug.BuildInfo, key string) string {
	for _, s := range info.Settings {
		if s.Key == key {
			return s.Value
		}
	}
	return ""
}
