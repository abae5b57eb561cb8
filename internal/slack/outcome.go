package slack

import (
	"strings"

	"github.com/askbus/askbus/internal/present"
	"github.com/askbus/askbus/pkg/ask"
	slackapi "github.com/slack-go/slack"
)

// maxOutcome bounds the bytes of all texts of an outcome card, escaped. An update allows far less
// than a post, and a refused edit leaves the buttons active; so the card is built from scratch,
// never from the post.
const maxOutcome = 1000

// outcomeCard renders an outcome: the question in one line, who answered what, when and where. It
// has no interactive elements.
func outcomeCard(a *ask.Ask, o *ask.Outcome, e *present.End) card {
	heading := clipBytes(escape(present.Heading(a)), 240)
	verdict := verdict(o, e)
	lines := details(e)
	text := clipBytes(strings.TrimSpace(verdict+" – "+heading), 300)
	left := maxOutcome - len(text) - len(heading) - len(verdict) - 10
	if lines != "" && left > 60 {
		verdict += "\n" + clipBytes(lines, left)
	}
	return card{Text: text, Blocks: []slackapi.Block{
		slackapi.NewSectionBlock(mrkdwn(heading, maxSection), nil, nil),
		slackapi.NewContextBlock("", mrkdwn(verdict, 2000)),
	}}
}

// verdict returns one line: "Mei chose PostgreSQL · 10:02 · on the web".
func verdict(o *ask.Outcome, e *present.End) string {
	who, gist := clipBytes(escape(e.Who), 80), clipBytes(escape(oneLine(e.Gist)), 160)
	var said string
	switch o.Status {
	case ask.StatusAnswered:
		switch {
		case o.Source == ask.SourcePolicy:
			said = ":white_check_mark: " + e.Say("A policy answered %s", gist)
		case who == "":
			said = ":white_check_mark: " + e.Say("Answered: %s", gist)
		case e.Detailed && len(e.Lines) > 1:
			said = ":white_check_mark: " + e.Say("%s answered", who)
		case len(o.Answers) > 0 && len(o.Answers[0].Selected) > 0:
			said = ":white_check_mark: " + e.Say("%s chose %s", who, gist)
		default:
			said = ":white_check_mark: " + e.Say("%s answered %s", who, gist)
		}
	case ask.StatusCancelled:
		said = ":no_entry_sign: " + e.Say("%s declined", who)
		if o.CancelledBy != nil {
			said = ":no_entry_sign: " + e.Say("%s ended it: %s", who, gist)
		}
		if e.Reason != "" {
			said += e.Say(": ") + clipBytes(escape(oneLine(e.Reason)), 160)
		}
	case ask.StatusExpired:
		said = ":hourglass: " + e.Say("Nobody answered in time")
		if e.Answers {
			said += e.Say("; the declared default holds, not a person's answer: %s", gist)
		}
	case ask.StatusWithdrawn, ask.StatusAborted:
		said = ":heavy_minus_sign: " + clipBytes(escape(e.Lead), 80)
		if e.Reason != "" {
			said += e.Say(": ") + clipBytes(escape(oneLine(e.Reason)), 160)
		}
	default:
		said = clipBytes(escape(e.Sentence), 200)
	}
	parts := []string{said}
	if !o.At.IsZero() {
		parts = append(parts, moment(o.At))
	}
	if e.Where != "" {
		parts = append(parts, clipBytes(escape(e.Where), 60))
	}
	return strings.Join(parts, " · ")
}

// details renders the answers of several questions, and notes.
func details(e *present.End) string {
	if !e.Detailed && e.Reply == "" {
		return ""
	}
	var lines []string
	for _, l := range e.Lines {
		s := clipBytes(escape(oneLine(l.Question)), 90) + " *" + clipBytes(escape(oneLine(l.Answer)), 90) + "*"
		if l.Note != "" {
			s += " (" + clipBytes(escape(oneLine(l.Note)), 120) + ")"
		}
		lines = append(lines, s)
	}
	if e.Reply != "" {
		lines = append(lines, clipBytes(escape(oneLine(e.Reply)), 300))
	}
	return strings.Join(lines, "\n")
}
