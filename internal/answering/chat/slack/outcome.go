package slack

import (
	"strings"
	"time"

	"github.com/askbus/askbus/internal/answering/chat"
	slackapi "github.com/slack-go/slack"
)

// maxOutcome bounds the bytes of all texts of an outcome card, escaped. An update allows far less
// than a post, and a refused edit leaves the buttons active; so the card is built from scratch,
// never from the post.
const maxOutcome = 1000

// Of these, the notification has at most maxNotice, and at least minNotice, however long the sentence is.
const maxNotice, minNotice = 300, 200

// outcomeCard renders an outcome: the question in one line, who answered what, when and where. It
// has no interactive elements. A sentence that is too long is cut, never the time and the place after it.
func outcomeCard(at time.Time, sum chat.Summary) content {
	var when string
	if !at.IsZero() {
		when = " · " + moment(at)
	}
	if sum.Where != "" {
		when += " · " + sum.Where
	}
	said := marksOfEnds[sum.Mark] + sum.Verdict
	said = clipBytes(said, maxOutcome-minNotice-len(sum.Heading)-len(when))
	verdict := said + when
	most := min(maxNotice, maxOutcome-len(sum.Heading)-len(verdict))
	text := clipBytes(said, most-len(when)) + when
	text = strings.TrimSpace(clipAfter(text, " – "+sum.Heading, most))
	left := maxOutcome - len(text) - len(sum.Heading) - len(verdict) - 10
	if lines := details(&sum); lines != "" && left > 60 {
		verdict += "\n" + clipBytes(lines, left)
	}
	return content{Text: text, Blocks: []slackapi.Block{
		slackapi.NewSectionBlock(mrkdwn(sum.Heading, maxSection), nil, nil),
		slackapi.NewContextBlock("", mrkdwn(verdict, 2000)),
	}}
}

// clipAfter appends as much of more as fits, if that says anything.
func clipAfter(text, more string, most int) string {
	if len(text)+len(more) > most && len(text)+20 > most {
		return text
	}
	return text + clipBytes(more, most-len(text))
}

var marksOfEnds = map[chat.Mark]string{ //nolint:gochecknoglobals // never changed
	chat.MarkAnswered: ":white_check_mark: ", chat.MarkDeclined: ":no_entry_sign: ", chat.MarkExpired: ":hourglass: ", chat.MarkEnded: ":heavy_minus_sign: ",
}

// literal makes other people's text literal in one line of mrkdwn.
func literal(s string, most int) string { return clipBytes(escape(chat.OneLine(s)), most) }

// details renders the answers of several questions, and notes.
func details(sum *chat.Summary) string { return strings.Join(sum.Details("*"), "\n") }
