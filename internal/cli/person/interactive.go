package person

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sort"
	"time"

	"github.com/askbus/askbus/internal/answering/prompt"
	"github.com/askbus/askbus/internal/cli"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/board"
	"github.com/askbus/askbus/pkg/card"
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
	away, err := standIns(ctx, b)
	if err != nil {
		return nil, err
	}
	var mine []ask.Record
	for rec, err := range records {
		if err != nil {
			return nil, err
		}
		if _, may := rec.Ask.As(by, away, time.Now()); may {
			mine = append(mine, rec)
		}
	}
	sort.Slice(mine, func(i, j int) bool { return inQueue(mine[i], mine[j]) < 0 })
	return mine, nil
}

// inQueue orders asks as every screen does.
func inQueue(x, y ask.Record) int {
	head := func(r *ask.Record) board.Head {
		return board.Head{Key: r.Ask.Key(), Priority: r.Ask.Priority, Deadline: r.Ask.Deadline, AskedAt: r.AskedAt}
	}
	return board.Compare(head(&x), head(&y))
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
	viewer := card.Viewer{Lang: a.Language(), Zone: time.Local}
	rows := make([]card.Row, len(mine))
	for i := range mine {
		rows[i] = card.NewRow(&mine[i], viewer, time.Now())
	}
	width, _ := cli.Size(a.Stderr)
	i, err := prompt.Pick(ctx, prompt.Wrapped(a.Stderr, width), lines, viewer, rows)
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
	r, by, err := a.Answering(b)
	if err != nil {
		return err
	}
	away, err := standIns(ctx, b)
	if err != nil {
		return err
	}
	viewer := card.Viewer{By: by, StandIns: func(ask.By) []ask.StandIn { return away }, Surface: b.Role.Type, Inbox: a.InboxURL(), Lang: a.Language(), Zone: time.Local}
	width, _ := cli.Size(a.Stderr)
	o, err := prompt.Decide(ctx, prompt.Wrapped(a.Stderr, width), width, lines, r, &rec, viewer)
	if ended, ok := errors.AsType[*prompt.EndedError](err); ok {
		a.Note("")
		return fmt.Errorf("%s: %w", ended.Words, ask.ErrResolved)
	}
	if err != nil {
		return decided(a, &rec, by, nil, left(err))
	}
	return decided(a, &rec, by, &o, nil)
}

// left maps the error of a dialog that the person left.
func left(err error) error {
	if errors.Is(err, prompt.ErrLeft) || errors.Is(err, context.Canceled) || errors.Is(err, io.EOF) {
		return &cli.ExitError{Code: cli.ExitPending, Err: nil}
	}
	return err
}
