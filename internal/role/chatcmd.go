package role

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/askbus/askbus/internal/cli"
	"github.com/askbus/askbus/internal/process/config"
	"github.com/askbus/askbus/internal/process/daemon"
	"github.com/askbus/askbus/internal/process/finding"
	"github.com/askbus/askbus/internal/process/httpserver"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// ChatCommands are the commands of all chats: "askbus slack", "askbus telegram", ….
func ChatCommands() (all []cli.Command) {
	for _, entry := range chats() {
		all = append(all, cli.Command{Name: entry().Type, New: func(a *cli.App) *cobra.Command { return chatCmd(a, entry()) }})
	}
	return all
}

// ChatSettings returns the settings of all chats.
func ChatSettings() (all []any) {
	for _, entry := range chats() {
		all = append(all, entry().Settings)
	}
	return all
}

func chatCmd(a *cli.App, c *chatEntry) *cobra.Command {
	var s config.Listen
	cmd := &cobra.Command{
		Use: c.Type, Short: c.Short, Example: c.Example, Args: cobra.NoArgs,
		Long: c.Long + `

With --tenant it serves that tenant only. Secrets come from the environment or from files
that it names, never from flags; see "askbus settings" and docs/` + c.Type + `.md.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			tenant := ""
			if cmd.Flags().Changed("tenant") {
				tenant = a.Tenant
			}
			if err := fillUnder(cmd, a, c); err != nil {
				return err
			}
			return runChat(cmd.Context(), a, c, &s, tenant)
		},
	}
	cli.Load(&s, cmd)
	cli.Load(c.Settings, cmd)
	f := cmd.PersistentFlags()
	f.StringVar(&c.Routes, "routes", c.Routes, "routing file")
	c.typeFlag(f)
	f.StringVar(c.Place, c.PlaceFlag, *c.Place, c.PlaceUsage)
	if c.HTTPAddr != nil {
		cmd.Flags().StringVar(c.HTTPAddr, "http-addr", *c.HTTPAddr, "address for the calls of "+c.Name)
	}
	opsFlag(cmd, &s.OpsAddr)
	if c.Flags != nil {
		c.Flags(cmd.Flags())
	}
	if c.HTTPAddr != nil {
		tlsFlags(&s, cmd)
	}
	cmd.AddCommand(chatRouteCmd(a, c), chatDoctorCmd(a, c))
	return cmd
}

// fillUnder completes the settings with those that "askbus connect" wrote; flags stay as they were given.
func fillUnder(cmd *cobra.Command, a *cli.App, c *chatEntry) error {
	again := map[string]func() error{} // by the flag's name
	cmd.Flags().Visit(func(f *pflag.Flag) {
		value := f.Value.String()
		again[f.Name] = func() error { return f.Value.Set(value) }
		if list, ok := f.Value.(pflag.SliceValue); ok {
			all := list.GetSlice()
			again[f.Name] = func() error { return list.Replace(all) }
		}
	})
	if err := c.fill(a.Dir); err != nil {
		return &cli.ExitError{Code: cli.ExitUsage, Err: err}
	}
	if again[c.PlaceFlag] != nil && again["routes"] == nil {
		c.Routes = "" // of the file, which would count instead
	}
	for _, set := range again {
		if err := set(); err != nil {
			return err
		}
	}
	return nil
}

// runChat is "askbus TYPE": one chat as a process.
func runChat(ctx context.Context, a *cli.App, c *chatEntry, s *config.Listen, tenant string) error {
	r := NewRunning(ctx, a)
	defer r.Close()
	one, err := r.chat(c, tenant, chatInbox(a, c.Inbox, ""))
	if err != nil {
		return err
	}
	r.Closes = append(r.Closes, one.close)
	r.watchExpiry(one.cred)
	// Posting and receiving stop together; then it finishes the work in progress.
	defer one.drain()
	r.parts = append(r.parts, one.parts...)
	where := c.Over
	if one.handler != nil {
		if err := r.secure(s); err != nil {
			return err
		}
		ln, err := r.listen(ctx, c.Type, *c.HTTPAddr, "")
		if err != nil {
			return err
		}
		r.parts = append(r.parts, daemon.HTTP("http", ln, one.handler, httpserver.Limits{}, 5*time.Second))
		where = "at " + httpURL(ln)
	}
	name := c.Name
	if c.served() != c.Type {
		name += " as " + c.served()
	}
	return r.serve(ctx, c.served(), s.OpsAddr, func() error { return errors.Join(natsReady(one.nc), one.app.Ready()) }, "connected to "+name+", clicks "+where)
}

func chatDoctorCmd(a *cli.App, c *chatEntry) *cobra.Command {
	cmd := &cobra.Command{
		Use: "doctor", Short: c.DoctorShort, Args: cobra.NoArgs,
		Example: "  askbus " + c.Type + " doctor --routes routes.yaml",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := fillUnder(cmd, a, c); err != nil {
				return err
			}
			app, err := c.app(a, nil, chatInbox(a, c.Inbox, ""), nil)
			if err != nil {
				return err
			}
			if c.DoctorOnBus {
				r := NewRunning(cmd.Context(), a)
				defer r.Close()
				if one, err := r.chat(c, "", chatInbox(a, c.Inbox, "")); err != nil {
					a.Note("askbus: the rest is checked without the bus: %v", err)
				} else {
					app = one.app
				}
			}
			ctx, cancel := context.WithTimeout(cmd.Context(), time.Minute)
			defer cancel()
			return printFindings(a, app.Doctor(ctx))
		},
	}
	if c.DoctorFlags != nil {
		c.DoctorFlags(cmd.Flags())
	}
	return cmd
}

// chatFindings returns the findings of the doctors of all chats whose secrets are set.
func chatFindings(ctx context.Context, a *cli.App, entries []*chatEntry) (found finding.List) {
	for _, c := range entries {
		err := c.fill(a.Dir)
		if err == nil && !c.set() {
			continue
		}
		var app chatApp
		if err == nil {
			app, err = c.app(a, nil, "", nil)
		}
		if err != nil {
			found = append(found, finding.Finding{What: c.served(), State: finding.Broken, Words: err.Error()})
			continue
		}
		for _, one := range app.Doctor(ctx) {
			one.What = c.served() + " " + one.What
			found = append(found, one)
		}
	}
	return found
}

func chatRouteCmd(a *cli.App, c *chatEntry) *cobra.Command {
	var explain string
	use := "askbus " + c.Type + " route routes.yaml"
	cmd := &cobra.Command{
		Use: "route FILE [--explain ask.json]", Short: "Check a routing file, and show where an ask would go", Args: cobra.ExactArgs(1),
		Example: "  " + use + "\n  " + use + " --explain ask.json",
		RunE: func(_ *cobra.Command, args []string) error {
			data, err := os.ReadFile(args[0])
			if err != nil {
				return &cli.ExitError{Code: cli.ExitUsage, Err: err}
			}
			routes, err := c.ParseRoutes(data)
			if err != nil {
				return cli.Usage("%s: %w", args[0], err)
			}
			if explain == "" {
				a.Note("askbus: %s is valid: %d routes and the default", args[0], len(routes.Rules))
				return nil
			}
			asked, err := readAsk(a, explain)
			if err != nil {
				return err
			}
			d := routes.Decide(&asked)
			if a.JSON() {
				return a.TellJSON(d)
			}
			to := "channel " + d.Channel
			switch {
			case d.Nowhere:
				to = "nowhere"
			case d.Person != "":
				to = "direct message to " + d.Person
			}
			fmt.Fprintf(a.Stdout, "%s, by %s\n", to, d.Why)
			if len(d.Mention) > 0 {
				fmt.Fprintf(a.Stdout, "notifies %s\n", strings.Join(d.Mention, ", "))
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&explain, "explain", "", "file with an ask (JSON); - is standard input")
	return cmd
}

// readAsk reads the ask for --explain. An ask has no tenant and session in its JSON; this file may
// name them, in addition to the settings.
func readAsk(a *cli.App, file string) (ask.Ask, error) {
	data, err := cli.ReadFile(file, os.Stdin, ask.MaxEventBytes)
	if err != nil {
		return ask.Ask{}, cli.Usage("--explain: %w", err)
	}
	var asked ask.Ask
	where := struct {
		Tenant  string `json:"tenant"`
		Session string `json:"session"`
	}{a.Tenant, a.Session}
	if err := errors.Join(json.Unmarshal(data, &asked), json.Unmarshal(data, &where)); err != nil {
		return ask.Ask{}, cli.Usage("--explain: %s is not an ask: %w", file, err)
	}
	asked.Tenant, asked.Session = where.Tenant, where.Session
	return asked, nil
}
