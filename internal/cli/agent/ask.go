package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/askbus/askbus/internal/asking/checkout"
	"github.com/askbus/askbus/internal/cli"
	"github.com/askbus/askbus/internal/server/rights"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/card"
	"github.com/askbus/askbus/pkg/client"
	"github.com/askbus/askbus/pkg/dialect"
	"github.com/spf13/cobra"
)

// askFlags are the flags of "askbus ask".
type askFlags struct {
	file, id, title, context, agent, priority, atDeadline             string
	header, kind, defaultValue                                        string
	repository, branch, link                                          string
	minProof, callback                                                string
	approveBy, approveOptions, escalate                               []string
	escalateRepeat                                                    int
	escalateWiden                                                     bool
	denyBy, escalateHours                                             string
	questions, options, audience, asker                               []string
	excludeAsker                                                      bool
	multiple, text, noOther, optional, requireResponder, whileWaiting bool
	timeout                                                           time.Duration
	wait                                                              string
	withdraw, answerHere                                              bool
	dialect                                                           string
	attach                                                            []string
	attachFrom                                                        string

	attachments []attachment
	foreign     *dialect.Dialect  // of the file
	warnings    []dialect.Warning // about it
}

// AskCmd is "askbus ask".
func AskCmd(a *cli.App) *cobra.Command {
	var f askFlags
	cmd := &cobra.Command{
		Use:   "ask (--file ask.json | --question TEXT [--option 'LABEL|DESCRIPTION']…)",
		Short: "Ask people, and wait for the answer",
		Long: `Asks a question and waits until the ask ends. The outcome goes to standard output as
JSON (with --output text: the answer in words); everything else goes to standard
error. Ctrl-C leaves the ask pending and prints how to resume it.

` + cli.ExitCodes,
		Example: `  askbus ask --question "Which database?" --option "PostgreSQL|already deployed" --option "SQLite|one file"
  askbus ask --file examples/database.json --timeout 2h
  askbus ask --question "What should I call it?" --text --wait 0`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return fmt.Errorf("unexpected argument %q: give the question with --question", args[0])
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return runAsk(cmd.Context(), a, cmd, f) },
	}
	fl := cmd.Flags()
	fl.StringVar(&f.file, "file", "", "the ask as JSON; - reads standard input")
	fl.StringVar(&f.dialect, "dialect", "", "the shape of --file, and of the outcome as JSON: "+strings.Join(dialect.Names(), ", ")+" (default native)")
	cli.Fixed(cmd, "dialect", dialect.Names()...)
	fl.StringArrayVar(&f.attach, "attach", nil, "a file to show beside the question: PNG, JPEG, WebP, PDF or text, at most 5 MiB; repeatable, up to 8")
	fl.StringVar(&f.attachFrom, "attach-from", "", `a directory: in --file, files and options' file may be {"path": "a.png"}, and are uploaded from below it`)
	fl.StringArrayVar(&f.questions, "question", nil, "the question; repeatable, for several that are answered with text (others need --file)")
	fl.StringVar(&f.header, "header", "", "a chip of at most 12 characters")
	fl.StringArrayVar(&f.options, "option", nil, "an option, as 'label' or 'label|description'; repeatable")
	fl.BoolVar(&f.multiple, "multiple", false, "several options may be chosen")
	fl.BoolVar(&f.noOther, "no-other", false, "accept no free text")
	fl.BoolVar(&f.text, "text", false, "ask for free text")
	fl.StringVar(&f.kind, "kind", "", "choice, text, number, boolean or date (default: choice with options, else text)")
	fl.StringVar(&f.defaultValue, "default", "", "the answer that --at-deadline default uses: an option's label, or a value")
	fl.BoolVar(&f.optional, "optional", false, "the question may be skipped")
	fl.StringVar(&f.title, "title", "", "one line above the questions")
	fl.StringVar(&f.context, "context", "", "what you are doing and why you ask, in Markdown")
	fl.StringVar(&f.agent, "agent", "", "the asking agent's name")
	fl.StringVar(&f.repository, "repository", "", `repository you work on, such as acme/payments (default: from Git, with its branch and link; "" says nothing)`)
	fl.StringVar(&f.branch, "branch", "", "branch you work on")
	fl.StringVar(&f.link, "link", "", "a URL with details")
	fl.StringVar(&f.priority, "priority", "", "low, normal, high or urgent")
	fl.StringSliceVar(&f.audience, "audience", nil, `who may answer: "group:name", "schedule:name" or a principal`)
	fl.StringVar(&f.minProof, "min-proof", "", "how strongly the answering person's identity must be proven: "+strings.Join(ask.MinProofs(), ", ")+" (the last four are of one strength)")
	fl.BoolVar(&f.excludeAsker, "exclude-asker", false, "the asker may not answer: neither the principals of --asker nor people without a proven identity")
	fl.StringSliceVar(&f.asker, "asker", nil, `the asker, for --exclude-asker: a principal such as "oidc:id.example.com#mei@example.com"; repeatable (default: the user who runs this)`)
	fl.StringArrayVar(&f.approveBy, "approve-by", nil, `how many votes approve it, and whose, such as 2:group:sre or 1:os:mei,os:jo; repeatable, one is enough`)
	fl.StringVar(&f.denyBy, "deny-by", "", `how many votes deny it, and whose (default: 1 of those who may approve)`)
	fl.StringArrayVar(&f.approveOptions, "approve-option", nil, "label of an option that approves, with --approve-by; repeatable; all others deny")
	fl.StringArrayVar(&f.escalate, "escalate", nil, `while nobody decides it, whom to tell and after how long: 10m:group:oncall, "10m:os:ana,os:jo via slack", or 10m to remind; repeatable, one after the other`)
	fl.IntVar(&f.escalateRepeat, "escalate-repeat", 0, "how often the steps of --escalate begin again, at most 9 times")
	fl.StringVar(&f.escalateHours, "escalate-hours", "", "a calendar of the operator: the times of --escalate count only its open hours, and nobody is told outside them")
	fl.BoolVar(&f.escalateWiden, "escalate-widen", false, "those whom --escalate tells may then decide as well; needs --audience")
	fl.BoolVar(&f.requireResponder, "require-responder", false, "refuse if nobody has a surface open")
	fl.StringVar(&f.callback, "callback", "", "name of a callback that an operator registered: the outcome is sent there too")
	fl.BoolVar(&f.whileWaiting, "while-waiting", false, "withdraw the ask about 8 minutes after the last wait for it has ended")
	fl.StringVar(&f.id, "id", "", "id of the ask; repeating an id repeats the same ask (default: a new id)")
	fl.DurationVar(&f.timeout, "timeout", 0, "how long the ask stays open: 1s to 720h (default 720h)")
	fl.StringVar(&f.atDeadline, "at-deadline", "", "expire, or default (the declared default answers become the outcome)")
	fl.StringVar(&f.wait, "wait", "", "how long to wait for the outcome; 0 returns at once (default: until it ends)")
	cli.Fixed(cmd, "kind", "choice", "text", "number", "boolean", "date")
	cli.Fixed(cmd, "priority", "low", "normal", "high", "urgent")
	cli.Fixed(cmd, "at-deadline", "expire\tnobody answered", "default\tthe declared answers hold")
	fl.BoolVar(&f.answerHere, "answer-here", false, "also let the person at this terminal answer; has no effect on an ask with an audience")
	fl.BoolVar(&f.withdraw, "withdraw-on-interrupt", false, "Ctrl-C withdraws the ask instead of leaving it pending")
	return cmd
}

func runAsk(ctx context.Context, a *cli.App, cmd *cobra.Command, f askFlags) error {
	ctx = cli.Traced(ctx)
	wait, err := parseWait(f.wait)
	if err != nil {
		return err
	}
	if f.answerHere && !a.Interactive() {
		return cli.Usage("--answer-here needs a terminal")
	}
	q, err := f.build(cmd)
	if err != nil {
		return err
	}
	a.AnswerIn = f.foreign
	for _, w := range f.warnings {
		a.Note("askbus: warning: %s", w)
	}
	tenant, session := a.Home(&cli.Bus{})
	if at := (ask.Session{Tenant: tenant, Name: session}); !at.Valid() {
		return cli.Usage("invalid session %q: use A-Z a-z 0-9 _ - in the tenant and in the session", at)
	}
	b, err := a.DialAs(rights.Role{Name: rights.RoleAgent, Tenant: tenant, Session: session})
	if err != nil {
		return err
	}
	defer b.Close()
	tenant, session = a.Home(b)
	asks := b.Asks.Session(tenant, session)
	if q.ExcludeAsker && len(q.Asker) == 0 && !asks.HasAsker() {
		q.Asker = []string{cli.LocalUser(nil).Principal}
	}
	if err := f.upload(ctx, asks); err != nil {
		return err
	}
	send := asks.AskToWait
	if wait == 0 {
		send = asks.Ask
	}
	st, err := send(ctx, q)
	if err != nil {
		return err
	}
	k := ask.Key{Tenant: tenant, Session: session, ID: st.ID}
	for _, w := range st.Warnings {
		a.Note("askbus: warning: %s", w)
	}
	if st.Outcome != nil {
		return a.TellOutcome(st.Outcome, ask.By{})
	}
	w := waiting{a: a, asks: asks, asked: st, k: k, deadline: st.Deadline, present: st.Present, heading: card.Heading(&q), fresh: true}
	if q.Timeout > 0 || !q.Deadline.IsZero() {
		w.ends = st.Deadline
	}
	if f.answerHere {
		if w.me, err = a.Me(b); err != nil {
			return err
		}
		w.here = answerHere(a, b, cmd.InOrStdin())
		defer w.here.dialog.close()
	}
	if f.withdraw {
		w.interrupted = func(ctx context.Context) error { return withdrawInterrupted(ctx, a, asks, k) }
	}
	return w.run(ctx, wait)
}

func withdrawInterrupted(ctx context.Context, a *cli.App, asks client.Session, k ask.Key) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	o, err := asks.Withdraw(ctx, k.ID, "interrupted")
	if e, ok := errors.AsType[*ask.Error](err); ok && e.Outcome != nil {
		o, err = *e.Outcome, nil // an answer came first
	}
	if err != nil {
		return err
	}
	return a.TellOutcome(&o, ask.By{})
}

// parseWait parses --wait. A negative duration means until the ask ends.
func parseWait(s string) (time.Duration, error) {
	switch s {
	case "":
		return -1, nil
	case "0":
		return 0, nil
	}
	d, err := time.ParseDuration(s)
	if err != nil || d < 0 {
		return 0, cli.Usage(`invalid --wait %q: use a duration such as "30s", or 0`, s)
	}
	return d, nil
}

// build makes the ask from a file or from flags. Flags of the whole ask override the file.
func (f *askFlags) build(cmd *cobra.Command) (ask.Ask, error) {
	var q ask.Ask
	single := []string{"question", "header", "option", "multiple", "no-other", "text", "kind", "default", "optional"}
	switch {
	case f.file != "" && len(f.questions) > 0:
		return q, cli.Usage("give --file or --question, not both")
	case f.attachFrom != "" && (f.file == "" || f.dialect != ""):
		return q, cli.Usage("--attach-from goes with --file in native JSON")
	case f.file == "" && f.dialect != "":
		return q, cli.Usage("--dialect goes with --file")
	case cmd.Flags().Changed("timeout") && f.timeout < ask.MinTimeout:
		return q, cli.Usage("invalid --timeout %s: use 1s to 720h", f.timeout)
	case f.file == "" && len(f.questions) == 0:
		return q, cli.Usage("nothing to ask: give --question, or --file with the ask as JSON")
	case f.file != "":
		for _, name := range single {
			if cmd.Flags().Changed(name) {
				return q, cli.Usage("--%s goes with --question, not with --file", name)
			}
		}
		data, err := cli.ReadFile(f.file, cmd.InOrStdin(), ask.MaxEventBytes)
		if err != nil {
			return q, err
		}
		if data, err = f.withPaths(data); err != nil {
			return q, err
		}
		if q, err = f.read(data); err != nil {
			return q, err
		}
	default:
		for _, name := range []string{"header", "option", "multiple", "no-other", "default"} {
			if len(f.questions) > 1 && cmd.Flags().Changed(name) {
				return q, cli.Usage("--%s goes with one --question; for several give the ask with --file", name)
			}
		}
		for i, text := range f.questions {
			question, err := f.single(text)
			if err != nil {
				return q, err
			}
			question.ID = fmt.Sprintf("q%d", i+1)
			q.Questions = append(q.Questions, question)
		}
	}
	set(&q.ID, f.id)
	set(&q.Title, f.title)
	set(&q.Context, f.context)
	set(&q.Agent.Name, f.agent)
	set(&q.Agent.Repository, f.repository)
	set(&q.Agent.Branch, f.branch)
	set(&q.Agent.Link, f.link)
	if !slices.ContainsFunc([]string{"repository", "branch", "link"}, cmd.Flags().Changed) {
		checkout.Of(".").Fill(&q.Agent)
	}
	set(&q.Priority, ask.Priority(f.priority))
	set(&q.AtDeadline, ask.AtDeadline(f.atDeadline))
	if cmd.Flags().Changed("timeout") {
		q.Timeout, q.Deadline = f.timeout, time.Time{}
	}
	if len(f.audience) > 0 {
		q.Audience = f.audience
	}
	set(&q.MinProof, f.minProof)
	q.ExcludeAsker = q.ExcludeAsker || f.excludeAsker
	if len(f.asker) > 0 {
		q.Asker = f.asker
	}
	q.RequireResponder = q.RequireResponder || f.requireResponder
	q.WhileWaiting = q.WhileWaiting || f.whileWaiting
	q.Callback = cmp.Or(f.callback, q.Callback)
	if err := f.attachAll(&q, cmd); err != nil {
		return q, err
	}
	if err := f.approval(&q); err != nil {
		return q, err
	}
	return q, f.ladder(&q)
}

func set[T ~string](into *T, value T) {
	if value != "" {
		*into = value
	}
}

// labels returns the labels of options in quotes.
func labels(options []ask.Option) string {
	quoted := make([]string, len(options))
	for i := range options {
		quoted[i] = strconv.Quote(options[i].Label)
	}
	return strings.Join(quoted, ", ")
}

func (f *askFlags) single(text string) (ask.Question, error) {
	q := ask.Question{
		Text: text, Header: f.header, Kind: ask.Kind(f.kind), Multiple: f.multiple, NoOther: f.noOther, Optional: f.optional,
	}
	if f.text {
		if f.kind != "" && f.kind != string(ask.KindText) {
			return q, cli.Usage("--text and --kind %s do not go together", f.kind)
		}
		q.Kind = ask.KindText
	}
	for _, o := range f.options {
		label, description, _ := strings.Cut(o, "|")
		q.Options = append(q.Options, ask.Option{Label: strings.TrimSpace(label), Description: strings.TrimSpace(description)})
	}
	if f.defaultValue == "" {
		return q, nil
	}
	probe := ask.Ask{Questions: []ask.Question{q}}
	probe.Normalize()
	one := &probe.Questions[0]
	one.NoOther = len(one.Options) > 0 // a default has no place for Other text
	d, err := one.ParseReply(f.defaultValue)
	switch {
	case err != nil && len(one.Options) > 0:
		return q, cli.Usage("--default: %w The options are %s.", err, labels(one.Options))
	case err != nil:
		return q, cli.Usage("--default: %w", err)
	}
	d.QuestionID = ""
	q.Default = &d
	return q, nil
}
