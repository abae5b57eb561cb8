package main

import (
	"runtime/debug"
	"strings"
	"testing"

	"github.com/askbus/askbus/internal/cli"
)

func TestVersionOfABuild(t *testing.T) {
	t.Parallel()
	module := func(v string, settings ...debug.BuildSetting) *debug.BuildInfo {
		return &debug.BuildInfo{Main: debug.Module{Version: v}, Settings: settings}
	}
	commit := debug.BuildSetting{Key: "vcs.revision", Value: "79f025d0123456789abcdef0123456789abcdef0"}
	for name, c := range map[string]struct {
		stamped string
		info    *debug.BuildInfo
		want    string
	}{
		"make build with a tag":            {"v0.1.0", module("(devel)"), "v0.1.0"},
		"make build without a tag":         {"79f025d-dirty", module("v9.9.9"), "79f025d-dirty"},
		"make build from a tarball":        {"devel", nil, "devel"},
		"go install of a version":          {"", module("v1.2.3"), "v1.2.3"},
		"go build in a clone, Go 1.24 on":  {"", module("v0.0.0-20261122003425-79f025d01234+dirty", commit), "v0.0.0-20261122003425-79f025d01234+dirty"},
		"go build in a clone":              {"", module("(devel)", commit), "79f025d01234"},
		"go build in a clone with changes": {"", module("", commit, debug.BuildSetting{Key: "vcs.modified", Value: "true"}), "79f025d01234-dirty"},
		"go run":                           {"", module("(devel)"), "devel"},
		"a build without information":      {" ", nil, "devel"},
	} {
		if got := cli.VersionOf(c.stamped, c.info); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// A short command does not collect garbage: its packages allocate more than the first collection waits for.
func TestAShortCommandCollectsNothing(t *testing.T) {
	t.Parallel()
	p := startWith(t, []string{"GODEBUG=gctrace=1"}, "", "version")
	if code := p.wait(); code != 0 || strings.Contains(p.err.String(), "gc 1 ") {
		t.Errorf("exit %d, and the runtime says %s", code, p.err)
	}
}
