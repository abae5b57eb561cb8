package mattermost

import (
	"context"
	"strings"

	"github.com/askbus/askbus/internal/answering/chat"
)

// Private writes words and a link to a person in a direct message.
func (s *App) Private(ctx context.Context, person, words, link string) error {
	return s.Note(ctx, s.PrivateNote(person, words, link))
}

// Note posts a note.
func (s *App) Note(ctx context.Context, n *chat.Note) (err error) {
	lines := make([]string, len(n.Lines))
	for i := range lines {
		lines[i] = literal(n.Lines[i])
	}
	switch {
	case n.Step:
		lines[0] = s.mention(ctx, n.Mention) + "🚨 " + lines[0]
	case n.Link == "":
		lines[0] = "**" + lines[0] + "**"
	}
	if n.Link != "" && n.Ref == "" {
		lines = append(lines, n.Link)
	}
	made := &post{Channel: n.To.Channel, Message: strings.Join(lines, "\n")}
	if m, ok := chat.ParseMessage(n.Ref); ok {
		made.Channel, made.Root = m.Channel, m.ID
	}
	if made.Channel == "" {
		if made.Channel, err = s.api.direct(ctx, n.Rank, n.To.Person); err != nil {
			return err
		}
	}
	_, err = s.api.send(ctx, n.Rank, made)
	return err
}
