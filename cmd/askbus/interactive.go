package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/askbus/askbus/internal/present"
	"github.com/askbus/askbus/internal/prompt"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/responder"
	"github.com/spf13/cobra"
)

// pickMost limits how many asks are offered for selection.
const pickMost = 50

func (a *app) nextCmd() *cobra.Command {
	f := tuiFlags{once: true}
	cmd := &cobra.Command{
		Use: "next", Short: "Answer the most urgent ask, and exit", Args: cobra.NoArgs,
		Long: `Prompts for the most urgent ask that waits for you (the highest priority, then the
earlier deadline, then the older) and exits: on a screen, or a line at a time with
--accessible or without a terminal. If nothing is waiting it exits at once.

` + exitCodes,
		Example: `  askbus next
  tmux display-popup -E 'askbus next'`,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.runTUI(cmd, "", f) },
	}
	f.flags(cmd)
	return cmd
}

// mine returns the asks that wait for this person, the most urgent first.
func (a *app) mine(ctx context.Context, b *bus) ([]ask.Record, error) {
	by, err := a.me(b)
	if err != nil {
		return nil, err
	}
	records, err := a.records(ctx, b, a.session, "", ask.StatePending)
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
func (a *app) answerOne(ctx context.Context, lines *prompt.Lines) error {
	b, err := a.dial()
	if err != nil {
		return err
	}
	defer b.close()
	k, err := a.pickAsk(ctx, b, lines)
	if err != nil || k == (ask.Key{}) {
		return err
	}
	return a.answerInteractively(ctx, b, k, lines)
}

// pickAsk lets a person choose a waiting ask. It returns the zero key if none is waiting.
func (a *app) pickAsk(ctx context.Context, b *bus, lines *prompt.Lines) (ask.Key, error) {
	mine, err := a.mine(ctx, b)
	if err != nil {
		return ask.Key{}, err
	}
	switch len(mine) {
	case 0:
		a.say("%s", a.tell("nothing is waiting"))
		return ask.Key{}, nil
	case 1:
		return mine[0].Ask.Key(), nil
	}
	if len(mine) > pickMost {
		a.say("%s", a.tell("the %d most urgent of %d:", pickMost, len(mine)))
		mine = mine[:pickMost]
	}
	viewer := present.Viewer{Lang: a.language()}
	rows := make([]present.Row, len(mine))
	for i := range mine {
		rows[i] = present.NewRow(&mine[i], viewer, time.Now())
	}
	i, err := prompt.Pick(ctx, a.err, lines, viewer, rows)
	if err != nil {
		return ask.Key{}, left(err)
	}
	return mine[i].Ask.Key(), nil
}

// answerInteractively prompts for the answer to an ask until it ends elsewhere.
func (a *app) answerInteractively(ctx context.Context, b *bus, k ask.Key, lines *prompt.Lines) error {
	rec, err := a.record(ctx, b, k)
	if err != nil {
		return err
	}
	if rec.Outcome != nil {
		return a.tellRecord(b, k, &rec)
	}
	r, err := a.responder(b)
	if err != nil {
		return err
	}
	by, err := a.me(b)
	if err != nil {
		return err
	}
	viewer := present.Viewer{By: by, Surface: b.role.Type, Inbox: a.inboxURL(), Lang: a.language()}
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
	card := present.New(&rec, viewer, time.Now())
	width, _ := size(a.err)
	o, err := prompt.Answer(within, a.err, width, lines, &rec, card, func(ctx context.Context, d prompt.Decision) (ask.Outcome, error) {
		return decideAs(context.WithoutCancel(ctx), r, k, d, by)
	})
	if ended, ok := errors.AsType[*elsewhereError](context.Cause(within)); ok && errors.Is(err, context.Canceled) {
		return a.tellFaster(&rec, ended.outcome, viewer)
	}
	if err != nil {
		return a.decided(nil, left(err))
	}
	return a.decided(&o, nil)
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
func (a *app) tellFaster(rec *ask.Record, o *ask.Outcome, v present.Viewer) error {
	a.say("")
	ended := *rec
	ended.State, ended.Outcome = ask.StateResolved, o
	card := present.New(&ended, v, time.Now())
	words := card.End.First
	if words == "" {
		words = card.End.Text()
	}
	return fmt.Errorf("%s: %w", words, ask.ErrResolved)
}

// left maps the error of a dialog that the person left.
func left(err error) error {
	if errors.Is(err, prompt.ErrLeft) || errors.Is(err, context.Canceled) || errors.Is(err, io.EOF) {
		return &exitError{exitPending, nil}
	}
	return err
}

// interactive reports whether this process can prompt a person.
func (a *app) interactive() bool { return isTerminal(os.Stdin) && isTerminal(a.err) }

// shortened finds the one ask whose name begins or ends with ref. Waiting asks take precedence over
// ended ones.
func (a *app) shortened(ctx context.Context, b *bus, ref string) (ask.Key, bool, error) {
	for _, state := range []ask.State{ask.StatePending, ask.StateResolved} {
		records, err := a.records(ctx, b, a.session, "", state)
		if err != nil {
			return ask.Key{}, false, err
		}
		found := map[ask.Key]bool{}
		var last ask.Key
		for rec, err := range records {
			if err != nil {
				return ask.Key{}, false, err
			}
			if k := rec.Ask.Key(); meant(k, ref) {
				found[k], last = true, k
			}
			if len(found) > pickMost {
				break
			}
		}
		switch {
		case len(found) == 1:
			return last, true, nil
		case len(found) > 1:
			names := make([]string, 0, len(found))
			for k := range found {
				names = append(names, k.Session+"/"+k.ID)
			}
			slices.Sort(names)
			most := names[:min(len(names), 10)]
			return ask.Key{}, false, usage("%q matches %d asks; name one of %s", ref, len(names), strings.Join(most, ", "))
		}
	}
	return ask.Key{}, false, nil
}

// meant reports whether ref may abbreviate k.
func meant(k ask.Key, ref string) bool {
	if session, id, both := strings.Cut(ref, "/"); both {
		return k.Session == session && (strings.HasPrefix(k.ID, id) || strings.HasSuffix(k.ID, id))
	}
	return strings.HasPrefix(k.ID, ref) || strings.HasSuffix(k.ID, ref)
}
