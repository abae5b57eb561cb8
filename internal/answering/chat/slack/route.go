package slack

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/askbus/askbus/internal/answering/chat"
)

// ParseRoutes parses routes from YAML or JSON. Its error lists every fault with its position.
func ParseRoutes(data []byte) (*chat.Routes, error) { return chat.ParseRoutes(data, ids()) }

func ids() chat.IDs {
	return chat.IDs{
		Channel: "^[CG][A-Z0-9]+$", Person: "^[UW][A-Z0-9]+$", Group: "^S[A-Z0-9]+$", Mention: "^[USW][A-Z0-9]+$",
		Threads: []string{chat.ThreadsMention, chat.ThreadsBroadcast}, Member: member,
	}
}

// message identifies a message: its id is its timestamp.
type message = chat.Message

// postedAt returns when a message was posted, by Slack's clock, to the second.
func postedAt(m message) time.Time {
	seconds, _, _ := strings.Cut(m.ID, ".")
	n, err := strconv.ParseInt(seconds, 10, 64)
	if err != nil {
		return time.Time{}
	}
	return time.Unix(n, 0)
}

// member returns the user of a principal such as "slack:T0HOME/U0MEI".
func member(principal string) (user string, ok bool) {
	of, ours := strings.CutPrefix(principal, Type+":")
	_, user, ok = strings.Cut(of, "/")
	return user, ok && ours
}

// member returns the user of a principal of a workspace whose members may answer here.
func (s *App) member(principal string) (user string, ok bool) {
	team, _, _ := strings.Cut(strings.TrimPrefix(principal, Type+":"), "/")
	if id := s.Identity(); id.Team != "" && team != id.Team && team != id.Enterprise && !slices.Contains(s.opts.Strangers, team) {
		return "", false
	}
	return member(principal)
}
