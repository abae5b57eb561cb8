package main

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/askbus/askbus/internal/cli"
	"github.com/spf13/cobra"
)

func versionCmd(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print the version", Args: cobra.NoArgs,
		Example: "  askbus version",
		RunE: func(*cobra.Command, []string) error {
			v := map[string]string{"version": cli.BuildVersion(), "go": runtime.Version()}
			if info, ok := debug.ReadBuildInfo(); ok {
				if commit := cli.BuildSetting(info, "vcs.revision"); commit != "" {
					v["commit"] = commit
				}
				for _, m := range info.Deps {
					if strings.HasSuffix(m.Path, "nats-io/nats-server/v2") {
						v["nats_server"] = m.Version
					}
				}
			}
			if a.JSON() {
				return a.TellJSON(v)
			}
			fmt.Fprintf(a.Stdout, "askbus %s (nats-server %s, %s)\n", v["version"], v["nats_server"], v["go"])
			return nil
		},
	}
}
