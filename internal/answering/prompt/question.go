package prompt

import (
	"context"
	"errors"
	"strings"

	"github.com/askbus/askbus/pkg/ask"
)

// step is where the dialog goes after a question.
type step int

const (
	on   step = iota // the next question
	back             // the previous question
	ends             // the end: an option ended the whole ask
)

// question asks one question until it has an answer.
func (d *dialog) question(ctx context.Context, i int) (step, *Decision, error) {
	q := &d.ask.Questions[i]
	d.print("")
	d.show(i)
	for {
		typed, err := d.read(ctx)
		if err != nil {
			return on, nil, err
		}
		if strings.HasPrefix(typed, "/") && !strings.HasPrefix(typed, "//") {
			c, err := d.command(ctx, i, typed)
			switch {
			case err != nil:
				return on, nil, err
			case c.decided != nil:
				return on, c.decided, nil
			case c.step == back:
				return back, nil, nil
			case c.skipped:
				return on, nil, nil
			}
			continue
		}
		typed = strings.TrimPrefix(typed, "/") // "//" escapes a leading slash
		ans, err := q.ParseReply(typed)
		if wrong, ok := errors.AsType[*ask.ReplyError](err); ok {
			d.print(ask.CleanText(wrong.In(d.card.Lang)))
			continue
		}
		d.set(ans)
		if len(ans.Selected) == 1 {
			if o := q.Option(ans.Selected[0]); o != nil && o.Cancels {
				return ends, nil, nil
			}
		}
		return on, nil, nil
	}
}

// set stores an answer and keeps its note.
func (d *dialog) set(ans ask.Answer) {
	for _, had := range d.draft.Reply().Answers {
		if had.QuestionID == ans.QuestionID {
			ans.Notes = had.Notes
		}
	}
	d.draft.Set(ans)
}

// read reads typed text. A backslash at the end of a line continues it on the next.
func (d *dialog) read(ctx context.Context) (string, error) {
	var whole []string
	for {
		if _, err := d.out.Write([]byte("> ")); err != nil {
			return "", err
		}
		s, err := d.lines.Next(ctx)
		if err != nil {
			return "", err
		}
		more := strings.HasSuffix(s, `\`)
		whole = append(whole, strings.TrimSuffix(s, `\`))
		if !more {
			return strings.TrimSpace(strings.Join(whole, "\n")), nil
		}
	}
}
