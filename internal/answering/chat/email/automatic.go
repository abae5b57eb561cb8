package email

import (
	"errors"
	"slices"
	"strings"

	"github.com/emersion/go-message"
)

// away are subjects of automatic replies that have no mark.
//
//nolint:gochecknoglobals // compiled once, never changed
var away = compiled(`(?i)^\s*(auto(matic)?[ -]?(reply|response)|out of (the )?office|abwesenheit|自动回复|自動回覆|自动答复)`)

// automatic returns why a mail is a program's (RFC 3834), or nil. A program never answers, and is never answered.
func automatic(h *message.Header, envelope string) error {
	is := func(name string, values ...string) bool {
		return slices.ContainsFunc(h.Values(name), func(value string) bool {
			value = strings.ToLower(strings.TrimSpace(value))
			return slices.ContainsFunc(values, func(one string) bool { return strings.HasPrefix(value, one) })
		})
	}
	for _, value := range h.Values("Auto-Submitted") {
		if word, _, _ := strings.Cut(strings.ToLower(value), ";"); strings.TrimSpace(word) != "no" {
			return errors.New("it is an automatic reply")
		}
	}
	local, _, _ := strings.Cut(strings.ToLower(envelope), "@")
	subject, err := h.Text("Subject")
	switch {
	case envelope == "" || local == "mailer-daemon" || local == "postmaster":
		return errors.New("it is from a mail server")
	case is("From", "mailer-daemon@", "<mailer-daemon@") || strings.Contains(strings.ToLower(h.Get("From")), "<mailer-daemon@"):
		return errors.New("it is from a mail server")
	case is("Precedence", "bulk", "junk", "list", "auto_reply"):
		return errors.New("it is bulk mail")
	case h.Has("List-Id") || h.Has("List-Unsubscribe"):
		return errors.New("it is from a list")
	case h.Has("X-Autoreply") || h.Has("X-Autorespond") || h.Has("X-Auto-Reply-From"):
		return errors.New("it is an automatic reply")
	case err == nil && away().MatchString(subject):
		return errors.New("it is an automatic reply")
	}
	return nil
}
