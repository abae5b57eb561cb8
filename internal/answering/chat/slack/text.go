package slack

import (
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	slackapi "github.com/slack-go/slack"
)

// escape makes text literal in mrkdwn: no mention, no link, no markup. Zero-width spaces keep pairs
// of markers from taking effect; in a name such as my_table_name they are invisible.
func escape(s string) string { return marks.Replace(s) }

const zero = "\u200b"

var marks = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", "*", zero+"*"+zero, "_", zero+"_"+zero, "~", zero+"~"+zero, "`", zero+"`"+zero, ":", ":"+zero, "@", "@"+zero, "#", "#"+zero) //nolint:gochecknoglobals // never changed

// maxLink is the maximum length of a link in a line of text; longer links are omitted.
const maxLink = 300

// escapeLink escapes a URL before the "|" of a link.
func escapeLink(s string) string {
	return strings.NewReplacer("&", "&amp;", "<", "%3C", ">", "%3E", "|", "%7C").Replace(s)
}

// escapeCode escapes text between ``` marks.
func escapeCode(s string) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", "```", "`\u200b`\u200b`").Replace(s)
}

// clip cuts text to at most the given number of characters, never within an escape.
func clip(s string, most int) string {
	if utf8.RuneCountInString(s) <= most {
		return s
	}
	return whole(string([]rune(s)[:max(most-1, 0)])) + "…"
}

// split cuts text into parts of at most the given number of characters, at the ends of lines where there are some, and never
// within an escape. Together they are the whole text.
func split(s string, most int) (parts []string) {
	for runes := []rune(s); len(runes) > 0; runes = []rune(s) {
		if len(runes) <= most {
			return append(parts, s)
		}
		part := whole(string(runes[:most]))
		if at := strings.LastIndexByte(part, '\n'); at > len(part)/2 {
			part = part[:at+1]
		}
		parts, s = append(parts, strings.TrimSuffix(part, "\n")), s[len(part):]
	}
	return parts
}

// clipBytes cuts text to at most the given number of bytes, never within an escape or a character.
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

// whole drops a truncated escape at the end.
func whole(s string) string {
	if at := strings.LastIndexByte(s, '&'); at >= 0 && at >= len(s)-4 && !strings.Contains(s[at:], ";") {
		return s[:at]
	}
	return s
}

// plain returns literal text: Slack interprets no markup in it.
func plain(s string, most int) *slackapi.TextBlockObject {
	return slackapi.NewTextBlockObject(slackapi.PlainTextType, clip(orDash(s), most), false, false)
}

// mrkdwn returns our own markup, in which other people's text is escaped. It is verbatim, so that
// Slack links nothing automatically.
func mrkdwn(s string, most int) *slackapi.TextBlockObject {
	return slackapi.NewTextBlockObject(slackapi.MarkdownType, clip(orDash(s), most), false, true)
}

// orDash replaces an empty text, which Slack rejects.
func orDash(s string) string {
	if strings.TrimSpace(s) == "" {
		return "–"
	}
	return s
}

// moment returns a time that each reader sees in their time zone.
func moment(at time.Time) string { return date(at, "{time}") }

// dayAndTime returns a day and a time, such as "Nov 21st at 10:02".
func dayAndTime(at time.Time) string { return date(at, "{date_short_pretty} at {time}") }

func date(at time.Time, format string) string {
	return "<!date^" + strconv.FormatInt(at.Unix(), 10) + "^" + format + "|" + at.UTC().Format("15:04 UTC") + ">"
}
