package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/askbus/askbus/internal/bus/approvals"
	"github.com/askbus/askbus/internal/bus/approvals/oncall"
	"github.com/askbus/askbus/internal/cli"
	"github.com/askbus/askbus/internal/protocol/wire"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/spf13/cobra"
)

// ApprovalsCmd has the commands about asks that people decide together.
func ApprovalsCmd(a *cli.App) *cobra.Command {
	cmd := &cobra.Command{Use: "approvals", Short: "Check asks that several people decide, and the policies for them", Example: "  askbus approvals check ask.json"}
	var policies string
	var asker []string
	var fetch bool
	check := &cobra.Command{
		Use:   "check FILE",
		Short: "Say whose votes decide an ask, and which policies apply, without asking it",
		Long: `Reads an ask as JSON, checks it as a broker does, and says whose votes would decide it and
whether yours would count. With --approvals, the file of the brokers, it says which of its
policies apply to the ask in --tenant and --session, and what they demand.

A FILE that ends in .yaml or .yml is such an approvals file: its policies are checked and listed.

Schedules and calendars of elsewhere (ical, pagerduty) are read by the brokers; --fetch reads them
from here, once, as a broker would, and says what is wrong with them.`,
		Example: `  askbus approvals check ask.json
  askbus approvals check approvals.yaml
  askbus approvals check ask.json --approvals approvals.yaml --tenant acme --session deploy --asker oidc:id.example.com#mei@example.com`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			switch filepath.Ext(args[0]) {
			case ".yaml", ".yml":
				return checkPolicies(cmd.Context(), a, args[0], fetch)
			}
			return checkApproval(cmd.Context(), a, args[0], policies, asker, fetch)
		},
	}
	check.Flags().StringVar(&policies, "approvals", "", "approvals file (YAML) of the brokers")
	check.Flags().StringSliceVar(&asker, "asker", nil, "principals for whom the credential asks (default: none)")
	check.Flags().BoolVar(&fetch, "fetch", false, "read schedules and calendars of elsewhere from here, once")
	cmd.AddCommand(check)
	return cmd
}

func readPolicies(name string) (*approvals.File, error) {
	data, err := os.ReadFile(name)
	if err != nil {
		return nil, fmt.Errorf("read the approvals file: %w", err)
	}
	f, err := approvals.Parse(data)
	if err != nil {
		return nil, cli.Usage("%s: %w", name, err)
	}
	return f, nil
}

// checkPolicies lists the policies of a file.
func checkPolicies(ctx context.Context, a *cli.App, name string, fetch bool) error {
	f, err := readPolicies(name)
	if err != nil {
		return err
	}
	for i := range f.Policies {
		fmt.Fprintln(a.Stdout, ask.CleanLine("Policy "+f.Policies[i].Words()))
	}
	for i := range f.BreakGlass {
		fmt.Fprintln(a.Stdout, ask.CleanLine("Break-glass "+f.BreakGlass[i].Words()))
	}
	failed := false
	for _, d := range f.OnCall(time.Now(), reader(ctx, f, fetch)) {
		printDuty(a, &d)
		failed = failed || d.Err != nil && fetch
	}
	for i := range f.Calendars {
		open, err := calendar(f, f.Calendars[i].Name, time.Now().Add(ask.MaxTimeout), reader(ctx, f, fetch))
		if err != nil {
			return err
		}
		printOpen(a, &open)
		failed = failed || open.Err != nil && fetch
	}
	fmt.Fprintf(a.Stdout, "%d policies, %d people, %d schedules, %d calendars, %d break-glass roles\n", len(f.Policies), len(f.People), len(f.Schedules), len(f.Calendars), len(f.BreakGlass))
	if failed {
		return errors.New("a schedule or calendar cannot be read from here")
	}
	return nil
}

// errNotFetched says why a schedule of elsewhere is not known here.
var errNotFetched = errors.New("it is read by the brokers, not here; --fetch reads it once")

// reader returns what sources say: nothing, unless they are to be read.
func reader(ctx context.Context, f *approvals.File, fetch bool) func(oncall.Source) oncall.Reading {
	if !fetch {
		return func(oncall.Source) oncall.Reading { return oncall.Reading{Err: errNotFetched} }
	}
	k := oncall.NewKeeper(f.Sources, slog.New(slog.DiscardHandler))
	k.Refresh(ctx)
	return k.Of
}

func printDuty(a *cli.App, d *approvals.Duty) {
	who := strings.Join(d.People, ", ")
	switch {
	case d.Unknown:
		who = "not known here: " + d.Err.Error()
	case who == "":
		who = "nobody"
	}
	fmt.Fprintln(a.Stdout, ask.CleanLine("On call now in schedule:"+d.Schedule+": "+who))
	if len(d.Strangers) > 0 {
		fmt.Fprintln(a.Stdout, ask.CleanLine("  Not in people: "+strings.Join(d.Strangers, ", ")+"; those with an e-mail address can decide with that address as their principal, the others cannot"))
	}
}

func checkApproval(ctx context.Context, a *cli.App, name, policies string, asker []string, fetch bool) error {
	data, err := os.ReadFile(name)
	if err != nil {
		return fmt.Errorf("read the ask: %w", err)
	}
	q, err := wire.DecodeAsk(data)
	if err != nil {
		return err
	}
	q.ID = cmp.Or(q.ID, "check")
	q.Tenant, q.Session = a.Tenant, cmp.Or(a.Session, ask.DefaultSession)
	q.Normalize()
	if err := q.Validate(time.Now()); err != nil {
		return err
	}
	var file *approvals.File
	if policies != "" {
		f, err := readPolicies(policies)
		if err != nil {
			return err
		}
		file = f
		if _, err := f.Bind(&q, time.Now(), func() ([]string, error) { return asker, nil }); err != nil {
			return err
		}
		if len(q.Policies) == 0 {
			fmt.Fprintf(a.Stdout, "No policy applies in tenant %s, session %s\n", q.Tenant, q.Session)
		}
		for _, p := range q.Policies {
			fmt.Fprintf(a.Stdout, "Policy %s applies, version %s: %s\n", p.Name, p.Version, p.Rule)
		}
	}
	if file != nil && q.Breakable() {
		q.BreakGlass = file.Roles(q.Tenant)
	}
	var duties []ask.Duty
	if file != nil {
		named := q.Schedules()
		for _, d := range file.OnCall(time.Now(), reader(ctx, file, fetch && len(named) > 0)) {
			if duties = append(duties, d.Duty); slices.Contains(named, d.Schedule) {
				printDuty(a, &d)
			}
		}
	}
	for _, schedule := range q.Schedules() {
		if !slices.ContainsFunc(duties, func(d ask.Duty) bool { return d.Schedule == schedule }) {
			fmt.Fprintln(a.Stdout, ask.CleanLine("Schedule "+schedule+" is not known here; give the file of the brokers with --approvals"))
		}
	}
	q = *q.OnDuty(duties)
	if err := printHours(ctx, a, file, &q, fetch); err != nil {
		return err
	}
	printLadder(a, &q)
	if q.Approval == nil {
		fmt.Fprintln(a.Stdout, "It has no approval: the first answer decides it.")
		return nil
	}
	printApproval(a, q.Approval)
	for i := range q.Approval.And {
		printApproval(a, &q.Approval.And[i])
	}
	if out := append(append([]string{}, q.Exclude...), excludedAsker(&q)...); len(out) > 0 {
		fmt.Fprintf(a.Stdout, "Not by %s\n", ask.CleanLine(strings.Join(out, ", ")))
	}
	for i := range q.BreakGlass {
		r := &q.BreakGlass[i]
		fmt.Fprintln(a.Stdout, ask.CleanLine(fmt.Sprintf("Alone by break-glass %s: %s, proved by %s or as strongly", r.Name, people(ask.Unresolved(r.From)), r.MinProof)))
	}
	me := cli.LocalUser(nil)
	me = q.WithOnCall(me, duties)
	why := "may vote"
	switch {
	case q.Excludes(me):
		why = "may not vote: the ask excludes this person"
	case !q.Allows(me):
		why = "may not vote: neither this person nor one of their groups is named, nor a schedule by which they are on call"
	case !me.Proves(q.MinProof):
		why = "may not vote here: the ask " + ask.Needs("", q.MinProof)
	}
	fmt.Fprintf(a.Stdout, "You, %s, %s\n", ask.CleanLine(me.Principal), why)
	return nil
}

// calendar returns the open hours of a calendar from now on.
func calendar(f *approvals.File, name string, until time.Time, read func(oncall.Source) oncall.Reading) (approvals.Open, error) {
	open, ok := f.OpenHours(name, time.Now(), until, read)
	if !ok {
		return open, ask.InvalidError("ask", []ask.Fault{ask.NewFault("/escalate_hours", ask.FaultNoCalendar, ask.Clip(name, 80))})
	}
	return open, nil
}

// printOpen says when a calendar is open next.
func printOpen(a *cli.App, open *approvals.Open) {
	next := "never, within 30 days"
	if len(open.Spans) > 0 {
		s := open.Spans[0]
		next = "next " + s.From.Format("Mon 2 Jan 15:04") + s.To.Format(" to Mon 2 Jan 15:04 UTC-07:00")
		if !s.From.After(time.Now()) {
			next = "now, until " + s.To.Format("Mon 2 Jan 15:04 UTC-07:00")
		}
	}
	fmt.Fprintln(a.Stdout, ask.CleanLine("Calendar "+open.Name+", version "+open.Version+", is open "+next))
	if open.Err != nil {
		fmt.Fprintln(a.Stdout, ask.CleanLine("  Its holidays are not known here: "+open.Err.Error()))
	}
}

// printHours gives an ask the open hours of the calendar that it names, and prints them.
func printHours(ctx context.Context, a *cli.App, file *approvals.File, q *ask.Ask, fetch bool) error {
	switch {
	case q.EscalateHours == "":
		return nil
	case file == nil:
		fmt.Fprintln(a.Stdout, "Calendar "+q.EscalateHours+" is not known here; give the file of the brokers with --approvals")
		return nil
	}
	open, err := calendar(file, q.EscalateHours, q.Due(time.Now()), reader(ctx, file, fetch))
	if err != nil {
		return err
	}
	printOpen(a, &open)
	q.OpenHours = &open.OpenHours
	return nil
}

// printLadder says whom its steps tell, and when, if only some hours count.
func printLadder(a *cli.App, q *ask.Ask) {
	now, e := time.Now(), ask.Escalated{}
	q.Deadline = q.Due(now)
	unreached := q.Unreached(now)
	for i := range q.Escalate {
		step := &q.Escalate[i]
		who, via, may := "reminds those who may decide and who were told", "", ""
		if len(step.Tell) > 0 {
			who = "tells " + strings.Join(step.Tell, ", ")
		}
		if len(step.Via) > 0 {
			via = " via " + strings.Join(step.Via, ", ")
		}
		if step.Widen {
			may = "; they may then decide it"
		}
		at := ""
		next, _ := q.NextStep(now, &e)
		if unreached > 0 && i+1 >= unreached {
			at = "; never, because the ask ends before"
		} else if q.OpenHours != nil {
			at = "; if asked now: " + next.At.Format("Mon 2 Jan 15:04 UTC-07:00")
		}
		fmt.Fprintln(a.Stdout, ask.CleanLine(fmt.Sprintf("Step %d, after %s, %s%s%s%s", i+1, step.After, who, via, may, at)))
		e.Steps = append(e.Steps, ask.Step{N: i + 1, At: next.At, Tell: step.Tell})
	}
	if q.EscalateRepeat > 0 {
		fmt.Fprintf(a.Stdout, "The steps begin again %d times\n", q.EscalateRepeat)
	}
}

// printApproval says whose votes reach one approval.
func printApproval(a *cli.App, p *ask.Approval) {
	by := ""
	if p.Policy != "" {
		by = "By policy " + p.Policy + ": "
	}
	for i, alt := range p.AnyOf {
		word := by + "Approved by"
		if i > 0 {
			word = "or by"
		}
		fmt.Fprintf(a.Stdout, "%s %s\n", word, ask.CleanLine(alternative(&alt)))
	}
	deny := "Denied by 1 of those who may approve"
	if d := p.Deny; d != nil {
		deny = fmt.Sprintf("Denied by %d of %s", d.Need, people(d.From))
	}
	fmt.Fprintln(a.Stdout, ask.CleanLine(deny))
}

func excludedAsker(q *ask.Ask) []string {
	if !q.ExcludeAsker {
		return nil
	}
	return q.Asker
}

// alternative describes one way to approve an ask.
func alternative(alt *ask.Alternative) string {
	var parts []string
	for _, f := range alt.AllOf {
		parts = append(parts, fmt.Sprintf("%d of %s", f.Need, people(f.From)))
	}
	if len(parts) == 0 {
		parts = []string{fmt.Sprintf("%d of %s", alt.Need, people(alt.From))}
	}
	said := strings.Join(parts, " and ")
	if alt.Distinct {
		said += ", different people"
	}
	if alt.Reason != "" {
		said += ", with a reason"
	}
	if alt.MinProof != "" {
		said += ", proved by " + alt.MinProof + " or as strongly"
	}
	return said
}

func people(from []string) string {
	if len(from) == 0 {
		return "everybody who may decide the ask"
	}
	return strings.Join(ask.Unresolved(from), ", ")
}
