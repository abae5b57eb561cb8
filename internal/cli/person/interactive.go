package person

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/askbus/askbus/internal/answering/prompt"
	"github.com/askbus/askbus/internal/cli"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/card"
	"github.com/askbus/askbus/pkg/responder"
	"github.com/spf13/cobra"
)

// NextCmd is "askbus next".
func NextCmd(a *cli.App) *cobra.Command {
	f := tuiFlags{once: true}
	cmd := &cobra.Command{
		Use: "next", Short: "Answer the most urgent ask, and exit", Args: cobra.NoArgs,
		Long: `Prompts for the most urgent ask that waits for you (the highest priority, then the
earlier deadline, then the older) and exits: on a screen, or a line at a time with
--accessible or without a terminal. If nothing is waiting it exits at once.

` + cli.ExitCodes,
		Example: `  askbus next
  tmux display-popup -E 'askbus next'`,
		RunE: func(cmd *cobra.Command, _ []string) error { return runTUI(a, cmd, "", f) },
	}
	f.flags(cmd)
	return cmd
}

// mine returns the asks that wait for this person, the most urgent first.
func mine(ctx context.Context, a *cli.App, b *cli.Bus) ([]ask.Record, error) {
	by, err := a.Me(b)
	if err != nil {
		return nil, err
	}
	records, err := a.Records(ctx, b, a.Session, "", ask.StatePending)
	if err != nil {
		return nil, err
	}
	var mine []ask.Record
	for rec, err := range records {
		if err != nil {
			return nil, err
		}
		if rec.Ask.Allows(by) {
			mine = append(mine, rec)
		}
	}
	slices.SortFunc(mine, inQueue)
	return mine, nil
}

// inQueue orders asks as every screen does.
func inQueue(x, y ask.Record) int {
	head := func(r *ask.Record) responder.Head {
		return responder.Head{Key: r.Ask.Key(), Priority: r.Ask.Priority, Deadline: r.Ask.Deadline, AskedAt: r.AskedAt}
	}
	return responder.Compare(head(&x), head(&y))
}

// answerOne lets a person choose one of what waits, and answer it.
func answerOne(ctx context.Context, a *cli.App, lines *prompt.Lines) error {
	b, err := a.Dial()
	if err != nil {
		return err
	}
	defer b.Close()
	k, err := pickAsk(ctx, a, b, lines)
	if err != nil || k == (ask.Key{}) {
		return err
	}
	return answerInteractively(ctx, a, b, k, lines)
}

// pickAsk lets a person choose a waiting ask. It returns the zero key if none is waiting.
func pickAsk(ctx context.Context, a *cli.App, b *cli.Bus, lines *prompt.Lines) (ask.Key, error) {
	mine, err := mine(ctx, a, b)
	if err != nil {
		return ask.Key{}, err
	}
	switch len(mine) {
	case 0:
		a.Note("%s", a.Tell("nothing is waiting"))
		return ask.Key{}, nil
	case 1:
		return mine[0].Ask.Key(), nil
	}
	if len(mine) > cli.PickMost {
		a.Note("%s", a.Tell("the %d most urgent of %d:", cli.PickMost, len(mine)))
		mine = mine[:cli.PickMost]
	}
	viewer := card.Viewer{Lang: a.Language()}
	rows := make([]card.Row, len(mine))
	for i := range mine {
		rows[i] = card.NewRow(&mine[i], viewer, time.Now())
	}
	i, err := prompt.Pick(ctx, a.Stderr, lines, viewer, rows)
	if err != nil {
		return ask.Key{}, left(err)
	}
	return mine[i].Ask.Key(), nil
}

// answerInteractively prompts for the answer to an ask until it ends elsewhere.
func answerInteractively(ctx context.Context, a *cli.App, b *cli.Bus, k ask.Key, lines *prompt.Lines) error {
	rec, err := a.Record(ctx, b, k)
	if err != nil {
		return err
	}
	if rec.Outcome != nil {
		return a.TellRecord(b, k, &rec)
	}
	r, err := a.Responder(b)
	if err != nil {
		return err
	}
	by, err := a.Me(b)
	if err != nil {
		return err
	}
	viewer := card.Viewer{By: by, Surface: b.Role.Type, Inbox: a.InboxURL(), Lang: a.Language()}
	within, faster := context.WithCancelCause(ctx)
	defer faster(nil)
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		_ = r.Watch(within, func(e responder.Event) { // if it fails, the answer reports an earlier one
			if e.Kind == responder.Resolved && e.Record.Ask.Key() == k && e.Record.Outcome != nil {
				faster(&elsewhereError{e.Record.Outcome})
			}
		})
	}()
	defer func() { faster(nil); <-watched }()
	leave, err := r.Present(k.Tenant, k.Session)
	if err == nil {
		defer leave()
	}
	view := card.New(&rec, viewer, time.Now())
	width, _ := cli.Size(a.Stderr)
	o, err := prompt.Answer(within, a.Stderr, width, lines, &rec, view, func(ctx context.Context, d prompt.Decision) (ask.Outcome, error) {
		return decideAs(context.WithoutCancel(ctx), r, k, d, by)
	})
	if ended, ok := errors.AsType[*elsewhereError](context.Cause(within)); ok && errors.Is(err, context.Canceled) {
		return tellFaster(a, &rec, ended.outcome, viewer)
	}
	if err != nil {
		return decided(a, nil, left(err))
	}
	return decided(a, &o, nil)
}

// elsewhereError ends a dialog because its ask has ended elsewhere.
type elsewhereError struct{ outcome *ask.Outcome }

func (e *elsewhereError) Error() string { return "it ended elsewhere" }

// decideAs sends a person's decision.
func decideAs(ctx context.Context, r *responder.Responder, k ask.Key, d prompt.Decision, by ask.By) (ask.Outcome, error) {
	if d.Decline {
		return r.Cancel(ctx, k, responder.Decline{Reason: d.Reason, By: by})
	}
	d.Reply.By = by
	return r.Answer(ctx, k, d.Reply)
}

// tellFaster prints the answer that came first.
func tellFaster(a *cli.App, rec *ask.Record, o *ask.Outcome, v card.Viewer) error {
	a.Note("")
	ended := *rec
	ended.State, ended.Outcome = ask.StateResolved, o
	view := card.New(&ended, v, time.Now())
	words := view.End.First
	if words == "" {
		words = view.End.Text()
	}
	return fmt.Errorf("%s: %w", words, ask.ErrResolved)
}

// left maps the error of a dialog that the person left.
func left(err error) error {
	if errors.Is(err, prompt.ErrLeft) || errors.Is(err, context.Canceled) || errors.Is(err, io.EOF) {
		return &cli.ExitError{Code: cli.ExitPending, Err: nil}
	}
	return err
}
