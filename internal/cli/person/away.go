package person

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/askbus/askbus/internal/bus/state"
	"github.com/askbus/askbus/internal/cli"
	"github.com/askbus/askbus/internal/protocol/subject"
	"github.com/askbus/askbus/internal/server/rights"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/responder"
	"github.com/spf13/cobra"
)

type awayFlags struct {
	until, forMe, of string
	tenants          []string
	end              bool
}

// AwayCmd is "askbus away".
func AwayCmd(a *cli.App) *cobra.Command {
	var f awayFlags
	cmd := &cobra.Command{
		Use: "away [--until WHEN --for-me PERSON | --end]", Short: "Say who stands in for you while you are away, or list who does for whom",
		Long: `Says who decides asks for you until you are back: in every tenant, or in those of
--tenant. That person has your rights, including those of your groups, where they have none
of their own; each answer says for whom it was given. Somebody whom an ask excludes, such as
its asker, cannot decide it in this way. Without flags it lists who stands in for whom.
--end ends your own; an operator ends those of others with --end --of.`,
		Example: `  askbus away --until friday --for-me os:ana
  askbus away --until 2026-12-04T18:00:00+01:00 --for-me oidc:id.example.com#ana@example.com --tenant acme
  askbus away
  askbus away --end`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			switch {
			case f.end && (f.until != "" || f.forMe != ""):
				return cli.Usage("--end goes with neither --until nor --for-me")
			case (f.until == "") != (f.forMe == ""):
				return cli.Usage("give both --until and --for-me: until when are you away, and who stands in")
			case f.of != "" && !f.end:
				return cli.Usage("--of goes with --end")
			}
			dial := a.Dial
			if f.of != "" {
				dial = a.DialOperator
			}
			b, err := dial()
			if err != nil {
				return err
			}
			defer b.Close()
			switch {
			case f.of != "":
				return endOf(cmd.Context(), a, b, f)
			case f.end || f.until != "":
				return setAway(cmd.Context(), a, b, f, time.Now())
			}
			return listAway(cmd.Context(), a, b)
		},
	}
	fl := cmd.Flags()
	fl.StringVar(&f.until, "until", "", "a day (friday, 2026-12-04: to its end), a time, or a duration such as 72h; at most 90 days")
	fl.StringVar(&f.forMe, "for-me", "", "who stands in: a principal such as os:ana, or a name of the operator's list of people")
	fl.StringArrayVar(&f.tenants, "tenant", nil, "only in this tenant; may be repeated")
	fl.BoolVar(&f.end, "end", false, "you are back: end it, in all tenants or those of --tenant")
	fl.StringVar(&f.of, "of", "", "operators: end those of this principal")
	return cmd
}

func setAway(ctx context.Context, a *cli.App, b *cli.Bus, f awayFlags, now time.Time) error {
	r, by, err := a.Answering(b)
	if err != nil {
		return err
	}
	if f.end {
		return endMine(ctx, a, r, by, f.tenants)
	}
	until, err := day(f.until, now)
	if err != nil {
		return err
	}
	if len(f.tenants) == 0 {
		f.tenants = []string{""}
	}
	for _, tenant := range f.tenants {
		s, err := r.Away(ctx, responder.Away{By: by, To: f.forMe, Tenant: tenant, Until: until})
		if err != nil {
			return err
		}
		a.Note("%s stands in for %s%s until %s", ask.CleanLine(s.By), ask.CleanLine(s.Absent.Called("")), ofTenant(s.Tenant), s.Until.Local().Format("Mon 2006-01-02 15:04"))
	}
	return nil
}

func ofTenant(tenant string) string {
	if tenant == "" {
		return ""
	}
	return " in tenant " + tenant
}

func endMine(ctx context.Context, a *cli.App, r *responder.Responder, by ask.By, tenants []string) error {
	all, err := r.StandIns(ctx)
	if err != nil {
		return err
	}
	ended := 0
	for _, s := range all {
		if s.Absent.Principal != by.Principal || !covers(tenants, s.Tenant) {
			continue
		}
		if _, err := r.Away(ctx, responder.Away{By: by, To: s.By, Tenant: s.Tenant}); err != nil {
			return err
		}
		a.Note("%s no longer stands in for you%s", ask.CleanLine(s.By), ofTenant(s.Tenant))
		ended++
	}
	if ended == 0 {
		a.Note("nobody stands in for you")
	}
	return nil
}

// covers reports whether a tenant is one of those that are named; none: all.
func covers(tenants []string, tenant string) bool {
	return len(tenants) == 0 || slices.Contains(tenants, tenant)
}

// endOf ends the stand-ins of somebody else, as an operator.
func endOf(ctx context.Context, a *cli.App, b *cli.Bus, f awayFlags) error {
	if b.Role.Name != rights.RoleOperator {
		return cli.Usage("only operators end those of others; without --of it ends yours")
	}
	bucket := state.Open(b.NC, state.Operator(), state.StandIns)
	all, err := state.ListStandIns(ctx, bucket)
	if err != nil {
		return err
	}
	ended := 0
	for _, s := range all {
		if s.Absent.Principal != f.of || !covers(f.tenants, s.Tenant) {
			continue
		}
		if err := bucket.Delete(ctx, subject.StandInKey(s.Tenant, s.By, s.Absent.Principal)); err != nil {
			return err
		}
		a.Note("%s no longer stands in for %s%s", ask.CleanLine(s.By), ask.CleanLine(f.of), ofTenant(s.Tenant))
		ended++
	}
	if ended == 0 {
		return ask.Refuse(ask.CodeNotFound, "nobody stands in for %s; \"askbus away\" lists who does for whom", f.of)
	}
	return nil
}

// standIns returns who stands in for whom now. A credential of one session cannot read it.
func standIns(ctx context.Context, b *cli.Bus) ([]ask.StandIn, error) {
	role := state.Responder(b.Role.Type, b.Role.Tenant)
	switch {
	case b.Role.Name == rights.RoleOperator:
		role = state.Operator()
	case b.Role.Name != rights.RoleResponder || b.Role.Session != "":
		return nil, nil
	}
	return state.ListStandIns(ctx, state.Open(b.NC, role, state.StandIns))
}

func listAway(ctx context.Context, a *cli.App, b *cli.Bus) error {
	all, err := standIns(ctx, b)
	if err != nil {
		return err
	}
	if len(all) == 0 && !a.JSON() {
		a.Note("nobody is away")
		return nil
	}
	type line struct {
		Absent string    `json:"absent"`
		Name   string    `json:"name,omitempty"`
		By     string    `json:"stand_in"`
		Tenant string    `json:"tenant,omitempty"`
		Since  time.Time `json:"since"`
		Until  time.Time `json:"until"`
	}
	lines := make([]line, 0, len(all))
	for _, s := range all {
		lines = append(lines, line{s.Absent.Principal, s.Absent.Name, s.By, s.Tenant, s.Since, s.Until})
	}
	return cli.TellList(a, lines, "AWAY\tSTAND-IN\tTENANT\tUNTIL", lines, func(l *line) []string {
		return []string{l.Absent, l.By, cmp.Or(l.Tenant, "all"), l.Until.Local().Format("Mon 2006-01-02 15:04")}
	})
}

// day returns until when somebody is away: the end of a day, a time, or after a
// duration.
func day(said string, now time.Time) (time.Time, error) {
	if d, err := time.ParseDuration(said); err == nil && d > 0 {
		return now.Add(d), nil
	}
	if at, err := time.Parse(time.RFC3339, said); err == nil {
		return at, nil
	}
	endOf := func(at time.Time) time.Time {
		return time.Date(at.Year(), at.Month(), at.Day()+1, 0, 0, 0, 0, now.Location())
	}
	if at, err := time.ParseInLocation(time.DateOnly, said, now.Location()); err == nil {
		return endOf(at), nil
	}
	switch strings.ToLower(said) {
	case "today":
		return endOf(now), nil
	case "tomorrow":
		return endOf(now.AddDate(0, 0, 1)), nil
	}
	for n := range 7 { // the next such day; today is one of them
		if at := now.AddDate(0, 0, n); strings.EqualFold(at.Weekday().String(), said) || strings.EqualFold(at.Weekday().String()[:3], said) {
			return endOf(at), nil
		}
	}
	return time.Time{}, cli.Usage("invalid --until %q: give a day such as friday or 2026-12-04, a time such as 2026-12-04T18:00:00+01:00, or a duration such as 72h", said)
}
