package cli

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/askbus/askbus/internal/protocol/wire"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/card"
	"github.com/askbus/askbus/pkg/dialect"
)

// Card returns the ask as shown to the person at this command line.
func (a *App) Card(rec *ask.Record, by ask.By) *card.Card {
	return card.New(rec, card.Viewer{By: by, Inbox: a.InboxURL(), Lang: a.Language(), Zone: time.Local}, time.Now())
}

// printIn prints an outcome for programs in the dialect of the ask.
func (a *App) printIn(d *dialect.Dialect, o *ask.Outcome) {
	resp := d.Answer(o.Ask, o)
	if strings.Contains(resp.Header["Content-Type"], "json") {
		a.PrintJSON(resp.Body)
		return
	}
	fmt.Fprintln(a.Stdout, ask.CleanText(string(resp.Body)))
}

// WithAsk connects and finds one ask.
func (a *App) WithAsk(ctx context.Context, ref string, do func(*Bus, ask.Key) error) error {
	b, err := a.Dial()
	if err != nil {
		return err
	}
	defer b.Close()
	k, err := a.Find(ctx, b, ref)
	if err != nil {
		return err
	}
	return do(b, k)
}

// TellRecord prints an ask with its state. Its exit code is that of the outcome.
func (a *App) TellRecord(b *Bus, k ask.Key, rec *ask.Record) error {
	code := ExitPending
	if rec.Outcome != nil {
		code = outcomeCode(rec.Outcome)
	}
	if a.JSON() {
		data, err := wire.EncodeStatus(&wire.StatusReply{
			State: rec.State, Key: k, AskedAt: rec.AskedAt, Deadline: rec.Ask.Deadline, Life: rec.Life, Seq: rec.Seq, Ask: &rec.Ask, Outcome: rec.Outcome, Receipts: rec.Receipts,
			Votes: rec.Votes, Escalated: rec.Escalated, Progress: rec.Waits("", time.Now()),
		})
		if err != nil {
			return err
		}
		a.PrintJSON(data)
		return Exit(code)
	}
	by, err := a.Me(b)
	if err != nil {
		return err
	}
	view := a.Card(rec, by)
	fmt.Fprintf(a.Stdout, "%s/%s\n\n%s", k.Session, k.ID, view.Text())
	if rec.Outcome != nil { // a card has no words for files in answers: screens show them
		for i := range rec.Outcome.Answers {
			fmt.Fprint(a.Stdout, ask.CleanText(fileLines(k.Session, &rec.Outcome.Answers[i])))
		}
	}
	fmt.Fprintln(a.Stdout)
	if view.May.Answer {
		fmt.Fprintf(a.Stdout, "Answer it with: %s\n", a.Command("answer", k))
	}
	return Exit(code)
}

// Line returns s on one line of at most so many characters.
func Line(s string, most int) string {
	return ask.Clip(ask.CleanLine(s), most)
}

// Accepted prints the outcome that this person caused by a command: the exit code is 0.
func (a *App) Accepted(o *ask.Outcome, me ask.By) error {
	if err := a.TellOutcome(o, me); ExitCode(err) == ExitFailure {
		return err
	}
	return nil
}

// TellOutcome prints an outcome for a person, or for a program if me is zero. It returns its exit code as an error.
func (a *App) TellOutcome(o *ask.Outcome, me ask.By) error {
	if a.AnswerIn != nil && o.Ask != nil && a.JSON() {
		a.printIn(a.AnswerIn, o)
	} else if a.JSON() {
		data, err := wire.EncodeOutcome(o, nil)
		if err != nil {
			return err
		}
		a.PrintJSON(data)
	} else {
		fmt.Fprintln(a.Stdout, ask.CleanText(AnswerWords(o)))
	}
	a.Note("%s", a.sentence(o, me))
	return Exit(outcomeCode(o))
}
