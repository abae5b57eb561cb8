package discord

import (
	"context"
	"log/slog"
	"slices"

	"github.com/askbus/askbus/internal/process/lang"
)

// commandLink is the command of who wants to be linked with a person of the inbox: over HTTP the bot hears no messages.
const commandLink = "link"

// command is a command of an application.
type command struct {
	Name         string            `json:"name"`
	Type         int               `json:"type"` // 1: it is typed
	Description  string            `json:"description"`
	Descriptions map[string]string `json:"description_localizations,omitempty"`
	Contexts     []int             `json:"contexts"` // 0: on a server; 1: in a private chat with the bot
}

// offer makes the command known to Discord. It leaves one that is there as it is: Discord allows 200 new ones a day, and
// replicas start often.
func (s *App) offer(ctx context.Context) {
	me := s.me.Load()
	if me == nil {
		return
	}
	var known []command
	c := call{Method: "GET", Class: "commands", Path: "/applications/" + me.ID + "/commands", Rank: s.Now(), Into: &known}
	err := s.api.call(ctx, c)
	if err == nil && !slices.ContainsFunc(known, func(one command) bool { return one.Name == commandLink }) {
		about := func(language string) string { return lang.Of(language).Say("Be one person here and in the inbox") }
		c.Method, c.Into = "POST", nil
		c.Body = command{Name: commandLink, Type: 1, Description: about("en"), Descriptions: map[string]string{"zh-CN": about("zh")}, Contexts: []int{0, 1}}
		err = s.api.call(ctx, c)
	}
	if err != nil && ctx.Err() == nil {
		s.Log.WarnContext(ctx, "the command /link cannot be made", slog.String("error", err.Error()))
	}
}

// link makes a code for who used the command, and returns what to tell them.
func (s *App) link(ctx context.Context, in *interaction) string {
	l := s.Speaks(in.Locale, nil)
	if refused := in.barred(l); refused != "" {
		return refused
	}
	return s.LinkMe(ctx, l, in.User.by())
}

// commanded handles a command that came over the gateway, as to every replica: the one whose acknowledgement Discord
// takes makes the code.
func (s *App) commanded(ctx context.Context, in *interaction, send func(context.Context, reply) error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), handleFor)
	defer cancel()
	if s.sent(ctx, send(ctx, in.later())) {
		s.tellLater(ctx, in, s.act(ctx, in))
	}
}
