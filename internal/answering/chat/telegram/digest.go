package telegram

import (
	"cmp"
	"context"
	"fmt"

	"github.com/askbus/askbus/internal/answering/chat"
)

// Private writes words and a link to a person in their own chat with the bot, never in a group.
func (s *App) Private(ctx context.Context, person, words, link string) error {
	at, _ := parsePlace(person)
	if at.Chat <= 0 {
		return fmt.Errorf("%q is not the id of a person", person)
	}
	var t text
	t.add(words+"\n"+link, "", "")
	_, err := s.api.send(ctx, at, s.Now(), t, nil, 0)
	return err
}

// Digest posts a digest.
func (p presenter) Digest(ctx context.Context, d *chat.Digest) error {
	at, _ := parsePlace(cmp.Or(d.To.Channel, d.To.Person))
	var t text
	for i, line := range d.Lines("") {
		typ := ""
		if i == 0 {
			typ = "bold"
		}
		t.add(literal(line, chat.DigestLine), typ, "")
		t.add("\n", "", "")
	}
	_, err := p.api.send(ctx, at, p.Now(), t, nil, 0)
	return err
}
