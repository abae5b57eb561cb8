package slack

import (
	"cmp"
	"context"
	"errors"
	"log/slog"

	"github.com/askbus/askbus/internal/answering/chat"
)

// pairing waits for a code.
type pairing struct {
	code  string
	found chan chat.Paired
}

// Pair receives over Socket Mode until a member of the workspace says the code in a direct message to the app, and ignores
// all else. [App.Connect] comes before it.
func (s *App) Pair(ctx context.Context, code string) (chat.Paired, error) {
	if s.opts.AppToken == "" {
		return chat.Paired{}, errors.New("without an app-level token the code cannot be heard: give the id of a channel with --channel")
	}
	p := &pairing{code, make(chan chat.Paired, 1)}
	s.pairing.Store(p)
	listening, stop := context.WithCancel(ctx)
	over := make(chan struct{})
	go func() {
		defer close(over)
		_ = s.Listen(listening) // never fails
	}()
	defer func() { <-over }()
	defer stop()
	select {
	case one := <-p.found:
		return one, nil
	case <-ctx.Done():
		return chat.Paired{}, ctx.Err()
	}
}

// pairs takes the first message that says the code.
func (s *App) pairs(ctx context.Context, p *pairing, e *event, proof string) {
	ev := &e.Event
	if ev.Type != "message" || ev.Subtype != "" || ev.BotID != "" || ev.In != "im" || cmp.Or(ev.UserTeam, ev.Team) != s.Identity().Team || proof != proofSocket || !chat.SaysCode(ev.Text, p.code) {
		return
	}
	name := ev.User
	if one, err := s.people.Person(ctx, ev.User); err == nil {
		name = cmp.Or(one.name, name)
	}
	select {
	case p.found <- chat.Paired{Person: ev.User, Principal: s.Identity().principal(ev.User), Name: name}:
	default: // somebody was faster
		return
	}
	if _, err := s.api.post(ctx, s.Now(), ev.Channel, "", false, textCard(s.Speaks("", nil).Say("Connected. Questions of agents come here.")), nil); err != nil {
		s.Log.InfoContext(ctx, "cannot write to a person", slog.String("error", err.Error()))
	}
}
