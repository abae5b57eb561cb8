package telegram

import (
	"cmp"
	"context"
	"fmt"

	"github.com/askbus/askbus/internal/answering/chat"
)

// Private writes words and a link to a person in their own chat with the bot, never in a group.
func (s *App) Private(ctx context.Context, person, words, link string) error {
	if at, _ := parsePlace(person); at.Chat <= 0 {
		return fmt.Errorf("%q is not the id of a person", person)
	}
	return s.Note(ctx, s.PrivateNote(person, words, link))
}

// Note posts a note.
func (s *App) Note(ctx context.Context, n *chat.Note) error {
	at, ok := parsePlace(cmp.Or(n.Ref, n.To.Channel, n.To.Person))
	if n.Ref != "" && !ok {
		return nil
	}
	var t text
	for i, line := range n.Lines {
		typ := ""
		switch {
		case n.Step:
			line = "🚨 " + line
		case i == 0 && n.Link == "":
			typ = "bold"
		}
		t.add(line, typ, "")
		t.add("\n", "", "")
	}
	if n.Link != "" && n.Ref == "" {
		t.add(n.Link+"\n", "", "")
	}
	t.mention(n.Mention)
	_, err := s.api.send(ctx, at, n.Rank, t, nil, at.ID)
	return err
}
