package main

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"
)

// unknownVersion is the version of a build without version information.
const unknownVersion = "devel"

// buildVersion returns the version of this program. Nothing may depend on its format.
func buildVersion() string {
	info, _ := debug.ReadBuildInfo()
	return versionOf(version, info)
}

// versionOf returns the version from the linker, else the module's version ("go install …@v1.2.3"),
// else the commit ("go build" in a clone).
func versionOf(stamped string, info *debug.BuildInfo) string {
	if stamped = strings.TrimSpace(stamped); stamped != "" {
		return stamped
	}
	if info == nil {
		return unknownVersion
	}
	if v := info.Main.Version; v != "" && v != "(devel)" {
		return v
	}
	commit := buildSetting(info, "vcs.revision")
	if commit == "" {
		return unknownVersion
	}
	if commit = commit[:min(len(commit), 12)]; buildSetting(info, "vcs.modified") == "true" {
		commit += "-dirty"
	}
	return commit
}

func buildSetting(info *debug.BuildInfo, key string) string {
	for _, s := range info.Settings {
		if s.Key == key {
			return s.Value
		}
	}
	return ""
}

func (a *app) versionCmd() *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print the version", Args: cobra.NoArgs,
		Example: "  askbus version",
		RunE: func(*cobra.Command, []string) error {
			v := map[string]string{"version": buildVersion(), "go": runtime.Version()}
			if info, ok := debug.ReadBuildInfo(); ok {
				if commit := buildSetting(info, "vcs.revision"); commit != "" {
					v["commit"] = commit
				}
				for _, m := range info.Deps {
					if strings.HasSuffix(m.Path, "nats-io/nats-server/v2") {
						v["nats_server"] = m.Version
					}
				}
			}
			if a.json() {
				return a.tellJSON(v)
			}
			fmt.Fprintf(a.out, "askbus %s (nats-server %s, %s)\n", v["version"], v["nats_server"], v["go"])
			return nil
		},
	}
}
