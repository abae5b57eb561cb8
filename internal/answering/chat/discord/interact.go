package discord

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/askbus/askbus/internal/answering/chat"
	"github.com/askbus/askbus/internal/process/lang"
	"github.com/askbus/askbus/pkg/ask"
)

// user is a person or a bot.
type user struct {
	ID       string `json:"id"`
	Username string `json:"username"`
	Global   string `json:"global_name"`
	Bot      bool   `json:"bot"`
}

// Types of interactions.
const (
	typePing    = 1
	typeCommand = 2
	typeButton  = 3 // or a select menu
	typeForm    = 5
)

// interaction is what a person did. It decodes only what is needed.
type interaction struct {
	ID      string `json:"id"`
	App     string `json:"application_id"`
	Type    int    `json:"type"`
	Token   string `json:"token"`
	Channel string `json:"channel_id"`
	Locale  string `json:"locale"`
	Member  *struct {
		User    user     `json:"user"`
		Nick    string   `json:"nick"`
		Roles   []string `json:"roles"`
		Flags   int      `json:"flags"`
		Pending bool     `json:"pending"`
	} `json:"member"`
	User    user  `json:"user"`
	Message found `json:"message"`
	Data    struct {
		ID         string      `json:"custom_id"`
		Name       string      `json:"name"` // of a command
		Values     []string    `json:"values"`
		Components []component `json:"components"`
	} `json:"data"`
}

// readInteraction decodes one. One that names no user is refused: it would be nobody's answer.
func readInteraction(data []byte) (*interaction, error) {
	var in interaction
	if err := json.Unmarshal(data, &in); err != nil {
		return nil, fmt.Errorf("malformed interaction: %w", err)
	}
	if in.Member != nil {
		in.User = in.Member.User
	}
	if in.Type != typePing && (in.User.ID == "" || in.ID == "" || in.Token == "") {
		return nil, errors.New("invalid interaction: user.id, id or token is empty")
	}
	if in.Type == typeCommand && in.Data.Name != commandLink {
		return nil, errors.New("invalid interaction: data.name is not a command of askbus")
	}
	return &in, nil
}

// memberGuest marks members who may only use the voice channel that they were invited to.
const memberGuest = 1 << 4

// by returns a user as Discord proves them.
func (u *user) by() ask.By {
	return ask.By{Principal: Type + ":" + u.ID, Name: cmp.Or(u.Global, u.Username, u.ID), Proof: ask.ProofDiscord}
}

// barred returns why nothing that this user does counts, or "".
func (in *interaction) barred(l *lang.Language) string {
	switch m := in.Member; {
	case in.User.Bot:
		return l.Say("Only a person can answer; bots cannot.")
	case m != nil && (m.Flags&memberGuest != 0 || m.Pending):
		return l.Say("Guests of this server, and members whom it has not admitted yet, cannot answer.")
	}
	return ""
}

// by returns the person for the broker, or why they may not act at all.
func (s *App) by(ctx context.Context, l *lang.Language, in *interaction, a *ask.Ask) (by ask.By, refused string) {
	by = in.User.by()
	var roles []string
	if m := in.Member; m != nil {
		by.Name, roles = cmp.Or(m.Nick, by.Name), m.Roles
	}
	if refused = in.barred(l); refused != "" {
		return by, refused
	}
	s.Identify(ctx, &by, in.User.ID, a, func(group string) (bool, error) {
		return slices.Contains(roles, strings.TrimPrefix(group, rolePrefix)), nil
	})
	return by, ""
}

// at returns the message of an ask that a person used: a form that was opened again comes from a message that only
// they see.
func (in *interaction) at(rec *ask.Record, typ string) string {
	if in.Message.Flags&flagEphemeral == 0 {
		return chat.Message{Channel: in.Channel, ID: in.Message.ID}.Ref()
	}
	for _, one := range chat.Posted(typ, rec) {
		if m, ok := chat.ParseMessage(one.Ref); ok && m.Channel == in.Channel {
			return one.Ref
		}
	}
	return ""
}

// outcome is what an interaction comes to: a form, words for the person alone with buttons, or nothing to say.
type outcome struct {
	form  *form
	told  string
	extra []component
}

func tell(words string, extra ...component) outcome { return outcome{told: words, extra: extra} }

// Types of replies.
const (
	replyPong    = 1
	replyMessage = 4
	replyLater   = 5 // the person sees that it is in progress
	replyNothing = 6
	replyForm    = 9
)

// reply is the first reply to an interaction.
type reply struct {
	Type int `json:"type"`
	Data any `json:"data,omitempty"`
}

func (o outcome) reply() reply {
	switch {
	case o.form != nil:
		return reply{replyForm, o.form}
	case o.told != "":
		return reply{replyMessage, o.message()}
	}
	return reply{Type: replyNothing}
}

// message returns the words as a message that only one person sees.
func (o outcome) message() message {
	m := said(chat.ClipUnits(o.told, 1900))
	if m.Flags = flagEphemeral; len(o.extra) > 0 {
		m.Components = []component{{Type: typeRow, Components: o.extra}}
	}
	return m
}

// begin reports whether an interaction is new and there is room for it, until busy ends. The gateway repeats what it
// cannot tell was received.
func (s *App) begin(in *interaction) bool {
	if !s.busy.Begin() {
		return false
	}
	if again, _ := s.handled.ContainsOrAdd(in.ID, struct{}{}); again {
		s.busy.End()
		return false
	}
	return true
}

// inTime stores first and then replies. If that takes too long it replies that it takes longer, and tells the result
// later. If another replica has replied, it tells nothing.
func (s *App) inTime(ctx context.Context, in *interaction, send func(context.Context, reply) error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), handleFor)
	defer cancel()
	result := make(chan outcome, 1)
	go func() { result <- s.act(ctx, in) }()
	timer := time.NewTimer(s.opts.AckAfter)
	defer timer.Stop()
	select {
	case o := <-result:
		s.sent(ctx, send(ctx, o.reply()))
		return
	case <-timer.C:
	}
	replied := s.sent(ctx, send(ctx, in.later()))
	o := <-result
	if replied {
		s.tellLater(ctx, in, o)
	}
}

// later is the first reply to what takes longer.
func (in *interaction) later() reply {
	if in.Type == typeButton {
		return reply{Type: replyNothing}
	}
	return reply{replyLater, map[string]int{"flags": flagEphemeral}}
}

// tellLater tells the result of an interaction that was acknowledged before it was stored.
func (s *App) tellLater(ctx context.Context, in *interaction, o outcome) {
	l := s.Speaks(in.Locale, nil)
	if o.form != nil {
		o = tell(l.Say("The form could not be opened in time. Please click again."))
	}
	path := "/webhooks/" + in.App + "/" + in.Token
	c := call{Method: "POST", Path: path}
	if in.Type != typeButton {
		c = call{Method: "PATCH", Path: path + "/messages/@original"}
		if o.told == "" {
			o = tell(l.Say("Your answer is stored."))
		}
	}
	if o.told == "" {
		return
	}
	c.Body = o.message()
	if err := s.api.call(ctx, c); err != nil {
		s.Log.InfoContext(ctx, "cannot tell a person the result", slog.String("error", err.Error()))
	}
}

// sent reports whether a reply was taken.
func (s *App) sent(ctx context.Context, err error) bool {
	if err != nil && code(err) != acknowledged {
		s.Log.InfoContext(ctx, "cannot reply to an interaction", slog.String("error", err.Error()))
	}
	return err == nil
}
