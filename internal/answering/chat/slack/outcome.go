package slack

import (
	"strings"

	"github.com/askbus/askbus/internal/answering/chat"

	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/card"
	slackapi "github.com/slack-go/slack"
)

// maxOutcome bounds the bytes of all texts of an outcome card, escaped. An update allows far less
// than a post, and a refused edit leaves the buttons active; so the card is built from scratch,
// never from the post.
const maxOutcome = 1000

// outcomeCard renders an outcome: the question in one line, who answered what, when and where. It
// has no interactive elements.
func outcomeCard(a *ask.Ask, o *ask.Outcome, e *card.End) content {
	heading := clipBytes(escape(card.Heading(a)), 240)
	verdict := verdict(o, e)
	lines := details(e)
	text := clipBytes(strings.TrimSpace(verdict+" – "+heading), 300)
	left := maxOutcome - len(text) - len(heading) - len(verdict) - 10
	if lines != "" && left > 60 {
		verdict += "\n" + clipBytes(lines, left)
	}
	return content{Text: text, Blocks: []slackapi.Block{
		slackapi.NewSectionBlock(mrkdwn(heading, maxSection), nil, nil),
		slackapi.NewContextBlock("", mrkdwn(verdict, 2000)),
	}}
}

// verdict returns one line: "Mei chose PostgreSQL · 10:02 · on the web".
func verdict(o *ask.Outcome, e *card.End) string {
	mark, said := chat.Verdict(o, e, func(s string, most int) string { return clipBytes(escape(oneLine(s)), most) })
	parts := []string{marksOfEnds[mark] + said}
	if !o.At.IsZero() {
		parts = append(parts, moment(o.At))
	}
	if e.Where != "" {
		parts = append(parts, clipBytes(escape(e.Where), 60))
	}
	return strings.Join(parts, " · ")
}

var marksOfEnds = map[chat.Mark]string{ //nolint:gochecknoglobals // never changed
	chat.MarkAnswered: ":white_check_mark: ", chat.MarkDeclined: ":no_entry_sign: ", chat.MarkExpired: ":hourglass: ", chat.MarkEnded: ":heavy_minus_sign: ",
}

// details renders the answers of several questions, and notes.
func details(e *card.End) string {
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
