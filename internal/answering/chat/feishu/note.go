package feishu

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"strings"

	"github.com/askbus/askbus/internal/answering/chat"
)

// Private writes words and a link to a person, never to a group.
func (s *App) Private(ctx context.Context, person, words, link string) error {
	if strings.HasPrefix(person, "oc_") {
		return fmt.Errorf("%q is not the id of a person", person)
	}
	return s.Note(ctx, s.PrivateNote(person, words, link))
}

// Note posts a note. For an hour its uuid prevents a second one, wherever it is.
func (s *App) Note(ctx context.Context, n *chat.Note) error {
	lines := n.Lines
	if n.Link != "" && n.Ref == "" {
		lines = append(lines, n.Link)
	}
	words, uuid := textOf(strings.Join(lines, "\n"), n.Mention...), keyPrefix+cmp.Or(n.Key, rand.Text())
	if n.Ref == "" {
		_, err := s.api.post(ctx, n.Rank, cmp.Or(n.To.Channel, n.To.Person), "text", words, uuid)
		return err
	}
	m, ok := chat.ParseMessage(n.Ref)
	if !ok {
		return nil
	}
	return s.api.reply(ctx, n.Rank, m.Channel, m.ID, "text", words, uuid)
}
