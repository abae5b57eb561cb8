package discord

import (
	"context"
	"strings"

	"github.com/askbus/askbus/internal/answering/chat"
)

// Private writes words and a link to a person in a direct message.
func (s *App) Private(ctx context.Context, person, words, link string) error {
	return s.Note(ctx, s.PrivateNote(person, words, link))
}

// maxNote is below the limit of all text in a message, which is 4,000.
const maxNote = 3_900

// Note posts a note. For some minutes its nonce prevents a second one.
func (s *App) Note(ctx context.Context, n *chat.Note) error {
	lines := make([]string, len(n.Lines))
	for i := range lines {
		lines[i] = escape(n.Lines[i])
	}
	switch {
	case n.Step:
		lines[0] = "🚨 " + lines[0]
	case n.Link == "":
		lines[0] = "**" + lines[0] + "**"
	}
	if n.Link != "" && n.Ref == "" {
		lines = append(lines, "<"+n.Link+">")
	}
	m := messageOf(n.Mention, component{Type: typeText, Content: chat.ClipUnits(strings.Join(lines, "\n"), maxNote)})
	m.Nonce, m.Enforce = n.Key, n.Key != ""
	at, ok := chat.ParseMessage(n.Ref)
	if ok {
		m.Reference = &reference{at.ID, false}
	} else {
		var err error
		if at.Channel, err = s.channel(ctx, n.Rank, n.To); err != nil {
			return err
		}
	}
	_, err := s.api.post(ctx, n.Rank, at.Channel, m)
	return err
}
