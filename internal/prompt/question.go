package prompt

import (
	"context"
	"errors"
	"strings"

	"github.com/askbus/askbus/pkg/ask"
)

// step is where a question leads.
type step int

const (
	on   step = iota // to the next
	back             // to the one before
	ends             // to the end: an option that ends the whole ask
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
		typed = strings.TrimPrefix(typed, "/") // two of them begin a text with one
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

// set takes an answer; the note beside it stays.
func (d *dialog) set(ans ask.Answer) {
	for _, had := range d.draft.Reply().Answers {
		if had.QuestionID == ans.QuestionID {
			ans.Notes = had.Notes
		}
	}
	d.draft.Set(ans)
}

// read reads what somebody types. A backslash at the end of a line goes on with
// the next.
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
