package slack

import (
	"cmp"
	"context"
	"errors"
	"log/slog"

	"github.com/askbus/askbus/internal/answering/chat"
)

// Pair receives over Socket Mode until a member of the workspace says the code in a direct message to the app, and ignores
// all else. [App.Connect] comes before it.
func (s *App) Pair(ctx context.Context, code string) (chat.Paired, error) {
	if s.opts.AppToken == "" {
		return chat.Paired{}, errors.New("without an app-level token the code cannot be heard: give the id of a channel with --channel")
	}
	listening, stop := context.WithCancel(ctx)
	over := make(chan struct{})
	go func() {
		defer close(over)
		_ = s.Listen(listening) // never fails
	}()
	defer func() { <-over }()
	defer stop()
	return s.WaitForCode(ctx, code)
}

// pairs takes the first message that says the code.
func (s *App) pairs(ctx context.Context, p *chat.Pairing, e *event, proof string) {
	ev := &e.Event
	if ev.Type != "message" || ev.Subtype != "" || ev.BotID != "" || ev.In != "im" || cmp.Or(ev.UserTeam, ev.Team) != s.Identity().Team || proof != proofSocket || !p.Says(ev.Text) {
		return
	}
	name := ev.User
	if one, err := s.people.Person(ctx, ev.User); err == nil {
		name = cmp.Or(one.name, name)
	}
	if !p.Found(chat.Paired{Person: ev.User, Principal: s.Identity().principal(ev.User), Name: name}) {
		return
	}
	if _, err := s.api.post(ctx, s.Now(), ev.Channel, "", false, textCard(s.Speaks("", nil).Say("Connected. Questions of agents come here.")), nil); err != nil {
		s.Log.InfoContext(ctx, "cannot write to a person", slog.String("error", err.Error()))
	}
}
