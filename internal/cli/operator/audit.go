package operator

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sort"
	"strconv"
	"strings"
	"time"

	"github.com/askbus/askbus/internal/bus/audit"
	"github.com/askbus/askbus/internal/cli"
	"github.com/askbus/askbus/internal/process/backoff"
	"github.com/askbus/askbus/internal/server/rights"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/clipperhouse/displaywidth"
	"github.com/spf13/cobra"
)

// auditFlags are the flags of "askbus audit".
type auditFlags struct {
	since, until string
	actions      []string
	kinds        []string
	q            audit.Query
	limit        int
	follow, all  bool
}

// AuditCmd is "askbus audit"; log is its command that runs until it is stopped.
func AuditCmd(a *cli.App, log *cobra.Command) *cobra.Command {
	var f auditFlags
	cmd := &cobra.Command{
		Use: "audit", Short: "Search who asked, answered, signed in, issued or revoked, and what was refused", Args: cobra.NoArgs,
		Long: `Searches the audit and prints the newest --limit records, oldest first.
It takes a credential of an operator or an auditor ("askbus auth auditor"); an auditor of one
tenant sees that tenant's records, and others see all of them unless --tenant is given.
--since and --until take a time (2026-11-22, 2026-11-22T10:00:00Z) or how long ago (24h, 90d).
With --output json each line is one record; docs/audit.md describes them. Searches are recorded in
the audit as well.`,
		Example: `  askbus audit --since 7d --action ask.answered
  askbus audit --ask deploy-42 --whole --output json
  askbus audit --principal oidc:id.example.com#mei --since 2026-01-01
  askbus audit --kind token,refused --credential 4fGkTq0aBcD
  askbus audit --follow
  askbus audit --all --output json > audit.jsonl`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := f.read(time.Now()); err != nil {
				return err
			}
			b, err := dialAuditor(a)
			if err != nil {
				return err
			}
			defer b.Close()
			tenant := b.Role.Tenant
			if tenant == "" && cmd.Flags().Changed("tenant") {
				tenant = a.Tenant
			}
			f.q.Session = a.Session
			return searchAudit(cmd.Context(), a, b, tenant, &f)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.since, "since", "24h", "records since this time, or since this long ago")
	flags.StringVar(&f.until, "until", "", "records before this time, or before this long ago")
	flags.StringSliceVar(&f.actions, "action", nil, "only these actions, such as ask.answered or refused")
	flags.StringSliceVar(&f.kinds, "kind", nil, "only these kinds of actions, such as token or sign-in")
	flags.StringVar(&f.q.Surface, "surface", "", "only records of this responder type, of the gateway or of the issuer")
	flags.StringVar(&f.q.Principal, "principal", "", "only records in which this principal acted or was acted on")
	flags.StringVar(&f.q.Ask, "ask", "", "only asks with this id")
	flags.StringVar(&f.q.Key, "credential", "", "only the NATS credential with this public key, or the API token with this id")
	flags.IntVar(&f.limit, "limit", 200, "maximum number of records")
	flags.BoolVar(&f.all, "all", false, "print every record: no --limit, and no --since unless given")
	flags.BoolVar(&f.follow, "follow", false, "keep printing new records")
	flags.BoolVar(&f.q.Whole, "whole", false, "with --output json: whole questions and outcomes, including typed text")
	cmd.AddCommand(auditKeyCmd(a), log, auditVerifyCmd(a), auditEvidenceCmd(a))
	var actions []string
	for _, action := range audit.Actions() {
		actions = append(actions, string(action))
	}
	cli.Fixed(cmd, "action", actions...)
	cli.Fixed(cmd, "kind", audit.Kinds()...)
	cmd.PreRun = func(cmd *cobra.Command, _ []string) {
		if f.all && !cmd.Flags().Changed("since") {
			f.since = ""
		}
	}
	return cmd
}

// dialAuditor connects as an auditor, or an operator.
func dialAuditor(a *cli.App) (*cli.Bus, error) {
	b, err := a.DialAs(rights.Role{Name: rights.RoleAuditor})
	if err == nil && b.Cred.Name != "" && b.Role.Name != rights.RoleOperator && b.Role.Name != rights.RoleAuditor {
		b.Close()
		return nil, cli.Usage("credential %s may not read the audit; use an operator's, or one from \"askbus auth auditor\"", b.Cred.Name)
	}
	return b, err
}

func (f *auditFlags) read(now time.Time) (err error) {
	if f.limit < 1 {
		return cli.Usage("invalid --limit %d: use 1 or more", f.limit)
	}
	if f.q.Since, err = moment(f.since, now); err != nil {
		return cli.Usage("--since: %w", err)
	}
	if f.q.Until, err = moment(f.until, now); err != nil {
		return cli.Usage("--until: %w", err)
	}
	for _, action := range f.actions {
		if !slices.Contains(audit.Actions(), audit.Action(action)) {
			return cli.Usage("unknown --action %q: docs/audit.md lists the actions", action)
		}
		f.q.Actions = append(f.q.Actions, audit.Action(action))
	}
	for _, kind := range f.kinds {
		if !slices.Contains(audit.Kinds(), kind) {
			return cli.Usage("unknown --kind %q: use one of %s", kind, strings.Join(audit.Kinds(), ", "))
		}
		f.q.Kinds = append(f.q.Kinds, kind)
	}
	return nil
}

// moment parses a time, or a duration before now. It returns the zero time for an empty s.
func moment(s string, now time.Time) (time.Time, error) {
	if s == "" {
		return time.Time{}, nil
	}
	if days, ok := strings.CutSuffix(s, "d"); ok {
		if n, err := strconv.ParseUint(days, 10, 16); err == nil {
			return now.AddDate(0, 0, -int(n)), nil
		}
	}
	if d, err := time.ParseDuration(s); err == nil && d >= 0 {
		return now.Add(-d), nil
	}
	for _, form := range []string{time.RFC3339, "2006-01-02T15:04:05", "2006-01-02 15:04", "2006-01-02"} {
		if t, err := time.ParseInLocation(form, s, time.Local); err == nil {
			return t, nil
		}
	}
	return time.Time{}, fmt.Errorf("invalid time %q: use a time such as 2026-11-22 or 2026-11-22T10:00:00Z, or a duration before now such as 24h or 90d", s)
}

// auditPoll is the interval of --follow.
const auditPoll = time.Second

func searchAudit(ctx context.Context, a *cli.App, b *cli.Bus, tenant string, f *auditFlags) error {
	var kept []audit.Record
	var next uint64
	more := false
	show := auditPrinter(a)
	for r, err := range audit.All(ctx, b.NC, tenant, f.q, &next) {
		if err != nil {
			return err
		}
		if f.all {
			if err := show([]audit.Record{r}); err != nil {
				return err
			}
			continue
		}
		if kept = append(kept, r); len(kept) >= 2*f.limit {
			kept, more = append(kept[:0], kept[len(kept)-f.limit:]...), true
		}
	}
	if len(kept) > f.limit {
		kept, more = kept[len(kept)-f.limit:], true
	}
	// A restored audit is not in chronological order.
	sort.SliceStable(kept, func(i, j int) bool { return kept[i].Time.Before(kept[j].Time) })
	if err := show(kept); err != nil {
		return err
	}
	switch {
	case more:
		a.Note("there are older records; raise --limit, or narrow with --since and --until")
	case len(kept) == 0 && !f.all && !f.follow:
		a.Note("no records")
	}
	if !f.follow {
		return nil
	}
	for backoff.Sleep(ctx, auditPoll) == nil {
		f.q.Cursor = max(next, 1)
		for r, err := range audit.All(ctx, b.NC, tenant, f.q, &next) {
			if ctx.Err() != nil {
				return nil
			}
			if errors.Is(err, ask.ErrUnavailable) {
				break // the broker is unreachable; the next poll may reach it
			}
			if err != nil {
				return err
			}
			if err := show([]audit.Record{r}); err != nil {
				return err
			}
		}
	}
	return nil
}

// auditPrinter returns a function that prints records, as JSON lines or in columns.
func auditPrinter(a *cli.App) func([]audit.Record) error {
	if a.JSON() {
		enc := json.NewEncoder(cli.CleanJSON{Writer: a.Stdout})
		return func(list []audit.Record) error {
			for i := range list {
				if err := enc.Encode(&list[i]); err != nil {
					return err
				}
			}
			return nil
		}
	}
	width, _ := cli.Size(a.Stdout)
	columns, headed := [3]int{len("2006-01-02 15:04:05"), 14, 16}, false
	return func(list []audit.Record) error {
		var rows [][4]string
		if !headed && len(list) > 0 {
			rows, headed = append(rows, [4]string{"TIME", "ACTION", "WHO", "WHAT"}), true
		}
		for i := range list {
			rows = append(rows, auditRow(&list[i]))
		}
		for _, r := range rows {
			for i := range columns {
				columns[i] = max(columns[i], min(displaywidth.String(r[i]), 40))
			}
		}
		for _, r := range rows {
			var line strings.Builder
			for i, most := range columns {
				cell := cli.Fit(r[i], most)
				line.WriteString(cell + strings.Repeat(" ", most-displaywidth.String(cell)) + cli.Gap)
			}
			what := r[3]
			if width > 0 {
				what = cli.Fit(what, max(cli.LeastHeading, width-cli.Sum(columns[:])-3*len(cli.Gap)))
			}
			fmt.Fprintln(a.Stdout, strings.TrimRight(line.String()+what, " "))
		}
		return nil
	}
}

// auditRow formats a record as four cells.
func auditRow(r *audit.Record) [4]string {
	return [4]string{
		r.Time.Local().Format("2006-01-02 15:04:05"), ask.CleanLine(string(r.Action)), ask.CleanLine(auditWho(r)), ask.CleanLine(auditWhat(r)),
	}
}

// auditWho returns who acted: a person, else the agent, else a role.
func auditWho(r *audit.Record) string {
	switch a := r.Actor; {
	case a == nil:
		return "the deadline"
	case a.Principal != "":
		var by []string
		if a.Proof != "" {
			by = append(by, a.Proof)
		}
		if a.ReportedBy != "" {
			by = append(by, "says "+a.ReportedBy)
		}
		if len(by) == 0 {
			return a.Principal
		}
		return a.Principal + " (" + strings.Join(by, ", ") + ")"
	case r.Refusal != nil && r.Object != nil && r.Object.Note == "": // it was checked
		return r.Object.Kind + " " + r.Object.ID
	case a.Role == "agent" && a.Name != "":
		return a.Name
	case a.Role == "responder" && r.Surface != "":
		return r.Surface
	default:
		return a.Role
	}
}

// auditVotes says whose last votes an ask ended with: the actor of its end gave only one of them.
func auditVotes(votes []audit.Vote) string {
	said := make([]string, len(votes))
	for i, v := range votes {
		if said[i] = v.Choice + " " + v.Principal; v.For != "" {
			said[i] += " for " + v.For
		}
	}
	return strings.Join(said, ", ")
}

// auditWhat describes what a record is about.
func auditWhat(r *audit.Record) string {
	var words []string
	add := func(form string, args ...any) { words = append(words, fmt.Sprintf(form, args...)) }
	if r.Ask != "" {
		where := r.Session + "/" + r.Ask
		if r.Tenant != ask.DefaultTenant {
			where = r.Tenant + "/" + where
		}
		add("%s", where)
	}
	if d := r.Decision; d != nil { // first, because the question may be long
		if chosen := auditChosen(d); chosen != "" {
			add("→ %s", chosen)
		}
		switch e := d.Escalated; {
		case r.Action == audit.AskVoted:
			add("%s", d.Status)
		case r.Action != audit.AskEscalated || e == nil:
		case len(e.Steps) > 0:
			add("told %s", strings.Join(ask.Unresolved(e.Steps[0].Tell), ", "))
		default:
			add("looked at it, so the next step waits")
		}
		if b := d.BreakGlass; b != nil {
			add("alone (break-glass), because %q", b.Reason)
		}
		if d.Reason != "" {
			add("because %q", d.Reason)
		}
		if len(d.Votes) > 0 {
			add("(%s)", auditVotes(d.Votes))
		}
	}
	if q := r.Question; q != nil {
		text := q.Title
		if text == "" && len(q.Texts) > 0 {
			text = q.Texts[0]
		}
		add("%q", text)
	}
	if f := r.Refusal; f != nil {
		add("%s: %s, %d ×", f.What, f.Code, f.Count)
		if r.Ask == "" && r.Session != "" {
			add("in %s/%s", r.Tenant, r.Session)
		}
		if f.Why != "" {
			add("(%s)", f.Why)
		}
	}
	if o := r.Object; o != nil {
		for _, s := range []string{o.Role, o.Principal, o.ID, o.Note} {
			if s != "" && (r.Actor == nil || s != r.Actor.Principal) {
				add("%s", s)
			}
		}
	}
	if r.Lost > 0 {
		add("%d records are missing", r.Lost)
	}
	if r.Address != "" {
		add("from %s", r.Address)
	}
	return strings.Join(words, " ")
}

// auditChosen describes a decision in words.
func auditChosen(d *audit.Decision) string {
	var words []string
	for i := range d.Answers {
		answer := &d.Answers[i]
		for _, c := range answer.Choices {
			c.Label = cmp.Or(c.Label, c.ID)
			words = append(words, c.Label)
		}
		switch {
		case answer.Number != nil:
			words = append(words, fmt.Sprint(*answer.Number))
		case answer.Boolean != nil:
			words = append(words, map[bool]string{true: "yes", false: "no"}[*answer.Boolean])
		case answer.Date != "":
			words = append(words, answer.Date)
		}
		if answer.Typed {
			words = append(words, "typed text")
		}
	}
	if d.Typed {
		words = append(words, "typed text")
	}
	return strings.Join(words, ", ")
}
