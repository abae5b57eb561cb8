package chat

import (
	"context"
	"errors"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/askbus/askbus/internal/process/lang"
	"github.com/askbus/askbus/internal/protocol/wire"
	"github.com/askbus/askbus/pkg/ask"
)

// SaysLink reports whether a private message asks to be linked with a person of the inbox: "link", also as a command. It is
// not asked of words that are for a question, which may have an option of this name: replies, and what begins with
// "answer:". No chat takes other words in private as an answer.
func SaysLink(message string) bool {
	word := strings.ToLower(strings.TrimPrefix(strings.TrimSpace(message), "/"))
	return slices.Contains([]string{"link", "关联", "绑定"}, word)
}

// LinkMe makes a code with which a member of the chat, as the platform proves them and not as a routing file names them,
// can be linked with a person of the inbox, and returns what to tell them. Only they may see it.
func (s *Surface) LinkMe(ctx context.Context, l *lang.Language, member ask.By) string {
	told, err := s.TryLink(ctx, l, member)
	if err != nil {
		return cannotLink(l, err)
	}
	return told
}

// TryLink is LinkMe for who is not told of an error.
func (s *Surface) TryLink(ctx context.Context, l *lang.Language, member ask.By) (told string, err error) {
	member.Groups = nil
	code, _, err := s.Bus.Claim(ctx, member)
	if err != nil {
		return "", err
	}
	return s.linking(l, code), nil
}

// LinkMeOnce is LinkMe for a message that every replica hears, of which the seed is made: see [responder.Responder.ClaimOnce].
// For all but one it returns nothing.
func (s *Surface) LinkMeOnce(ctx context.Context, l *lang.Language, member ask.By, seed string) string {
	member.Groups = nil
	code, _, err := s.Bus.ClaimOnce(ctx, member, seed)
	switch {
	case errors.Is(err, ask.ErrConflict):
		return ""
	case err != nil:
		return cannotLink(l, err)
	}
	return s.linking(l, code)
}

func cannotLink(l *lang.Language, err error) string {
	return l.Say("You cannot be linked: %s", ask.CleanLine(wire.AsError(err).In(l.Tag).Error()))
}

// linking returns what to tell a member who is to be linked with a code.
func (s *Surface) linking(l *lang.Language, code string) string {
	if s.inbox == "" {
		return l.Say("To link this account with you in the inbox, open “Your chats” there and type %s within 10 minutes. Show the code to nobody.", code) + " " + l.Say("This answers no question.")
	}
	at, err := url.JoinPath(s.inbox, "account", "chats", code)
	if err != nil { // it was checked as a setting
		return code
	}
	return l.Say("To link this account with you in the inbox, open %s within 10 minutes. Show the link to nobody.", at) + " " + l.Say("This answers no question.")
}

// SignIn returns the words with which a person gets a sign-in link in private.
func SignIn(l *lang.Language) string {
	return l.Say("Open this link on your phone to sign in to the inbox (askbus login --phone). It works once, within 10 minutes, for anyone who opens it, so do not forward it. If you did not ask for it, ignore it.")
}

// accountLink is the one address in what [Surface.LinkMe] returns.
var accountLink = sync.OnceValue(func() *regexp.Regexp { //nolint:gochecknoglobals // compiled once, never changed
	return regexp.MustCompile(`https?://[^\s<>|]+/account/chats/[2-9A-Z-]+`)
})

// AroundLink splits what [Surface.LinkMe] returns, for chats that make all other words literal; without a link all is
// before it.
func AroundLink(told string) (before, link, after string) {
	at := accountLink().FindStringIndex(told)
	if at == nil {
		return told, "", ""
	}
	return told[:at[0]], told[at[0]:at[1]], told[at[1]:]
}
