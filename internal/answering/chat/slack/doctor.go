package slack

import (
	"context"
	"encoding/json"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/askbus/askbus/internal/answering/chat"
	"github.com/askbus/askbus/internal/process/finding"
	"github.com/askbus/askbus/pkg/responder"
	"github.com/coder/websocket"
	"github.com/oasdiff/yaml"
)

// doctor collects findings.
type doctor struct {
	app *App
	finding.List
}

// Doctor checks everything that a working surface needs, and returns findings with fixes. The
// manifest's file is optional.
func (s *App) Doctor(ctx context.Context, manifest string) finding.List {
	d := &doctor{app: s}
	routes := s.Routes()
	if d.token(ctx) {
		d.scopes(routes)
		for _, channel := range routes.Channels() {
			d.place(ctx, channel)
		}
		d.groups(ctx, routes)
	}
	if s.opts.AppToken != "" {
		d.connections(ctx)
	} else {
		d.Say("transport", finding.Good, "HTTP: Slack sends to %s, %s and %s; click a button to check that it reaches this process", PathInteractions, PathEvents, PathCommands)
	}
	if manifest != "" {
		d.manifest(manifest)
	}
	return d.List
}

func (d *doctor) token(ctx context.Context) bool {
	id, err := d.app.Connect(ctx)
	if err != nil {
		words := err.Error()
		switch code(err) {
		case "invalid_auth", "not_authed":
			words = "Slack does not know the bot token; copy it again from \"OAuth & Permissions\""
		case "token_revoked", "account_inactive":
			words = "the bot token was revoked, or the app was removed from the workspace: install the app again and take the new token"
		}
		d.Say("token", finding.Broken, "%s", words)
		return false
	}
	where := "workspace " + id.Team
	if id.Enterprise != "" {
		where += " of the grid " + id.Enterprise
	}
	d.Say("token", finding.Good, "valid for %s as %s", where, id.BotUser)
	return true
}

func (d *doctor) scopes(routes *chat.Routes) {
	id := d.app.Identity()
	if len(id.Scopes) == 0 {
		d.Say("scopes", finding.Missing, "Slack did not return the token's scopes")
		return
	}
	person := routes.Default.Person != "" || len(routes.People) > 0
	for i := range routes.Rules {
		person = person || routes.Rules[i].To.Person != ""
	}
	for _, need := range []struct {
		scope  string
		must   bool
		wanted bool
		why    string
	}{
		{"chat:write", true, true, "nothing can be posted"},
		{"chat:write.public", false, true, "the bot must be invited to each public channel"},
		{"im:write", person, true, "direct messages cannot be opened"},
		{"files:write", false, true, "files of asks are not sent: cards lead to them"},
		{"users:read", false, true, "people have the name from the click, and members of a grid's other workspaces are refused"},
		{"users:read.email", d.app.opts.EmailPrefix != "", d.app.opts.EmailPrefix != "", "nobody can answer as their e-mail address"},
		{"usergroups:read", len(routes.Groups) > 0, len(routes.Groups) > 0, "nobody counts as a member of a group, so asks for a group cannot be answered here"},
		{"channels:history", false, true, "replies in threads of public channels are ignored, and a card whose receipt was lost is posted twice; the first one is updated when clicked"},
		{"groups:history", false, true, "the same for private channels"},
		{"im:history", false, true, "the same for direct messages"},
		{"commands", false, true, "/askbus does nothing"},
	} {
		switch {
		case !need.wanted:
		case id.can(need.scope):
			d.Say("scope "+need.scope, finding.Good, "there")
		case need.must:
			d.Say("scope "+need.scope, finding.Broken, "missing: %s; add it under \"OAuth & Permissions\" and install the app again", need.why)
		default:
			d.Say("scope "+need.scope, finding.Missing, "%s", need.why)
		}
	}
}

func (d *doctor) place(ctx context.Context, channel string) {
	var info struct {
		Channel struct {
			Name     string `json:"name"`
			Archived bool   `json:"is_archived"`
			Member   bool   `json:"is_member"`
		} `json:"channel"`
	}
	err := d.app.api.call(ctx, "conversations.info", channel, responder.Rank{Urgent: true, At: time.Now()}, func(ctx context.Context) error {
		return d.app.api.raw(ctx, "conversations.info", url.Values{"channel": {channel}}, &info)
	})
	what, c := "channel "+channel, info.Channel
	switch {
	case code(err) == "missing_scope":
		d.Say(what, finding.Missing, "cannot be checked without the scope channels:read (groups:read for private ones)")
	case code(err) == "channel_not_found":
		d.Say(what, finding.Broken, "no channel has this id, or it is private and the bot is not in it: invite the bot with /invite")
	case err != nil:
		d.Say(what, finding.Broken, "%v", err)
	case c.Archived:
		d.Say(what, finding.Broken, "#%s is archived: nothing can be posted there", c.Name)
	case !c.Member && !d.app.Identity().can("chat:write.public"):
		d.Say(what, finding.Broken, "the bot is not in #%s: invite it with /invite", c.Name)
	case !c.Member:
		d.Say(what, finding.Missing, "the bot is not in #%s: cards are posted, but replies in threads are ignored; invite it with /invite", c.Name)
	default:
		d.Say(what, finding.Good, "#%s", c.Name)
	}
}

func (d *doctor) groups(ctx context.Context, routes *chat.Routes) {
	chat.CheckGroups(ctx, &d.List, routes, func(ctx context.Context, id string) (int, error) {
		users, err := d.app.api.groupMembers(ctx, id)
		return len(users), err
	})
	if len(routes.Groups) > 0 {
		return
	}
	if all, err := d.app.api.groupList(ctx); err == nil && len(all) > 0 {
		d.Say("groups", finding.Missing, "no audience group is mapped to a user group; the workspace has %d", len(all))
	}
}

// connections opens one connection and reads how many Slack counts.
func (d *doctor) connections(ctx context.Context) {
	conn, err := d.app.dial(ctx)
	if err != nil {
		words := err.Error()
		switch code(err) {
		case "invalid_auth", "not_authed", "not_allowed_token_type":
			words = "Slack does not know the app-level token; make one with the scope connections:write under \"Basic Information\""
		case "missing_scope":
			words = "the app-level token lacks the scope connections:write"
		}
		d.Say("connections", finding.Broken, "%s", words)
		return
	}
	defer conn.Close(websocket.StatusNormalClosure, "doctor") //nolint:errcheck // the connection is done
	ctx, cancel := context.WithTimeout(ctx, helloWithin)
	defer cancel()
	_, data, err := conn.Read(ctx)
	var f frame
	if err != nil || json.Unmarshal(data, &f) != nil {
		d.Say("connections", finding.Broken, "Slack accepts a connection and sends nothing: %v", err)
		return
	}
	expected := d.app.opts.Connections * max(d.app.opts.Replicas, 1)
	switch n := f.Connections - 1; {
	case f.Type == "disconnect":
		d.Say("connections", finding.Broken, "Slack accepts no more connections (%s): it still counts those of killed processes and sends most clicks to them. Stop every replica, wait until Slack drops them (hours), or switch to HTTP", f.Reason)
	case n > expected:
		d.Say("connections", finding.Broken, "Slack counts %d connections besides this one, and %d are expected: the others belong to other processes, or are dead. Clicks sent to dead ones are lost", n, expected)
	case n == 0:
		d.Say("connections", finding.Missing, "Socket Mode works, but no process is connected, so clicks are lost")
	default:
		d.Say("connections", finding.Good, "Slack counts %d, and %d are expected", n, expected)
	}
}

// manifest compares an app's manifest with the requirements.
func (d *doctor) manifest(file string) {
	data, err := os.ReadFile(file)
	if err != nil {
		d.Say("manifest", finding.Broken, "%v", err)
		return
	}
	var m struct {
		Features struct {
			Home struct {
				Tab bool `json:"home_tab_enabled"`
			} `json:"app_home"`
		} `json:"features"`
		Settings struct {
			Interactivity struct {
				Enabled bool   `json:"is_enabled"`
				URL     string `json:"request_url"`
			} `json:"interactivity"`
			Events struct {
				Bots []string `json:"bot_events"`
			} `json:"event_subscriptions"`
			Socket bool `json:"socket_mode_enabled"`
		} `json:"settings"`
	}
	body, err := yaml.YAMLToJSON(data)
	if err == nil {
		err = json.Unmarshal(body, &m)
	}
	if err != nil {
		d.Say("manifest", finding.Broken, "%s cannot be read: %v", file, err)
		return
	}
	socket := d.app.opts.AppToken != ""
	switch {
	case !m.Settings.Interactivity.Enabled:
		d.Say("manifest", finding.Broken, "interactivity is off: Slack sends no clicks; turn it on under \"Interactivity & Shortcuts\"")
	case socket && !m.Settings.Socket:
		d.Say("manifest", finding.Broken, "Socket Mode is off, and this process uses nothing else")
	case !socket && m.Settings.Socket:
		d.Say("manifest", finding.Broken, "Socket Mode is on, so Slack sends nothing over HTTP, which this process uses")
	case !socket && !strings.HasSuffix(m.Settings.Interactivity.URL, PathInteractions):
		d.Say("manifest", finding.Broken, "the request URL of interactivity is %q; it must end with %s", m.Settings.Interactivity.URL, PathInteractions)
	default:
		d.Say("manifest", finding.Good, "interactivity and the transport match")
	}
	if !m.Features.Home.Tab {
		d.Say("manifest", finding.Missing, "the Home tab is off: people cannot list their pending asks there")
	}
	for _, event := range []string{"app_home_opened", "message.channels", "message.groups", "message.im"} {
		if !slices.Contains(m.Settings.Events.Bots, event) {
			d.Say("manifest", finding.Missing, "the event %s is not subscribed", event)
		}
	}
}
