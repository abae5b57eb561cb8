package agent

import (
	"slices"
	"strconv"
	"strings"

	"github.com/askbus/askbus/internal/cli"
	"github.com/askbus/askbus/pkg/ask"
)

// approval adds the approval of the flags to an ask. A question without options
// becomes a yes/no.
func (f *askFlags) approval(q *ask.Ask) error {
	if len(f.approveBy) == 0 {
		if f.denyBy != "" || len(f.approveOptions) > 0 {
			return cli.Usage("--deny-by and --approve-option need --approve-by")
		}
		return nil
	}
	p := &ask.Approval{}
	for _, by := range f.approveBy {
		need, from, err := votesOf("approve-by", by)
		if err != nil {
			return err
		}
		p.AnyOf = append(p.AnyOf, ask.Alternative{Need: need, From: from})
	}
	if f.denyBy != "" {
		need, from, err := votesOf("deny-by", f.denyBy)
		if err != nil {
			return err
		}
		p.Deny = &ask.Denial{Need: need, From: from}
	}
	q.Approval = p
	if len(q.Questions) != 1 || f.file != "" {
		p.ApproveOptions = f.approveOptions
		return nil // the broker says what is wrong with it
	}
	question := &q.Questions[0]
	if len(question.Options) == 0 {
		if !f.text && f.kind == "" {
			question.Kind = ask.KindBoolean
		}
		return nil
	}
	question.NoOther = true
	q.Normalize()
	for _, label := range f.approveOptions {
		i := slices.IndexFunc(question.Options, func(o ask.Option) bool { return o.Label == label || o.ID == label })
		if i < 0 {
			return cli.Usage("--approve-option %q is not an option; use the label of one", label)
		}
		p.ApproveOptions = append(p.ApproveOptions, question.Options[i].ID)
	}
	if len(p.ApproveOptions) == 0 {
		return cli.Usage("say which options approve, with --approve-option LABEL")
	}
	return nil
}

// votesOf reads "2:group:sre,os:ana": a number and the people whose votes count.
// Without a number it is one, and without people everybody counts.
func votesOf(flag, s string) (need int, from []string, err error) {
	count, people, _ := strings.Cut(s, ":")
	if need, err = strconv.Atoi(count); err != nil {
		need, people = 1, s
	}
	if need < 1 {
		return 0, nil, cli.Usage("--%s %q: give a number of votes of 1 or more and whose they are, such as 2:group:sre or 1:os:mei,os:jo", flag, s)
	}
	if people != "" {
		from = strings.Split(people, ",")
	}
	return need, from, nil
}
