package agent

import (
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/askbus/askbus/internal/cli"
	"github.com/askbus/askbus/internal/protocol/wire"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/spf13/cobra"
)

// ApprovalsCmd has the commands about asks that people decide together.
func ApprovalsCmd(a *cli.App) *cobra.Command {
	cmd := &cobra.Command{Use: "approvals", Short: "Check asks that several people decide", Example: "  askbus approvals check ask.json"}
	cmd.AddCommand(&cobra.Command{
		Use:     "check FILE",
		Short:   "Say whose votes decide an ask, without asking it",
		Long:    "Reads an ask as JSON, checks it as a broker does, and says whose votes would decide it and whether yours would count.",
		Example: "  askbus approvals check ask.json",
		Args:    cobra.ExactArgs(1),
		RunE:    func(_ *cobra.Command, args []string) error { return checkApproval(a, args[0]) },
	})
	return cmd
}

func checkApproval(a *cli.App, file string) error {
	data, err := os.ReadFile(file)
	if err != nil {
		return fmt.Errorf("read the ask: %w", err)
	}
	q, err := wire.DecodeAsk(data)
	if err != nil {
		return err
	}
	if q.ID == "" {
		q.ID = "check"
	}
	q.Normalize()
	if err := q.Validate(time.Now()); err != nil {
		return err
	}
	if q.Approval == nil {
		fmt.Fprintln(a.Stdout, "It has no approval: the first answer decides it.")
		return nil
	}
	for i, alt := range q.Approval.AnyOf {
		word := "Approved by"
		if i > 0 {
			word = "or by"
		}
		fmt.Fprintf(a.Stdout, "%s %s\n", word, ask.CleanLine(alternative(&alt)))
	}
	deny := "Denied by 1 of those who may approve"
	if d := q.Approval.Deny; d != nil {
		deny = fmt.Sprintf("Denied by %d of %s", d.Need, people(d.From))
	}
	fmt.Fprintln(a.Stdout, ask.CleanLine(deny))
	if out := append(append([]string{}, q.Exclude...), excludedAsker(&q)...); len(out) > 0 {
		fmt.Fprintf(a.Stdout, "Not by %s\n", ask.CleanLine(strings.Join(out, ", ")))
	}
	me := cli.LocalUser(nil)
	why := "may vote"
	switch {
	case q.Excludes(me):
		why = "may not vote: the ask excludes this person"
	case !q.Allows(me):
		why = "may not vote: neither this person nor one of their groups is named"
	case !me.Proves(q.MinProof):
		why = "may not vote here: the ask " + ask.Needs("", q.MinProof)
	}
	fmt.Fprintf(a.Stdout, "You, %s, %s\n", ask.CleanLine(me.Principal), why)
	return nil
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
	return strings.Join(from, ", ")
}
