package mattermost

import (
	"context"
	"net/http"
	"net/url"

	"github.com/askbus/askbus/internal/answering/chat"
	"github.com/askbus/askbus/internal/process/finding"
)

// Doctor checks what a working surface needs, and returns findings with fixes.
func (s *App) Doctor(ctx context.Context) (checks finding.List) {
	check := checks.Say
	name, err := s.Connect(ctx)
	switch me, _ := s.api.state(); {
	case refusedFor(err, http.StatusUnauthorized):
		check("token", finding.Broken, "the server does not know the token; make a new one for the bot in the System Console or under Integrations")
		return checks
	case err != nil:
		check("token", finding.Broken, "the server cannot be reached: %v", err)
		return checks
	case !me.Bot:
		check("token", finding.Missing, "valid for @%s, who is a person: use a bot account, so that posts are not in a person's name", name)
	default:
		check("token", finding.Good, "valid for the bot @%s", name)
	}
	me, _ := s.api.state()
	routes := s.Routes()
	for _, channel := range routes.Channels() {
		in, err := s.api.member(ctx, channel+"/"+me.ID)
		switch {
		case err != nil:
			check("channel "+channel, finding.Broken, "it cannot be read: %v", err)
		case len(in) == 0:
			check("channel "+channel, finding.Broken, "the bot is not in it, or it does not exist: invite @%s there", name)
		default:
			check("channel "+channel, finding.Good, "the bot is in it")
		}
	}
	chat.CheckGroups(ctx, &checks, routes, func(ctx context.Context, id string) (int, error) {
		var stats struct {
			Members int `json:"member_count"`
		}
		err := s.api.do(ctx, http.MethodGet, "channels/"+url.PathEscape(id)+"/stats", nil, &stats)
		return stats.Members, err
	})
	if conn, err := s.api.events(ctx); err != nil {
		check("link", finding.Missing, "%v; a proxy before the server has to pass WebSockets", err)
	} else {
		_ = conn.CloseNow()
		check("link", finding.Good, "direct messages are heard")
	}
	check("callback", finding.Missing, "cannot be checked from here: the server calls %s, which AllowedUntrustedInternalConnections must allow if it is an internal address", s.opts.Callback+PathActions)
	return checks
}
