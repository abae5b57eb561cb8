package feishu

import (
	"context"
	"net/url"

	"github.com/askbus/askbus/internal/answering/chat"
)

// pairing is a code that is waited for.
type pairing struct {
	code  string
	found chan chat.Paired
}

// Pair receives over the long connection until a private message says the code, and returns who wrote it and where. It
// ignores all others.
func (s *App) Pair(ctx context.Context, code string) (chat.Paired, error) {
	p := &pairing{code, make(chan chat.Paired, 1)}
	s.pairing.Store(p)
	defer s.pairing.Store(nil)
	ctx, cancel := context.WithCancel(ctx)
	listening := make(chan error, 1)
	go func() { listening <- s.Listen(ctx) }()
	defer func() {
		cancel()
		<-listening //nolint:errcheck // Listen fails never
	}()
	select {
	case who := <-p.found:
		if name, err := s.api.name(ctx, who.Place+"/"+who.Person); err == nil {
			who.Name = name
		}
		return who, nil
	case <-ctx.Done():
		return chat.Paired{}, ctx.Err()
	}
}

// pairs reports whether a code is waited for, and takes it if a private message says it. Then messages are nothing else.
func (s *App) pairs(e *event, m *message, words string) bool {
	p := s.pairing.Load()
	if p == nil {
		return false
	}
	if chat.SaysCode(words, p.code) && (m.Sender.Tenant == "" || m.Sender.Tenant == e.Header.Tenant) {
		who := chat.Paired{Place: m.Message.Chat, Person: m.Sender.ID.Union, Principal: Type + ":" + url.PathEscape(e.Header.Tenant) + "/" + url.PathEscape(m.Sender.ID.Union)}
		select {
		case p.found <- who:
		default: // somebody said it already
		}
	}
	return true
}
