package prompt

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/card"
	"github.com/clipperhouse/displaywidth"
)

// Decision is a person's reply, or a decline.
type Decision struct {
	Reply   ask.Reply
	Decline bool
	Reason  string // with Decline
	// TakeBack takes the person's vote back, on an ask that several people decide.
	TakeBack bool
}

// Send sends a decision. Its errors are those of pkg/responder: with [ask.ErrInvalid] the invalid
// questions are asked again.
type Send func(ctx context.Context, d Decision) (ask.Outcome, error)

// ErrLeft reports that the person left the ask open.
var ErrLeft = errors.New("the ask stays open")

// contextLines is how many lines of an agent's context are printed without a request.
const contextLines = 6

// Answer prompts for the answer to a pending ask until it is sent. Width is the terminal's in
// cells; with 0 it prints previews below each other. The error is [ErrLeft], or that of ctx, of
// lines, or of send.
func Answer(ctx context.Context, out io.Writer, width int, lines *Lines, rec *ask.Record, view *card.Card, send Send) (ask.Outcome, error) {
	d := dialog{out: out, width: width, lines: lines, ask: &rec.Ask, card: view, draft: view.Draft()}
	d.introduce()
	if !view.May.Answer && view.BreakGlass == nil {
		return ask.Outcome{}, ErrLeft
	}
	open := make([]int, len(view.Questions))
	for i := range open {
		open[i] = i
	}
	for {
		decision, err := d.decide(ctx, open)
		if err != nil {
			return ask.Outcome{}, err
		}
		if !view.May.Answer && !decision.TakeBack && decision.Reply.BreakGlass == nil {
			d.print(view.May.Why)
			d.say("/break-glass decides it alone; /quit leaves it open.")
			continue
		}
		if sure, err := d.sure(ctx, decision); err != nil {
			return ask.Outcome{}, err
		} else if !sure {
			continue
		}
		o, err := send(ctx, decision)
		refused, ok := errors.AsType[*ask.Error](err)
		if !ok || refused.Code != ask.CodeInvalid {
			return o, err
		}
		again := view.Faults(refused.Faults)
		d.print(view.NotSent(again))
		open = d.wrong(again)
	}
}

// sure asks again for a decision with destructive options.
func (d *dialog) sure(ctx context.Context, one Decision) (bool, error) {
	if one.Reply.BreakGlass != nil {
		return d.sureAlone(ctx, one)
	}
	chosen := d.card.Destructive(one.Reply.Answers)
	if chosen == "" {
		return true, nil
	}
	d.say("“%s” is destructive. Type confirm to choose it; anything else goes back.", chosen)
	typed, err := d.read(ctx)
	return strings.EqualFold(strings.TrimSpace(typed), "confirm"), err
}

// dialog is the state of one Answer.
type dialog struct {
	out   io.Writer
	width int
	lines *Lines
	ask   *ask.Ask
	card  *card.Card
	draft *card.Draft
	notes bool   // there are notes
	alone string // the reason with which the next answer decides alone
}

func (d *dialog) print(s string) { fmt.Fprintln(d.out, s) }

// ladder says how far the ask has been escalated.
func (d *dialog) ladder() {
	if d.card.Ladder != nil {
		d.print(d.card.Ladder.Text())
	}
}

// say prints a message in the card's language.
func (d *dialog) say(text string, args ...any) { d.print(d.card.Say(text, args...)) }

// show prints a question.
func (d *dialog) show(i int) { d.print(d.card.QuestionText(i, d.width, displaywidth.String)) }

// introduce prints who asks and why.
func (d *dialog) introduce() {
	d.print(d.card.Head())
	for _, s := range []string{d.card.Title, d.card.Several} {
		if s != "" {
			d.print(s)
		}
	}
	if d.card.Context != nil {
		body := strings.TrimSpace(d.card.Context.Body)
		if n := strings.Count(body, "\n") + 1; n > contextLines && !card.Delicate(d.ask) {
			d.say("Why: %d lines; type /why to read them.", n)
		} else {
			d.print(body)
		}
	}
	if !d.card.May.Answer {
		if d.card.Approval != nil {
			d.print(d.card.Approval.Text(d.card.Lang))
		}
		d.ladder()
		d.print(d.card.May.Why)
		if b := d.card.BreakGlass; b != nil {
			d.print(b.HowTo)
			d.say("/break-glass decides it alone; /quit leaves it open.")
			return
		}
		for i := range d.card.Questions {
			d.show(i)
		}
		return
	}
	if d.card.Approval != nil {
		d.print(d.card.Approval.Text(d.card.Lang))
	}
	d.ladder()
	if d.card.AtEnd != "" {
		d.print(d.card.AtEnd)
	}
	d.say("Type your answer; /help lists what else there is.")
}

// wrong returns the indexes of the questions to ask again.
func (d *dialog) wrong(again []card.Again) (open []int) {
	for _, a := range again {
		if a.Question == nil {
			d.print(a.Why)
			continue
		}
		d.print(a.Question.Name() + d.card.Say(": ") + a.Why)
		open = append(open, a.Question.Number-1)
	}
	return open
}

// decide asks the open questions, and then for confirmation if there is more than one answer.
func (d *dialog) decide(ctx context.Context, open []int) (Decision, error) {
	for i := 0; i < len(open); i++ {
		next, done, err := d.question(ctx, open[i])
		switch {
		case err != nil:
			return Decision{}, err
		case done != nil:
			return *done, nil
		case next == back:
			i = max(i-2, -1)
		case next == ends:
			i = len(open) // the answer ends the whole ask
		}
	}
	if d.card.Approval != nil {
		return d.vote(ctx)
	}
	if len(d.card.Questions) == 1 && !d.notes {
		return Decision{Reply: d.draft.Reply()}, nil
	}
	return d.review(ctx)
}

// vote asks for the reason of a vote to approve that needs one. A vote can be changed, so it is not reviewed.
func (d *dialog) vote(ctx context.Context) (Decision, error) {
	if d.alone != "" {
		one := Decision{Reply: d.draft.Reply()}
		one.Reply.BreakGlass = &ask.BreakGlass{Reason: d.alone}
		d.alone = ""
		return one, nil
	}
	reply := d.draft.Reply()
	if reason := d.card.Approval.Unreasoned(d.ask, &reply); reason != "" {
		d.print(reason)
		why, err := d.read(ctx)
		switch {
		case err != nil:
			return Decision{}, err
		case why == "/quit":
			return Decision{}, ErrLeft
		}
		d.draft.Note(reply.Answers[0].QuestionID, why)
	}
	return Decision{Reply: d.draft.Reply()}, nil
}

// review prints the answers and lets the person change them.
func (d *dialog) review(ctx context.Context) (Decision, error) {
	for {
		d.say("This is what will be sent:")
		for i, l := range d.draft.Review() {
			s := fmt.Sprintf("  %d. %s %s", i+1, strings.ReplaceAll(l.Question, "\n", " "), strings.ReplaceAll(l.Answer, "\n", " "))
			if l.Note != "" {
				s += d.card.Say(" (note: %s)", strings.ReplaceAll(l.Note, "\n", " "))
			}
			d.print(s)
		}
		fmt.Fprint(d.out, d.card.Say("Type yes to send, or the number of an answer to change it: "))
		typed, err := d.lines.Next(ctx)
		if err != nil {
			return Decision{}, err
		}
		switch typed = strings.TrimSpace(typed); {
		case typed == "":
		case isYes(typed):
			return Decision{Reply: d.draft.Reply()}, nil
		case strings.HasPrefix(typed, "/"):
			if done, err := d.command(ctx, len(d.card.Questions)-1, typed); err != nil || done.decided != nil {
				if err != nil {
					return Decision{}, err
				}
				return *done.decided, nil
			}
		default:
			i := d.numbered(typed)
			if i < 0 {
				d.say("%s is neither yes nor a number from 1 to %d.", strconv.Quote(ask.Clip(ask.CleanLine(typed), 40)), len(d.card.Questions))
				continue
			}
			if _, done, err := d.question(ctx, i); err != nil {
				return Decision{}, err
			} else if done != nil {
				return *done, nil
			}
		}
	}
}

func (d *dialog) numbered(typed string) int {
	for i := range d.card.Questions {
		if typed == fmt.Sprint(i+1) || typed == d.card.Questions[i].ID {
			return i
		}
	}
	return -1
}

func isYes(typed string) bool {
	yes := ask.Question{Kind: ask.KindBoolean}
	ans, err := yes.ParseReply(typed)
	return err == nil && ans.Boolean != nil && *ans.Boolean && typed != "1" // "1" selects an answer
}
