package feishu

import (
	"context"
	"net/url"

	"github.com/askbus/askbus/internal/answering/chat"
)

// Pair receives over the long connection until a private message says the code, and returns who wrote it and where. It
// ignores all others.
func (s *App) Pair(ctx context.Context, code string) (chat.Paired, error) {
	ctx, cancel := context.WithCancel(ctx)
	listening := make(chan error, 1)
	go func() { listening <- s.Listen(ctx) }()
	defer func() {
		cancel()
		<-listening //nolint:errcheck // Listen fails never
	}()
	who, err := s.WaitForCode(ctx, code)
	if err != nil {
		return who, err
	}
	if name, err := s.api.name(ctx, who.Place+"/"+who.Person); err == nil {
		who.Name = name
	}
	s.tell(ctx, who.Place, s.Speaks("", nil).Say("Connected. Questions of agents come here."), "paired-"+code)
	s.work.Wait() // the message that says the code is answered, or it comes again
	return who, nil
}

// pairs reports whether a code is waited for, and takes it if a private message says it. Then messages are nothing else.
func (s *App) pairs(e *event, m *message, words string) bool {
	p := s.Pairing()
	if p == nil {
		return false
	}
	if p.Says(words) && (m.Sender.Tenant == "" || m.Sender.Tenant == e.Header.Tenant) {
		p.Found(chat.Paired{Place: m.Message.Chat, Person: m.Sender.ID.Union, Principal: Type + ":" + url.PathEscape(e.Header.Tenant) + "/" + url.PathEscape(m.Sender.ID.Union)})
	}
	return true
}
