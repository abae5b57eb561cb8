package teams

import (
	"context"
	"net/http"
	"strings"

	"github.com/askbus/askbus/internal/answering/chat"
	"github.com/askbus/askbus/internal/process/finding"
)

// Doctor checks what a working surface needs, and returns findings with fixes.
func (s *App) Doctor(ctx context.Context) (checks finding.List) {
	check := checks.Say
	if _, err := s.Connect(ctx); err != nil {
		words := err.Error()
		if s.api.ready() == nil {
			words = "the login service cannot be reached"
		}
		check("secret", finding.Broken, "%s", words)
		return checks
	}
	check("secret", finding.Good, "valid for the app %s in the directory %s", s.opts.AppID, s.opts.Directory)
	if _, err := s.from.key(ctx, ""); s.from.read.IsZero() {
		check("keys", finding.Broken, "the signing keys of the connector cannot be read, so every press is refused: %v", err)
	} else {
		check("keys", finding.Good, "the signing keys of the connector can be read")
	}
	routes := s.Routes()
	for _, channel := range routes.Channels() {
		if n, err := s.members(ctx, channel); err != nil {
			check("channel "+channel, finding.Broken, "the app is not in it, or it does not exist: add the app to the team or the chat; %v", err)
		} else {
			check("channel "+channel, finding.Good, "%s", chat.Members(n))
		}
	}
	chat.CheckGroups(ctx, &checks, routes, s.members)
	if person := routes.Default.Person; person != "" {
		check("person "+person, finding.Missing, "cannot be checked: they must have added the app, or written to it once")
	}
	check("endpoint", finding.Missing, "cannot be checked from here: Teams delivers presses to the messaging endpoint of the bot, which must be https://…"+PathMessages)
	return checks
}

// members counts the people of a conversation, up to a page.
func (s *App) members(ctx context.Context, id string) (int, error) {
	service := s.opts.ServiceURL
	if ref, ok, err := s.refs.find(ctx, id); err == nil && ok {
		service = ref.Service
	}
	var page struct {
		Members []member `json:"members"`
	}
	err := s.api.do(ctx, http.MethodGet, strings.TrimRight(service, "/")+conversations(id)+"/pagedmembers?pageSize=500", nil, &page)
	return len(page.Members), err
}
