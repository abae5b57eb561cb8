package feishu

import (
	"context"
	"errors"
	"net/http"
	"net/url"

	"github.com/askbus/askbus/internal/answering/chat"
	"github.com/askbus/askbus/internal/process/finding"
)

// Doctor checks what a working surface needs, and returns findings with fixes. It opens no long connection: that would
// take events from a process that runs.
func (s *App) Doctor(ctx context.Context) (checks finding.List) {
	check := checks.Say
	name, err := s.Connect(ctx)
	switch {
	case s.api.refused.Load():
		check("app", finding.Broken, "%s does not know the app's id and secret; copy them again from the page of the app's credentials", s.opts.Domain)
		return checks
	case is(err, 99991672, 99991679, 11205):
		check("app", finding.Broken, "the app has no bot: add the capability “Bot” (机器人) and publish a version")
		return checks
	case err != nil:
		check("app", finding.Broken, "cannot be checked: %v", err)
		return checks
	}
	check("app", finding.Good, "valid for the bot %s at %s", name, s.opts.Domain)
	if s.opts.Webhooks() {
		check("events", finding.Missing, "webhooks: whether Feishu reaches this address cannot be checked from here; saving it in the app's settings does")
	} else {
		switch _, err := s.endpoint(ctx); {
		case err != nil:
			check("events", finding.Broken, "no long connection can be opened: %v; choose it in the app's settings for events and for callbacks", err)
		default:
			check("events", finding.Good, "a long connection can be opened; “card.action.trigger” and “im.message.receive_v1” must be added in the app's settings, which cannot be checked")
		}
	}
	routes := s.Routes()
	for _, id := range routes.Channels() {
		var found struct {
			Name string `json:"name"`
		}
		err := s.api.call(ctx, s.Now(), request{method: http.MethodGet, path: "/open-apis/im/v1/chats/" + url.PathEscape(id), class: classRead}, &found)
		if err != nil {
			check("chat "+id, finding.Broken, "no chat has this id, or the bot is not in it: add it in the chat's settings; “@bot /id” in a chat tells its id")
			continue
		}
		check("chat "+id, finding.Good, "%s", found.Name)
	}
	chat.CheckGroups(ctx, &checks, routes, func(ctx context.Context, id string) (int, error) {
		ids, err := s.api.members(ctx, id)
		if err != nil {
			return 0, errors.New("no chat has this id, or the bot is not in it")
		}
		return len(ids), nil
	})
	return checks
}
