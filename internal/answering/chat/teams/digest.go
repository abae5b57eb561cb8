package teams

import (
	"context"

	"github.com/askbus/askbus/internal/answering/chat"
)

// Digest posts a digest as a card.
func (p presenter) Digest(ctx context.Context, d *chat.Digest) error {
	at, err := p.where(ctx, d.To)
	if err != nil {
		return err
	}
	lines, s := d.Lines(""), newSheet()
	for i, one := range lines {
		words, spacing := literal(clip(one, chat.DigestLine)), "None"
		if i == 0 {
			words, spacing = bold(clip(one, chat.DigestLine)), ""
		}
		s.Body = append(s.Body, line(spacing, words))
	}
	s.Fallback = inert.Replace(clip(lines[0], chat.DigestLine))
	m := carrying(s)
	m.Summary = s.Fallback
	_, err = p.api.send(ctx, at, isChannel(at.Conversation), p.Now(), m)
	return err
}
