package agent

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/askbus/askbus/internal/cli"
	"github.com/askbus/askbus/internal/protocol/wire"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/client"
)

// waiting is a command that waits for an outcome.
type waiting struct {
	a        *cli.App
	asks     client.Session
	asked    client.Asked
	k        ask.Key
	deadline time.Time
	ends     time.Time // the declared deadline, if any
	present  []string
	heading  string // the question in one line
	fresh    bool   // asked just now

	here *answersHere // nil: no answering at this terminal
	me   ask.By       // who is at this terminal and may answer; zero: nobody

	// interrupted, if set, handles Ctrl-C instead of printing the status.
	interrupted func(ctx context.Context) error
}

// run waits for the given time (negative: until the ask ends) and prints the outcome, or the status
// and how to resume.
func (w *waiting) run(ctx context.Context, wait time.Duration) error {
	ctx = cli.Traced(ctx)
	if wait != 0 {
		waitCtx, cancel := ctx, context.CancelFunc(func() {})
		if wait > 0 {
			waitCtx, cancel = context.WithTimeout(ctx, wait)
		}
		defer cancel()
		o, err := w.wait(waitCtx)
		if err == nil {
			return w.a.TellOutcome(&o, w.me)
		}
		if !errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, context.Canceled) {
			return err
		}
	}
	if ctx.Err() != nil && w.interrupted != nil {
		return w.interrupted(context.WithoutCancel(ctx))
	}
	return w.pending(context.WithoutCancel(ctx))
}

// wait waits for the outcome and reports to the terminal that a person is needed.
func (w *waiting) wait(ctx context.Context) (ask.Outcome, error) {
	defer w.a.Needed().Waiting(w.heading)()
	if w.here != nil {
		return w.race(ctx)
	}
	defer w.show(ctx)()
	return w.asked.Wait(ctx)
}

// pending prints the status of a pending ask.
func (w *waiting) pending(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	s := wire.StatusReply{State: ask.StatePending, Key: w.k, Deadline: w.deadline, Present: w.present}
	if rec, err := w.asks.Get(ctx, w.k.ID); err == nil {
		if rec.Outcome != nil {
			return w.a.TellOutcome(rec.Outcome, w.me) // ended just now
		}
		s.AskedAt, s.Life, s.Seq, s.Deadline, s.Receipts = rec.AskedAt, rec.Life, rec.Seq, rec.Ask.Deadline, rec.Receipts
		s.Votes, s.Escalated, s.Progress = rec.Votes, rec.Escalated, rec.Waits("", time.Now())
	}
	if s.Progress != "" {
		w.a.Note("%s", ask.CleanLine(s.Progress))
	}
	if w.a.JSON() {
		data, err := wire.EncodeStatus(&s)
		if err != nil {
			return err
		}
		w.a.PrintJSON(data)
	}
	w.a.Note("still pending; resume with: %s", w.a.Command("wait", w.k))
	return cli.Exit(cli.ExitPending)
}

// show tells a person at a terminal what the command waits for.
func (w *waiting) show(ctx context.Context) (stop func()) {
	a := w.a
	if !cli.IsTerminal(a.Stderr) {
		a.Note("waiting for %s/%s%s", w.k.Session, w.k.ID, w.until())
		return func() {}
	}
	if url := askLink(a, w.k); url != "" {
		a.Note("answer it at %s, or with: %s", url, a.Command("answer", w.k))
	}
	if w.fresh && len(w.present) == 0 {
		a.Note("nobody has an inbox open right now; \"%s\" prints a link to it", a.Hint("login"))
	}
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		w.spin(ctx)
	}()
	return func() { cancel(); <-done }
}

func (w *waiting) until() string {
	if w.ends.IsZero() {
		return ""
	}
	return ", until " + w.ends.Local().Format("2 Jan 15:04:05")
}

// spin draws a spinner and the elapsed time.
func (w *waiting) spin(ctx context.Context) {
	frames := []rune("⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏")
	began := time.Now()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for i := 0; ; i++ {
		left := ""
		if d := time.Until(w.ends); !w.ends.IsZero() && d > 0 && d < 48*time.Hour {
			left = ", ends in " + d.Round(time.Second).String()
		}
		line := fmt.Sprintf("%c waiting for a human: %s%s", frames[i%len(frames)], time.Since(began).Round(time.Second), left)
		if width, _ := cli.Size(w.a.Stderr); width > 1 { // a line that wraps cannot be drawn over
			line = cli.Fit(line, width-1)
		}
		fmt.Fprint(w.a.Stderr, "\r\x1b[K"+line)
		select {
		case <-ctx.Done():
			fmt.Fprint(w.a.Stderr, "\r\x1b[K")
			return
		case <-tick.C:
		}
	}
}
