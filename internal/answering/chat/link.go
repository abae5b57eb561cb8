package chat

import (
	"context"
	"net/url"
	"slices"
	"strings"

	"github.com/askbus/askbus/internal/process/lang"
	"github.com/askbus/askbus/internal/protocol/wire"
	"github.com/askbus/askbus/pkg/ask"
)

// SaysLink reports whether a private message asks to be linked with a person of the inbox: "link", also as a command.
func SaysLink(message string) bool {
	word := strings.ToLower(strings.TrimPrefix(strings.TrimSpace(message), "/"))
	return slices.Contains([]string{"link", "关联", "绑定"}, word)
}

// LinkMe makes a code with which a member of the chat, as the platform proves them and not as a routing file names them,
// can be linked with a person of the inbox, and returns what to tell them. Only they may see it.
func (s *Surface) LinkMe(ctx context.Context, l *lang.Language, member ask.By) string {
	member.Groups = nil
	code, _, err := s.Bus.Claim(ctx, member)
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
