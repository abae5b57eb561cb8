package slack

import (
	"strings"
	"time"
	"unicode/utf8"

	slackapi "github.com/slack-go/slack"
)

// escape makes text stand for itself in mrkdwn: no mention, no link, no markup.
// The zero-width space keeps a pair of markers from enclosing anything; in a
// name such as my_table_name it is invisible.
func escape(s string) string { return marks.Replace(s) }

const zero = "\u200b"

var marks = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", "*", zero+"*"+zero, "_", zero+"_"+zero, "~", zero+"~"+zero, "`", zero+"`"+zero, ":", ":"+zero, "@", "@"+zero, "#", "#"+zero) //nolint:gochecknoglobals // never changed

// maxLink is how long a link in a line of text may be: a longer one is left out.
const maxLink = 300

// escapeLink makes a URL stand for itself before the "|" of a link.
func escapeLink(s string) string {
	return strings.NewReplacer("&", "&amp;", "<", "%3C", ">", "%3E", "|", "%7C").Replace(s)
}

// escapeCode makes text stand for itself between ``` marks.
func escapeCode(s string) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", "```", "`\u200b`\u200b`").Replace(s)
}

// clip cuts text to so many characters, and never within an escape.
func clip(s string, most int) string {
	if utf8.RuneCountInString(s) <= most {
		return s
	}
	return whole(string([]rune(s)[:max(most-1, 0)])) + "…"
}

// clipBytes cuts text to so many bytes, and never within an escape or a
// character.
func clipBytes(s string, most int) string {
	if len(s) <= most {
		return s
	}
	s = s[:max(most-len("…"), 0)]
	for s != "" && !utf8.ValidString(s) {
		s = s[:len(s)-1]
	}
	return whole(s) + "…"
}

// whole drops an escape that was cut in two at the end.
func whole(s string) string {
	if at := strings.LastIndexByte(s, '&'); at >= 0 && at >= len(s)-4 && !strings.Contains(s[at:], ";") {
		return s[:at]
	}
	return s
}

// plain is text that Slack shows as it is: nothing in it is markup.
func plain(s string, most int) *slackapi.TextBlockObject {
	return slackapi.NewTextBlockObject(slackapi.PlainTextType, clip(orDash(s), most), false, false)
}

// mrkdwn is markup of our own; what others wrote in it is escaped. It is
// verbatim: Slack makes no links of what looks like one.
func mrkdwn(s string, most int) *slackapi.TextBlockObject {
	return slackapi.NewTextBlockObject(slackapi.MarkdownType, clip(orDash(s), most), false, true)
}

// orDash gives an empty text something to show: Slack refuses empty ones.
func orDash(s string) string {
	if strings.TrimSpace(s) == "" {
		return "–"
	}
	return s
}

// moment is a time that each reader sees on their own clock.
func moment(at time.Time) string { return date(at, "{time}") }

// date is a day and a time, such as "Nov 21st at 10:02".
func dayAndTime(at time.Time) string { return date(at, "{date_short_pretty} at {time}") }

func date(at time.Time, format string) string {
	return "<!date^" + itoa(at.Unix()) + "^" + format + "|" + at.UTC().Format("15:04 UTC") + ">"
}

// oneLine joins the lines of a text.
func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }
