package ask

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Ending says in words how the ask ended, without the time: "answered by Mei on
// Slack", "declined by Mei on the web: too risky".
func (o *Outcome) Ending() string { return o.ending("") }

// EndingAt is [Outcome.Ending] with the time of day in loc:
// "answered by Mei on Slack at 10:02:03 UTC".
func (o *Outcome) EndingAt(loc *time.Location) string {
	layout := " at 15:04:05"
	if loc == time.UTC {
		layout += " UTC"
	}
	return o.ending(o.At.In(loc).Format(layout))
}

func (o *Outcome) ending(at string) string {
	if o.BreakGlass != nil {
		return o.aloneBy() + at + ": " + o.BreakGlass.Reason
	}
	reason := ""
	if o.Reason != "" {
		reason = ": " + o.Reason
	}
	if voted := o.voted(); voted != "" {
		switch o.Status {
		case StatusAnswered, StatusCancelled:
			return voted + at + reason
		case StatusExpired:
			return "expired" + at + ": " + voted
		case StatusWithdrawn, StatusAborted:
		}
	}
	switch o.Status {
	case StatusAnswered:
		if o.Source == SourcePolicy {
			return "answered by a policy" + at + ", not by a person"
		}
		return "answered" + who(o.By) + at
	case StatusCancelled:
		if o.CancelledBy != nil {
			return "cancelled" + who(o.By) + at + o.chose() + reason
		}
		return "declined" + who(o.By) + at + reason
	case StatusWithdrawn:
		if o.GaveUp() {
			return "given up" + at + reason
		}
		return "withdrawn by the agent" + at + reason
	case StatusAborted:
		return "withdrawn by an operator" + at + reason
	case StatusExpired:
		if o.Source == SourceDefault {
			return "expired" + at + ": nobody answered in time; these are the declared defaults, not a person's answer"
		}
		return "expired" + at + ": nobody answered in time"
	}
	return string(o.Status) + who(o.By) + at + reason
}

// aloneBy says who decided without the votes: "approved by Mei alone (break-glass)".
func (o *Outcome) aloneBy() string {
	name := o.BreakGlass.Principal
	if o.By != nil {
		name = o.By.Called(english)
	}
	did := "approved"
	if o.Alone() == ChoiceDeny {
		did = "denied"
	}
	return did + " by " + name + " alone (break-glass)"
}

// voted says how far the votes had come, or nothing for an ask without them.
func (o *Outcome) voted() string {
	if o.Ask == nil || o.Ask.Approval == nil {
		return ""
	}
	t := o.Ask.Tally(o.Votes, o.At)
	return t.Words(english)
}

// chose names the option that ended the ask, if it is known.
func (o *Outcome) chose() string {
	option := o.CancelledBy.Option(o.Ask)
	if option == nil {
		return ""
	}
	label, _ := option.Caption()
	return " by choosing " + strconv.Quote(label)
}

// who returns " by Mei on Slack", or nothing when nobody acted.
func who(by *By) string {
	if by == nil {
		return ""
	}
	return " by " + by.Words()
}

// Called names the person, and whom the person stands in for, in a language such as
// "zh-CN"; unknown and empty: English. "Jo for Mei".
func (b By) Called(lang string) string {
	name := cmp.Or(b.Name, b.Principal)
	if b.For == nil {
		return name
	}
	if speaksChinese(lang) {
		return name + "（代 " + b.For.Called(lang) + "）"
	}
	return name + " for " + b.For.Called(lang)
}

// Words names the person and the surface: "Mei on Slack", "Jo for Mei in the terminal".
func (b By) Words() string {
	name := cmp.Or(b.Called(english), "somebody")
	if b.Responder == "" {
		return name
	}
	return name + " " + SurfaceWordsIn(english, b.Responder)
}

// surfaces names the place of each responder type, in English with its preposition.
//
//nolint:gochecknoglobals // a table
var surfaces = map[string]struct{ english, chinese string }{
	"web":           {"on the web", "网页"},
	"push":          {"in a notification", "通知"},
	"cli":           {"in the terminal", "终端"},
	"tui":           {"in the terminal", "终端"},
	"ssh":           {"in the terminal", "终端"},
	"slack":         {"on Slack", "Slack"},
	"telegram":      {"in Telegram", "Telegram"},
	"discord":       {"in Discord", "Discord"},
	"feishu":        {"in Feishu", "飞书"},
	"teams":         {"in Teams", "Teams"},
	"mattermost":    {"in Mattermost", "Mattermost"},
	"email":         {"by e-mail", "邮件"},
	"gateway":       {"over HTTP", "HTTP"},
	ResponderNative: {"in the agent's own dialog", "智能体自己的对话框"},
	ResponderElicit: {"in the agent's own dialog", "智能体自己的对话框"},
}

// SurfaceKind returns the kind of surface of a responder type, which is the type itself, but for one that serves
// another account of a chat: that has the chat's name, a hyphen and a name of its own, such as "slack-emea".
func SurfaceKind(typ string) string {
	chat, name, _ := strings.Cut(typ, "-")
	if name != "" && slices.Contains([]string{ProofSlack, ProofTelegram, ProofDiscord, ProofFeishu, ProofTeams, ProofMattermost, ProofEmail}, chat) {
		return chat
	}
	return typ
}

// named puts the name that a responder type has beside its kind behind words.
func named(words, typ string) string {
	if _, name, ok := strings.Cut(typ, SurfaceKind(typ)+"-"); ok && words != "" {
		return words + " (" + name + ")"
	}
	return words
}

// SurfaceWordsIn says where people meet a responder type: "on Slack", "in the
// terminal"; in Chinese for use in brackets or after a colon: "Slack", "终端".
// Unknown types are named as they are.
func SurfaceWordsIn(lang, responder string) string {
	if !speaksChinese(lang) {
		return cmp.Or(named(surfaces[SurfaceKind(responder)].english, responder), "on "+responder)
	}
	return cmp.Or(named(surfaces[SurfaceKind(responder)].chinese, responder), responder)
}
