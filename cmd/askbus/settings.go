package main

import (
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/askbus/askbus/internal/cli"
	"github.com/askbus/askbus/internal/process/config"
	"github.com/spf13/cobra"
)

//go:generate sh -c "go run . settings --markdown > ../../docs/settings.md"

// settingsCmd prints the table of docs/settings.md.
func settingsCmd(a *cli.App) *cobra.Command {
	var markdown bool
	cmd := &cobra.Command{
		Use: "settings", Short: "List the environment variables", Args: cobra.NoArgs,
		Example: "  askbus settings --output text",
		RunE: func(*cobra.Command, []string) error {
			rows := config.Settings(settings()...)
			if markdown {
				fmt.Fprint(a.Stdout, settingsHead)
				for _, r := range rows {
					fmt.Fprintf(a.Stdout, "| `%s` | %s | %s |\n", r.Name, code(r.Default), strings.ReplaceAll(r.Description, "|", "\\|"))
				}
				return nil
			}
			if a.JSON() {
				return a.TellJSON(rows)
			}
			w := tabwriter.NewWriter(a.Stdout, 0, 4, 2, ' ', 0)
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

To configure a role or a command, set these environment variables; many are also flags. Flags override the environment, which overrides
` + "`context.json`" + ` in ` + "`--dir`" + `. An unknown variable that starts with ` + "`ASKBUS_`" + ` causes a warning. Durations are
in Go syntax, such as ` + "`90s` or `720h`" + `; lists are separated by commas. Variables that start with ` + "`__VF_PROJECT_`" + ` are not ours: hosts that
ask from a command line to a web page (the dialect [interact](http.md#in-another-shape)) set them for the tools that they start.

| variable | default | what it sets |
|---|---|---|
`

func code(s string) string {
	if s == "" {
		return ""
	}
	return "`" + s + "`"
}
