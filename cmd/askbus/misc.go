package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"runtime/debug"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/askbus/askbus/internal/config"
	"github.com/spf13/cobra"
)

func (a *app) versionCmd() *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print the version", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			v := map[string]string{"version": version, "go": runtime.Version()}
			if info, ok := debug.ReadBuildInfo(); ok {
				for _, s := range info.Settings {
					if s.Key == "vcs.revision" {
						v["commit"] = s.Value
					}
				}
				for _, m := range info.Deps {
					if strings.HasSuffix(m.Path, "nats-io/nats-server/v2") {
						v["nats_server"] = m.Version
					}
				}
			}
			if a.json() {
				return json.NewEncoder(a.out).Encode(v)
			}
			fmt.Fprintf(a.out, "askbus %s (nats-server %s, %s)\n", v["version"], v["nats_server"], v["go"])
			return nil
		},
	}
}

// healthCmd is for containers without a shell.
func (a *app) healthCmd() *cobra.Command {
	var addr string
	cmd := &cobra.Command{
		Use: "health", Short: "Ask a role's ops address whether it is ready", Args: cobra.NoArgs, Hidden: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if addr == "" {
				ctx, err := config.ReadContext(a.Dir)
				if err != nil {
					return err
				}
				if addr = ctx.Ops["up"]; addr == "" {
					return usage("no ops address known; give --addr")
				}
			}
			req, err := http.NewRequestWithContext(cmd.Context(), http.MethodGet, strings.TrimRight(addr, "/")+"/readyz", nil)
			if err != nil {
				return err
			}
			resp, err := (&http.Client{Timeout: 3 * time.Second}).Do(req)
			if err != nil {
				return err
			}
			defer resp.Body.Close() //nolint:errcheck // only read
			body, _ := io.ReadAll(io.LimitReader(resp.Body, 1024))
			if resp.StatusCode != http.StatusOK {
				return fmt.Errorf("not ready: %s", strings.TrimSpace(string(body)))
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&addr, "addr", "", "ops URL (default: that of \"askbus up\" in context.json)")
	return cmd
}

//go:generate sh -c "go run . settings --markdown > ../../docs/settings.md"

// settingsCmd prints the table that stands in docs/settings.md.
func (a *app) settingsCmd() *cobra.Command {
	var markdown bool
	cmd := &cobra.Command{
		Use: "settings", Short: "List the ASKBUS_… variables", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			rows := config.Settings(settings()...)
			if markdown {
				fmt.Fprint(a.out, settingsHead)
				for _, r := range rows {
					fmt.Fprintf(a.out, "| `%s` | %s | %s |\n", r.Name, code(r.Default), strings.ReplaceAll(r.Description, "|", "\\|"))
				}
				return nil
			}
			if a.json() {
				return json.NewEncoder(a.out).Encode(rows)
			}
			w := tabwriter.NewWriter(a.out, 0, 4, 2, ' ', 0)
			for _, r := range rows {
				fmt.Fprintf(w, "%s\t%s\t%s\n", r.Name, r.Default, r.Description)
			}
			return w.Flush()
		},
	}
	cmd.Flags().BoolVar(&markdown, "markdown", false, "as the page in docs")
	return cmd
}

const settingsHead = `# Settings

<!-- Written by "go generate ./cmd/askbus" from the desc tags. Do not edit. -->

Every setting is a variable of the environment; most are flags too. Flags beat the environment, which beats
` + "`context.json`" + ` in ` + "`--dir`" + `. A variable that starts with ` + "`ASKBUS_`" + ` and stands not here is warned of. Durations are
in Go syntax, such as ` + "`90s` or `720h`" + `; lists are separated by commas.

| variable | default | what it sets |
|---|---|---|
`

func code(s string) string {
	if s == "" {
		return ""
	}
	return "`" + s + "`"
}
