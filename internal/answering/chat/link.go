package chat

import (
	"context"
	"errors"
	"net/url"
	"slices"
	"strings"

	"github.com/askbus/askbus/internal/process/lang"
	"github.com/askbus/askbus/internal/protocol/wire"
	"github.com/askbus/askbus/pkg/ask"
)

// SaysLink reports whether a private message asks to be linked with a person of the inbox: "link", also as a command. It is
// not asked of replies, which may answer a question with this very word.
func SaysLink(message string) bool {
	word := strings.ToLower(strings.TrimPrefix(strings.TrimSpace(message), "/"))
	return slices.Contains([]string{"link", "关联", "绑定"}, word)
}

// LinkMe makes a code with which a member of the chat, as the platform proves them and not as a routing file names them,
// can be linked with a person of the inbox, and returns what to tell them. Only they may see it.
func (s *Surface) LinkMe(ctx context.Context, l *lang.Language, member ask.By) string {
	member.Groups = nil
	code, _, err := s.Bus.Claim(ctx, member)
	return s.linking(l, code, err)
}

// LinkMeOnce is LinkMe for a message that every replica hears, of which the seed is made: see [responder.Responder.ClaimOnce].
// For all but one it returns nothing.
func (s *Surface) LinkMeOnce(ctx context.Context, l *lang.Language, member ask.By, seed string) string {
	member.Groups = nil
	code, _, err := s.Bus.ClaimOnce(ctx, member, seed)
	if errors.Is(err, ask.ErrConflict) {
		return ""
	}
	return s.linking(l, code, err)
}

// linking returns what to tell a member who is to be linked with a code, or why they cannot.
func (s *Surface) linking(l *lang.Language, code string, err error) string {
	if err != nil {
		return l.Say("You cannot be linked: %s", ask.CleanLine(wire.AsError(err).In(l.Tag).Error()))
	}
	if s.inbox == "" {
		return l.Say("To link this account with you in the inbox, open “Your chats” there and type %s within 10 minutes. Show the code to nobody.", code)
	}
	at, err := url.JoinPath(s.inbox, "account", "chats", code)
	if err != nil { // it was checked as a setting
		return code
	}
	return l.Say("To link this account with you in the inbox, open %s within 10 minutes. Show the link to nobody.", at)
}
