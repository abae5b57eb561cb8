package role

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/askbus/askbus/internal/asking/hook"
	"github.com/askbus/askbus/internal/asking/install"
	"github.com/askbus/askbus/internal/bus/connection"
	"github.com/askbus/askbus/internal/cli"
	"github.com/askbus/askbus/internal/cli/agent"
	"github.com/askbus/askbus/internal/process/config"
	"github.com/askbus/askbus/internal/process/finding"
	"github.com/askbus/askbus/internal/role/doctor"
	"github.com/askbus/askbus/internal/server/rights"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/client"
	"github.com/nats-io/nats.go"
	"github.com/spf13/cobra"
)

// DoctorCmd is "askbus doctor".
func DoctorCmd(a *cli.App) *cobra.Command {
	entries := make([]*chatEntry, 0, len(chats()))
	var pages config.PagerDuty
	var gateway config.Gateway
	var admin string
	var noAsk bool
	cmd := &cobra.Command{
		Use: "doctor", Short: "Check a deployment end to end and suggest fixes", Args: cobra.NoArgs,
		Long: `Checks server version, payload, credential expiry, TLS of NATS, of the inbox and of the
gateway (ASKBUS_GATEWAY_URL), and their clocks; JetStream's limits, partitions, stream
settings, copies, leaders, the servers' clocks and the audit;
whether other users of the machine can read the keys;
the work of posting surfaces; versions of the brokers and the budget; what each role may
do, by trying; the issuer and push; each chat whose token is set, and PagerDuty; the hook of Claude Code, if this user or
directory has it; and then asks a question and answers it. It changes nothing else. What a
role must not do is denied: a NATS server of your own logs each denial as a violation of
"askbus doctor as ROLE", that of askbus only at debug.

With the keys of --dir it checks everything. Otherwise it takes an operator's credential
(ASKBUS_CREDS), and for the ledger --admin-creds, which "askbus auth maintenance" makes, and
lists what it could not check. The test ask has an audience of its own; a posting surface of all
tenants may show it for a moment: --no-ask leaves it out.

Each line begins with ok, missing (optional, or soon a problem, or not checked) or broken. Exit
code 1: something is broken.`,
		Example: `  askbus doctor
  askbus doctor --output json --nats-url nats://bus:4222 --creds operator.creds --admin-creds admin.creds`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, cancel := context.WithTimeout(cmd.Context(), 2*time.Minute)
			defer cancel()
			found, err := runDoctor(ctx, a, gateway.Gateway.URL, admin, noAsk)
			if err != nil {
				if cli.ExitCode(err) == cli.ExitUsage {
					return err
				}
				found.Say("credential", finding.Broken, "%v", err) // what is here can be checked without a bus
			}
			found = append(found, doctor.Files(a.Dir)...)
			if disk := doctor.Disk(a.Dir); disk.Broken() > 0 {
				found = append(disk, found...) // most of the others follow from it
			} else {
				found = append(found, disk...)
			}
			for _, c := range accounts(a.Dir) {
				if c.account != "" { // the others have their settings from the command
					if err := config.Load(c.Settings); err != nil {
						return err
					}
					entries = append(entries, c)
				}
			}
			found = append(found, chatFindings(ctx, a, entries)...)
			if pagerDutySet(pages) {
				found = append(found, pagerDutyFindings(ctx, a, pages)...)
			}
			found = append(found, claudeFindings(a)...)
			return printFindings(a, found)
		},
	}
	for _, entry := range chats() {
		c := entry()
		cli.Load(c.Settings, cmd)
		entries = append(entries, c)
	}
	cli.Load(&pages, cmd)
	cli.Load(&gateway, cmd)
	cmd.Flags().StringVar(&admin, "admin-creds", "", "credential for maintenance, to check the ledger: a NATS .creds file, or JSON")
	cmd.Flags().BoolVar(&noAsk, "no-ask", false, "ask no test question")
	return cmd
}

// doctor checks the bus.
func runDoctor(ctx context.Context, a *cli.App, gateway, admin string, noAsk bool) (finding.List, error) {
	cred, err := a.Credential()
	if err != nil {
		return nil, err
	}
	if role, err := rights.ParseUser(cred.Name); err == nil && role.Name != rights.RoleOperator {
		return nil, fmt.Errorf("the credential is of %s, which cannot check a deployment: give an operator's, which \"askbus auth operator\" prints", cred.Name)
	}
	opts := doctor.Options{NoAsk: noAsk, Tenant: a.Tenant, Expires: cred.Expires, Inbox: a.InboxURL(), Gateway: gateway, Trust: a.InboxCAs(), ClientCert: cred.CertFile, ClientKey: cred.KeyFile}
	quiet := slog.New(slog.DiscardHandler) // some checks are denied on purpose
	nc, err := connection.Connect(connection.Credential(a.Trust(cred)), quiet)
	if err != nil {
		advice := fmt.Sprintf("start \"%s\" if it should run here, or give the right --nats-url and credential", a.Hint("up"))
		if errors.Is(err, connection.ErrCrowded) {
			advice = "see which processes hold connections, end some, or raise the limit (docs/operations.md, \"Who holds the connections\")"
		}
		if errors.Is(err, nats.ErrAuthorization) || errors.Is(err, nats.ErrAuthExpired) {
			advice = fmt.Sprintf("give a credential of this bus; if it is one, a clock may be wrong (here it is %s): set it by NTP", time.Now().UTC().Format(time.RFC3339))
		}
		return finding.List{{What: "server", State: finding.Broken, Words: fmt.Sprintf("cannot connect to %s: %v; %s", cred.URL, err, advice)}}, nil
	}
	defer nc.Close()
	opts.Operator = nc
	if opts.Expires.IsZero() {
		if who, err := connection.Identify(cred.Creds); err == nil {
			opts.Expires = who.Expires
		}
	}
	as := func(r rights.Role) (*nats.Conn, error) {
		c, err := a.Local(r)
		if err != nil {
			return nil, err
		}
		return connection.Connect(connection.Credential(a.Trust(c)), quiet, nats.Name("askbus doctor as "+c.Name))
	}
	switch {
	case admin != "":
		var c client.Credential
		if c, err = cli.ReadCreds(admin); err == nil {
			c.URL = cred.URL
			opts.Reader, err = connection.Connect(connection.Credential(a.Trust(c)), quiet)
		}
	case a.Creds == "" && a.Exchange.URL == "" && rights.HasKeys(a.Dir):
		opts.Credential = as
		opts.Reader, err = as(rights.Role{Name: rights.RoleMaintenance})
	}
	if opts.NoReader = err; err != nil {
		opts.Reader = nil
	} else if opts.Reader != nil {
		defer opts.Reader.Close()
	}
	return doctor.Run(ctx, opts), nil
}

// claudeFindings returns findings for each settings file of Claude Code that has our hook: what cannot be seen while it
// runs is that claude -p has no tool to ask with.
func claudeFindings(a *cli.App) (found finding.List) {
	home, _ := os.UserHomeDir() // none: no settings
	for _, path := range []string{filepath.Join(home, ".claude", "settings.json"), filepath.Join(".claude", "settings.json"), filepath.Join(".claude", "settings.local.json")} {
		text, err := os.ReadFile(path)
		if err != nil {
			continue
		}
		mode, ok := install.HookMode(string(text))
		if !ok {
			continue
		}
		one := finding.Finding{What: "claude code", State: finding.Good, Words: fmt.Sprintf("%s has the hook with --mode %s", path, mode)}
		how, err := agent.ClaudeP(a)
		switch silent := agent.LastSilent(a.Dir); {
		case err != nil:
			one.State, one.Words = finding.Broken, err.Error()
		case silent != nil:
			one.State, one.Words = finding.Missing, fmt.Sprintf("a claude -p at %s in %s could ask nobody. %s", silent.At.Format(time.RFC3339), silent.Dir, how)
		case mode != string(hook.Race):
			one.State, one.Words = finding.Missing, one.Words+". "+how
		}
		found = append(found, one)
	}
	return found
}

// printFindings prints the findings, and returns an error if any is broken.
func printFindings(a *cli.App, found finding.List) error {
	if a.JSON() {
		if err := a.TellJSON(found); err != nil {
			return err
		}
	} else {
		for _, f := range found {
			fmt.Fprintln(a.Stdout, ask.CleanText(fmt.Sprintf("%-7s %s: %s", f.State, f.What, f.Words)))
		}
	}
	if n := found.Broken(); n > 0 {
		return fmt.Errorf("%d of %d checks failed", n, len(found))
	}
	return nil
}
