package agent

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/askbus/askbus/internal/answering/prompt"
	"github.com/askbus/askbus/internal/cli"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/card"
)

// answersHere lets the person at the asking terminal answer there, in addition to all other
// surfaces.
type answersHere struct {
	dialog *hostDialog
	lines  *prompt.Lines
}

// answerHere returns an answersHere that reads stdin.
func answerHere(a *cli.App, b *cli.Bus, stdin io.Reader) *answersHere {
	return &answersHere{&hostDialog{lazy: &lazyBus{a: a, b: b}, typ: cli.SurfaceType}, prompt.Read(stdin)}
}

// race waits for the outcome and prompts here meanwhile; the first answer counts.
func (w *waiting) race(ctx context.Context) (ask.Outcome, error) {
	rec, err := w.asks.Get(ctx, w.k.ID)
	if err != nil {
		return ask.Outcome{}, err
	}
	if rec.Outcome != nil {
		return *rec.Outcome, nil
	}
	within, faster := context.WithCancel(ctx)
	defer faster()
	type end struct {
		outcome ask.Outcome
		err     error
	}
	elsewhere := make(chan end, 1)
	go func() {
		o, err := w.asked.Wait(ctx)
		elsewhere <- end{o, err}
		faster()
	}()
	by := cli.LocalUser(nil)
	by.Proof, by.Responder = ask.ProofAskerTerminal, ask.ResponderCLI
	viewer := card.Viewer{By: by, Surface: cli.SurfaceType, Inbox: w.a.InboxURL(), Lang: w.a.Language(), Zone: time.Local}
	width, _ := cli.Size(w.a.Stderr)
	_, err = prompt.Answer(within, w.a.Stderr, width, w.here.lines, &rec, card.New(&rec, viewer, time.Now()), func(ctx context.Context, d prompt.Decision) (ask.Outcome, error) {
		return w.here.send(context.WithoutCancel(ctx), w.k, d, by)
	})
	switch {
	case err == nil, errors.Is(err, ask.ErrResolved): // the wait reports it
	case errors.Is(err, prompt.ErrLeft), errors.Is(err, io.EOF):
		w.a.Note("waiting for others to answer")
	case within.Err() == nil:
		w.a.Note("askbus: cannot answer here: %v", err)
	}
	e := <-elsewhere
	if e.err == nil && e.outcome.By != nil && e.outcome.By.Proof != ask.ProofAskerTerminal {
		ended := rec
		ended.State, ended.Outcome = ask.StateResolved, &e.outcome
		w.a.Note("\n%s", card.NewEnd(&ended, viewer, time.Now()).Sentence)
	}
	return e.outcome, e.err
}

func (h *answersHere) send(ctx context.Context, k ask.Key, d prompt.Decision, by ask.By) (ask.Outcome, error) {
	d.Reply.By = by
	if d.Decline {
		return h.dialog.Decline(ctx, k, d.Reply, d.Reason)
	}
	return h.dialog.Answer(ctx, k, d.Reply)
}
