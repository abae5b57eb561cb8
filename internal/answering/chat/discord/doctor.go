package discord

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/askbus/askbus/internal/process/finding"
)

// Doctor checks what a working surface needs, and returns findings with fixes. It opens no session.
func (s *App) Doctor(ctx context.Context) (checks finding.List) {
	check := checks.Say
	name, err := s.Connect(ctx)
	if err != nil {
		words := "Discord cannot be reached"
		if e, ok := errors.AsType[*apiError](err); ok && e.Status == http.StatusUnauthorized {
			words = "Discord does not know the token: reset it on the page Bot of the application, and give the new one"
		}
		check("token", finding.Broken, "%s", words)
		return checks
	}
	check("token", finding.Good, "valid for %s", name)
	s.doctorTransport(check)
	servers := map[string]bool{}
	for _, channel := range s.Routes().Channels() {
		var one room
		if err := s.look(ctx, s.Now(), channel, &one); err != nil {
			check("channel "+channel, finding.Broken, "no channel has this id, or the bot may not see it: add the bot to the server and give it the channel's View Channel, Send Messages and Read Message History")
			continue
		}
		servers[one.Server] = true
		check("channel "+channel, finding.Good, "#%s; whether the bot may write there shows when it does", one.Name)
	}
	s.doctorRoles(ctx, check, slices.Sorted(maps.Keys(servers)))
	if person := s.Routes().Default.Person; person != "" {
		check("person "+person, finding.Missing, "cannot be checked without writing to them: they must share a server with the bot, and take its direct messages")
	}
	return checks
}

func (s *App) doctorTransport(check func(what string, state finding.State, words string, args ...any)) {
	me := s.me.Load()
	switch {
	case len(s.key) == 0 && me.Endpoint != "":
		check("clicks", finding.Broken, "the application has an Interactions Endpoint URL, so Discord sends clicks there and none over the gateway: clear it on the page General Information, or set ASKBUS_DISCORD_PUBLIC_KEY")
	case len(s.key) == 0:
		check("clicks", finding.Good, "they come over the gateway")
	case !strings.EqualFold(me.Key, s.opts.PublicKey):
		check("clicks", finding.Broken, "ASKBUS_DISCORD_PUBLIC_KEY is not that of this application, so every click is refused: copy it from the page General Information")
	case me.Endpoint == "":
		check("clicks", finding.Broken, "the application has no Interactions Endpoint URL: set it to the public address of %s on the page General Information, while askbus runs", PathInteractions)
	case !strings.HasSuffix(me.Endpoint, PathInteractions):
		check("clicks", finding.Missing, "they go to %s, which does not end with %s: does a proxy rewrite it?", me.Endpoint, PathInteractions)
	default:
		check("clicks", finding.Good, "they go to %s", me.Endpoint)
	}
}

// doctorRoles checks that the roles of the routes are on servers of their channels.
func (s *App) doctorRoles(ctx context.Context, check func(what string, state finding.State, words string, args ...any), servers []string) {
	known := map[string]string{}
	for _, server := range servers {
		var roles []struct {
			ID   string `json:"id"`
			Name string `json:"name"`
		}
		if err := s.api.call(ctx, call{Method: "GET", Class: "roles", Path: "/guilds/" + server + "/roles", Place: server, Rank: s.Now(), Into: &roles}); err != nil {
			continue // its roles are reported as missing
		}
		for _, r := range roles {
			known[r.ID] = r.Name
		}
	}
	groups := s.Routes().Groups
	for _, name := range slices.Sorted(maps.Keys(groups)) {
		if role, ok := known[strings.TrimPrefix(groups[name], rolePrefix)]; ok {
			check("group "+name, finding.Good, "the members with the role %s", role)
		} else {
			check("group "+name, finding.Broken, "no server of the routes' channels has the role %s: copy its id with Developer Mode, and write it as role/<id>", groups[name])
		}
	}
}
