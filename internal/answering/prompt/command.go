package prompt

import (
	"context"
	"strconv"
	"strings"

	"github.com/askbus/askbus/pkg/ask"
)

// help lists the commands in the card's language.
func (d *dialog) help() string {
	return d.card.Say(`Type a number, an id, a label or a part of it; several with commas; or your own words where they are allowed.
  other: TEXT     your own words, also a number
  /note TEXT      a note beside this answer
  /reply TEXT     reply to the whole ask in your own words
  /decline WHY    decline the whole ask; the reason may be left out
  /take-back      take your vote back, where several people decide
  /break-glass WHY decide alone, whatever the votes, if your role allows it
  /why            what the agent is doing and why it asks
  /read NUMBER    the preview of an option
  /back           the previous question
  /skip           leave this one out, where that is allowed
  /again          this question again
  /quit           leave the ask open
A line that ends with \ goes on with the next; // begins an answer with a slash.`)
}

// commanded is the effect of a command; the zero value is none.
type commanded struct {
	decided *Decision
	step    step
	skipped bool
}

// command executes a line that begins with a slash, at question i.
func (d *dialog) command(ctx context.Context, i int, typed string) (commanded, error) {
	name, rest, _ := strings.Cut(typed, " ")
	rest = strings.TrimSpace(rest)
	q, view := &d.ask.Questions[i], &d.card.Questions[i]
	switch name {
	case "/quit", "/q":
		return commanded{}, ErrLeft
	case "/decline":
		if !d.card.May.Decline {
			d.print(d.card.May.Why)
			return commanded{}, nil
		}
		if rest == "" {
			d.say("Why? An empty line declines without a reason; /quit does not decline.")
			why, err := d.read(ctx)
			if err != nil {
				return commanded{}, err
			}
			if why == "/quit" || why == "/back" {
				d.say("Not declined.")
				return commanded{}, nil
			}
			rest = why
		}
		return commanded{decided: &Decision{Decline: true, Reason: rest}}, nil
	case "/take-back":
		if d.card.Approval == nil || d.card.Approval.TakeBack == "" {
			d.say("You have no vote to take back.")
			return commanded{}, nil
		}
		return commanded{decided: &Decision{TakeBack: true}}, nil
	case "/break-glass":
		return commanded{}, d.breakGlass(ctx, rest)
	case "/reply":
		if d.card.Approval != nil {
			d.say("Only an answer is a vote; say more with /note.")
			return commanded{}, nil
		}
		if rest == "" {
			d.say("Type your reply behind /reply.")
			return commanded{}, nil
		}
		reply := d.draft.Reply()
		return commanded{decided: &Decision{Reply: ask.Reply{Response: rest, Answers: reply.Answers}}}, nil
	case "/note":
		d.notes = d.notes || rest != ""
		d.draft.Note(q.ID, rest)
		d.say("Noted.")
	case "/back":
		return commanded{step: back}, nil
	case "/skip":
		if !q.Optional {
			d.say("This one needs an answer.")
			return commanded{}, nil
		}
		d.set(ask.Answer{QuestionID: q.ID, Skipped: true})
		return commanded{skipped: true}, nil
	case "/why":
		if d.card.Context == nil {
			d.say("The agent says nothing more.")
		} else {
			d.print(strings.TrimSpace(d.card.Context.Body))
		}
	case "/read":
		n, err := strconv.Atoi(rest)
		if err != nil || n < 1 || n > len(view.Options) || view.Options[n-1].Preview == nil {
			d.say("There is no such preview; type /read and the number of an option that has one.")
		} else {
			d.print(strings.TrimRight(view.Options[n-1].Preview.Body, "\n"))
		}
	case "/again":
		d.show(i)
	case "/help", "/?":
		d.print(d.help())
	default:
		d.say("There is no %s; /help lists what there is. To begin an answer with a slash, type two.", ask.CleanLine(name))
	}
	return commanded{}, nil
}
