package ask_test

import (
	"testing"

	"github.com/askbus/askbus/pkg/ask"
)

// A responder type that begins with a chat's name and a hyphen is another account of that chat.
func TestAccountsOfAChat(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ typ, kind, english, chinese string }{
		{"slack", "slack", "on Slack", "Slack"},
		{"slack-emea", "slack", "on Slack (emea)", "Slack (emea)"},
		{"email-b-2", "email", "by e-mail (b-2)", "邮件 (b-2)"},
		{"slack-", "slack-", "on slack-", "slack-"},
		{"web-emea", "web-emea", "on web-emea", "web-emea"},
		{"web", "web", "on the web", "网页"},
		{"pager", "pager", "on pager", "pager"},
	} {
		if kind := ask.SurfaceKind(c.typ); kind != c.kind {
			t.Errorf("%s is of kind %s", c.typ, kind)
		}
		if words := ask.SurfaceWordsIn("en", c.typ); words != c.english {
			t.Errorf("%s is %q", c.typ, words)
		}
		if words := ask.SurfaceWordsIn("zh", c.typ); words != c.chinese {
			t.Errorf("%s is %q in Chinese", c.typ, words)
		}
	}
	for _, c := range []struct {
		via, typ string
		leads    bool
	}{{"slack", "slack-emea", true}, {"slack-emea", "slack-emea", true}, {"slack-emea", "slack", false}, {"slack-emea", "slack-us", false}} {
		if ask.Leads([]string{c.via}, c.typ) != c.leads {
			t.Errorf("via %s leads to %s: %v", c.via, c.typ, !c.leads)
		}
	}
}
