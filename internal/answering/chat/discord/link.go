package discord

import (
	"context"
	"encoding/json"
	"log/slog"

	"github.com/askbus/askbus/internal/answering/chat"
)

// wrote handles a direct message: somebody who wants to be linked with a person of the inbox. Every replica hears it; one
// makes the code and replies.
func (s *App) wrote(ctx context.Context, data json.RawMessage) {
	var m struct {
		ID      string `json:"id"`
		Channel string `json:"channel_id"`
		Server  string `json:"guild_id"`
		Author  user   `json:"author"`
		Content string `json:"content"`
	}
	if json.Unmarshal(data, &m) != nil || m.Server != "" || m.Author.Bot || m.Author.ID == "" || !chat.SaysLink(m.Content) {
		return
	}
	if !s.busy.Begin() {
		return
	}
	s.after.Go(func() {
		defer s.busy.End()
		told := s.LinkMeOnce(ctx, s.Speaks("", nil), m.Author.by(), s.opts.Token+"\x00"+m.ID)
		if told == "" {
			return
		}
		if _, err := s.api.post(ctx, s.Now(), m.Channel, message{Content: &told, Components: []component{}, Mentions: mentions{Parse: []string{}}, Nonce: "link" + m.ID, Enforce: true}); err != nil {
			s.Log.InfoContext(ctx, "cannot write to a person", slog.String("error", err.Error()))
		}
	})
}
