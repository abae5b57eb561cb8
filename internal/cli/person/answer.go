package person

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/askbus/askbus/internal/answering/prompt"
	"github.com/askbus/askbus/internal/cli"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/card"
	"github.com/askbus/askbus/pkg/responder"
	"github.com/spf13/cobra"
)

// answerFlags are the flags of "askbus answer". Each value is QUESTION=VALUE; an ask with one
// question needs no QUESTION=.
type answerFlags struct {
	selects, others, texts, numbers, booleans, dates, notes, replies []string
	response, decline, answerID                                      string
	declined, takeBack                                               bool

	alone  bool   // --break-glass
	reason string // of it
}

// declineAlone is the value of --decline without a reason; the help shows it.
const declineAlone = "(no reason)"

// AnswerCmd is "askbus answer".
func AnswerCmd(a *cli.App) *cobra.Command {
	var f answerFlags
	cmd := &cobra.Command{
		Use:   "answer [ID | SESSION/ID] [--select db=pg] [--reply 'db=2'] [--decline [REASON]] …",
		Short: "Answer an ask, or decline it",
		Long: `Answers an ask in your name (os:<user>). Answer each question by its id, as
QUESTION=VALUE; with only one question, "QUESTION=" may be left out.
Without an answer it prompts at the terminal, a line at a time, as "askbus tui" does with
--accessible; without an ID it lets you choose from what is waiting. Without a terminal it shows the question.
An ID may be shortened to a beginning or an end that only one ask has.

` + cli.ExitCodes,
		Example: `  askbus answer                                choose one, and answer it here
  askbus answer deploy-42 --select db=pg --number n=3 --note db="keep 14 days of backups"
  askbus answer deploy-42 --reply "db=2"        number, id or part of a label
  askbus answer deploy-42 --decline "not today"
  askbus answer deploy-42 --boolean q1=true --break-glass --reason "INC-77: the site is down"`,
		Args: cobra.MaximumNArgs(2), ValidArgsFunction: a.CompleteAsks(ask.StatePending),
		RunE: func(cmd *cobra.Command, args []string) error {
			f.declined = cmd.Flags().Changed("decline")
			if err := f.checkAlone(); err != nil {
				return err
			}
			ref, err := f.declineReason(args)
			if err != nil {
				return err
			}
			asked := !f.declined && !f.takeBack && f.empty() && !a.JSON() && a.Interactive()
			switch {
			case ref == "" && !asked:
				return cli.Usage("name an ask; see \"%s\"", a.Hint("list"))
			case ref == "":
				return answerOne(cmd.Context(), a, prompt.Read(cmd.InOrStdin()))
			}
			return a.WithAsk(cmd.Context(), ref, func(b *cli.Bus, k ask.Key) error {
				if asked {
					return answerInteractively(cmd.Context(), a, b, k, prompt.Read(cmd.InOrStdin()))
				}
				return runAnswer(cmd.Context(), a, b, k, f)
			})
		},
	}
	fl := cmd.Flags()
	fl.StringArrayVar(&f.selects, "select", nil, "db=pg,lite: option ids (or exact labels)")
	fl.StringArrayVar(&f.others, "other", nil, "db=TEXT: free text instead of an option; may be a number")
	fl.StringArrayVar(&f.texts, "text", nil, "q=TEXT")
	fl.StringArrayVar(&f.numbers, "number", nil, "n=3")
	fl.StringArrayVar(&f.booleans, "boolean", nil, "q=true")
	fl.StringArrayVar(&f.dates, "date", nil, "q=2026-11-20")
	fl.StringArrayVar(&f.notes, "note", nil, "db=TEXT: a note with the answer")
	fl.StringArrayVar(&f.replies, "reply", nil, "db=2: as a person would type it: number, id, label or a part of it; an unknown number is refused (--other sends it as free text)")
	fl.StringVar(&f.response, "response", "", "one free-text reply to the whole ask instead of answers")
	fl.StringVar(&f.decline, "decline", "", "decline the whole ask, optionally with a reason")
	fl.StringVar(&f.answerID, "answer-id", "", "repeating an id repeats the same answer (default: a new id)")
	fl.BoolVar(&f.takeBack, "take-back", false, "take your vote back, on an ask that several people decide")
	fl.BoolVar(&f.alone, "break-glass", false, "decide alone, whatever the votes, with a role of the operator; needs --reason, and everybody is told")
	fl.StringVar(&f.reason, "reason", "", "why you decide alone, with --break-glass")
	fl.Lookup("decline").NoOptDefVal = declineAlone
	a.AnswerCompletions(cmd)
	return cmd
}

// checkAlone refuses flags that do not go with each other. Nothing but the flag itself decides alone.
func (f *answerFlags) checkAlone() error {
	switch {
	case !f.alone && f.reason != "":
		return cli.Usage("--reason is that of --break-glass; the reason of a vote is --note")
	case !f.alone:
		return nil
	case strings.TrimSpace(f.reason) == "":
		return cli.Usage("--break-glass needs --reason: everybody is told why you decide alone")
	case f.declined || f.takeBack || f.response != "" || f.empty():
		return cli.Usage("--break-glass needs the answer that you decide on, such as --boolean q1=false to deny")
	}
	return nil
}

// declineReason separates the ask's reference from a reason that follows --decline as an argument
// of its own.
func (f *answerFlags) declineReason(args []string) (ref string, err error) {
	switch len(args) {
	case 0:
		return "", nil
	case 1:
		return args[0], nil
	}
	if !f.declined || f.decline != declineAlone {
		return "", cli.Usage("one ask at a time; unexpected argument %q", args[1])
	}
	at := slices.Index(os.Args, "--decline")
	if at >= 0 && at+1 < len(os.Args) && os.Args[at+1] == args[0] {
		f.decline = args[0]
		return args[1], nil
	}
	f.decline = args[1]
	return args[0], nil
}

func runAnswer(ctx context.Context, a *cli.App, b *cli.Bus, k ask.Key, f answerFlags) error {
	r, by, err := a.Answering(b)
	if err != nil {
		return err
	}
	rec, err := a.Record(ctx, b, k)
	if err != nil {
		return err
	}
	if f.takeBack {
		left, err := r.Unvote(ctx, k, f.answerID, by)
		if err == nil {
			fmt.Fprintln(a.Stdout, viewer(a, by).VoteTakenBack(&rec, left, time.Now()))
			return nil
		}
		return decided(a, &rec, by, nil, err)
	}
	if f.declined {
		d := responder.Decline{AnswerID: f.answerID, Reason: f.decline, By: by}
		if d.Reason == declineAlone {
			d.Reason = ""
		}
		o, err := r.Cancel(ctx, k, d)
		return decided(a, &rec, by, &o, err)
	}
	if f.empty() {
		return a.TellRecord(b, k, &rec)
	}
	reply, err := f.reply(&rec.Ask)
	if err != nil {
		return askAgain(a, a.Card(&rec, by), err)
	}
	reply.By = by
	o, err := r.Answer(ctx, k, reply)
	if errors.Is(err, ask.ErrInvalid) {
		return askAgain(a, a.Card(&rec, by), err)
	}
	return decided(a, &rec, by, &o, err)
}

func viewer(a *cli.App, by ask.By) card.Viewer {
	return card.Viewer{By: by, Lang: a.Language(), Zone: time.Local}
}

// askAgain shows a person only the questions with faults, with their messages. Programs get err
// itself.
func askAgain(a *cli.App, view *card.Card, err error) error {
	e, ok := errors.AsType[*ask.Error](err)
	if !ok || len(e.Faults) == 0 || a.JSON() {
		return err
	}
	again := view.Faults(e.Faults)
	a.Note("%s\n", view.AskAgain(again))
	return &cli.ExitError{Code: cli.ExitCode(err), Err: errors.New(view.NotSent(again))}
}

// decided prints the outcome of an answer, or returns the answer that came first.
func decided(a *cli.App, rec *ask.Record, by ask.By, o *ask.Outcome, err error) error {
	e, ok := errors.AsType[*ask.Error](err)
	if ok && e.Code == ask.CodeVoted {
		fmt.Fprintln(a.Stdout, viewer(a, by).Voted(rec, e.Votes, time.Now()))
		return nil
	}
	if ok && e.Outcome != nil {
		return ask.Refuse(ask.CodeResolved, "%s", viewer(a, by).Late(rec, e.Outcome, time.Now()))
	}
	if err != nil {
		return err
	}
	return a.Accepted(o, by)
}

func (f *answerFlags) empty() bool {
	return f.response == "" && len(f.selects)+len(f.others)+len(f.texts)+len(f.numbers)+len(f.booleans)+len(f.dates)+len(f.notes)+len(f.replies) == 0
}

// reply builds the reply to q from the flags.
func (f *answerFlags) reply(q *ask.Ask) (ask.Reply, error) {
	b := replyBuilder{ask: q, answers: map[string]*ask.Answer{}}
	b.each("reply", f.replies, func(q *ask.Question, ans *ask.Answer, value string) error {
		got, err := q.ParseReply(value)
		if err == nil {
			notes := ans.Notes
			*ans = got
			ans.QuestionID, ans.Notes = q.ID, notes
		}
		return err
	})
	b.each("select", f.selects, func(q *ask.Question, ans *ask.Answer, value string) error {
		ans.Selected = append(ans.Selected, cli.OptionIDs(q, value)...)
		return nil
	})
	b.each("other", f.others, func(_ *ask.Question, ans *ask.Answer, value string) error { ans.Other = value; return nil })
	b.each("text", f.texts, func(_ *ask.Question, ans *ask.Answer, value string) error { ans.Text = value; return nil })
	b.each("date", f.dates, func(_ *ask.Question, ans *ask.Answer, value string) error { ans.Date = value; return nil })
	b.each("note", f.notes, func(_ *ask.Question, ans *ask.Answer, value string) error { ans.Notes = value; return nil })
	b.each("number", f.numbers, func(_ *ask.Question, ans *ask.Answer, value string) error {
		n, ok := ask.ParseNumber(value)
		if !ok {
			return fmt.Errorf("invalid number %q: use digits, such as 3 or 2.5", value)
		}
		ans.Number = &n
		return nil
	})
	b.each("boolean", f.booleans, func(_ *ask.Question, ans *ask.Answer, value string) error {
		v, err := strconv.ParseBool(value)
		if err != nil {
			return fmt.Errorf("invalid boolean %q: use true or false", value)
		}
		ans.Boolean = &v
		return nil
	})
	if err := ask.InvalidError("answer", b.faults); err != nil {
		return ask.Reply{}, err
	}
	reply := ask.Reply{AnswerID: f.answerID, Response: f.response}
	if f.alone {
		reply.BreakGlass = &ask.BreakGlass{Reason: strings.TrimSpace(f.reason)}
	}
	for i := range q.Questions {
		if ans := b.answers[q.Questions[i].ID]; ans != nil {
			reply.Answers = append(reply.Answers, *ans)
		}
	}
	return reply, nil
}

type replyBuilder struct {
	ask     *ask.Ask
	answers map[string]*ask.Answer
	faults  []ask.Fault
}

// each applies the values of one flag to the answers of the questions that they name.
func (b *replyBuilder) each(flag string, values []string, apply func(*ask.Question, *ask.Answer, string) error) {
	for _, v := range values {
		id, value, named := strings.Cut(v, "=")
		q := b.ask.Question(id)
		if (!named || q == nil && !isDefaultID(id)) && len(b.ask.Questions) == 1 {
			q, value = &b.ask.Questions[0], v
		}
		if q == nil {
			ids := make([]string, len(b.ask.Questions))
			for i := range ids {
				ids[i] = b.ask.Questions[i].ID
			}
			b.faults = append(b.faults, ask.NewFault("--"+flag, ask.FaultUnknownQuestion, v, ids))
			continue
		}
		ans := b.answers[q.ID]
		if ans == nil {
			ans = &ask.Answer{QuestionID: q.ID}
			b.answers[q.ID] = ans
		}
		if err := apply(q, ans, value); err != nil {
			f := ask.NewFault("--"+flag+" "+v, ask.FaultNotAnAnswer, err.Error())
			f.QuestionID = q.ID
			b.faults = append(b.faults, f)
		}
	}
}

// isDefaultID reports whether an id is one that a question without an own one gets: "q1=x"
// names a question, and is no answer, also where there is only one with another id.
func isDefaultID(id string) bool {
	number, ok := strings.CutPrefix(id, "q")
	_, err := strconv.ParseUint(number, 10, 8)
	return ok && err == nil
}
