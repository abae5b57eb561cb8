package telegram

import (
	"context"
	"errors"
	"strconv"

	"github.com/askbus/askbus/internal/answering/chat"
	"github.com/askbus/askbus/internal/process/finding"
	"github.com/go-telegram/bot"
)

// Doctor checks what a working surface needs, and returns findings with fixes. It does not poll: that would end the
// poll of a process that runs.
func (s *App) Doctor(ctx context.Context) (checks finding.List) {
	check := checks.Say
	name, err := s.Connect(ctx)
	if err != nil {
		words := "Telegram cannot be reached"
		if errors.Is(err, errRevoked) {
			words = err.Error()
		}
		check("token", finding.Broken, "%s", words)
		return checks
	}
	check("token", finding.Good, "valid for %s", name)
	switch hook, err := s.api.bot.GetWebhookInfo(ctx); {
	case err != nil:
		check("polling", finding.Missing, "cannot be checked")
	case s.webhook != "" && hook.URL == s.hook() && hook.LastErrorMessage != "":
		check("webhook", finding.Missing, "Telegram calls %s, and lately failed: %s", s.hook(), hook.LastErrorMessage)
	case s.webhook != "" && hook.URL == s.hook():
		check("webhook", finding.Good, "Telegram calls %s; %d updates wait", s.hook(), hook.PendingUpdateCount)
	case s.webhook != "":
		check("webhook", finding.Missing, "Telegram does not call %s yet: a process sets that when it starts", s.hook())
	case hook.URL != "":
		check("polling", finding.Broken, "a webhook is set, so presses and replies go elsewhere: delete it with deleteWebhook")
	default:
		check("polling", finding.Good, "no webhook is set; let one process poll")
	}
	routes := s.Routes()
	for _, channel := range routes.Channels() {
		at, _ := parsePlace(channel)
		c, err := s.api.bot.GetChat(ctx, &bot.GetChatParams{ChatID: at.Chat})
		if err != nil {
			check("chat "+channel, finding.Broken, "no chat has this id, or the bot is not in it: add the bot to it; /id in a chat tells its id")
			continue
		}
		check("chat "+channel, finding.Good, "%s %s", c.Type, c.Title)
	}
	chat.CheckGroups(ctx, &checks, routes, func(ctx context.Context, id string) (int, error) {
		n, err := s.api.bot.GetChatMemberCount(ctx, &bot.GetChatMemberCountParams{ChatID: id})
		if err != nil {
			return 0, errors.New("no chat has this id, or the bot is not in it")
		}
		return n - 1, nil // without the bot
	})
	if _, err := strconv.ParseInt(routes.Default.Person, 10, 64); err == nil {
		check("person "+routes.Default.Person, finding.Missing, "cannot be checked: they must have begun a chat with the bot")
	}
	return checks
}
