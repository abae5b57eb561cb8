package teams

import (
	"context"
	"encoding/json"
	"log/slog"
	"slices"
	"strings"

	"github.com/askbus/askbus/internal/answering/chat"
)

// Pair waits until a private message to [App.Handler] says the code, and returns who wrote it and where. It ignores all
// others.
func (s *App) Pair(ctx context.Context, code string) (chat.Paired, error) {
	return s.WaitForCode(ctx, code)
}

// MayPair reports whether a call's body, which nobody has verified, can be a private message that says a code.
func MayPair(body []byte) bool {
	var in activity
	if json.Unmarshal(body, &in) != nil || in.Type != "message" || len(in.Value) > 0 || !in.personal() {
		return false
	}
	words, _ := in.words()
	return chat.MayBeCode(words)
}

// pairs takes a verified activity while a code is waited for: then nothing else counts.
func (s *App) pairs(ctx context.Context, p *chat.Pairing, in *activity) {
	words, _ := in.words()
	object := strings.ToLower(in.From.Object)
	if in.Type != "message" || !in.personal() || in.From.Role == "bot" || !guidForm.MatchString(object) || !p.Says(words) {
		return
	}
	s.after.Do(ctx, func(ctx context.Context) {
		here := place{Service: in.Service, Conversation: in.Conversation.ID}
		m, err := s.api.member(ctx, here, object)
		if err != nil {
			s.Log.WarnContext(ctx, "cannot look up who said the code; say it again", slog.String("error", err.Error()))
			return
		}
		if s.guest(&m) && !slices.Contains(s.opts.Guests, object) {
			s.tell(ctx, in, s.Speaks(in.Locale, nil).Say("Guests may not answer here. The administrator of askbus can list you: %s.", object))
			return
		}
		who := chat.Paired{Place: in.Conversation.ID, Person: object, Principal: s.member(in).Principal, Name: in.From.Name}
		if service := strings.TrimRight(in.Service, "/"); service != s.opts.ServiceURL {
			who.Settings = map[string]string{"SERVICE_URL": service}
		}
		s.tell(ctx, in, s.Speaks(in.Locale, nil).Say("Connected. Questions of agents come here."))
		p.Found(who)
	})
}
