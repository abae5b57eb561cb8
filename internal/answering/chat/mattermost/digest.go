package mattermost

import (
	"context"
	"strings"

	"github.com/askbus/askbus/internal/answering/chat"
)

// Private writes words and a link to a person in a direct message.
func (s *App) Private(ctx context.Context, person, words, link string) error {
	channel, err := s.api.direct(ctx, s.Now(), person)
	if err != nil {
		return err
	}
	_, err = s.api.send(ctx, s.Now(), &post{Channel: channel, Message: literal(words) + "\n" + link})
	return err
}

// Digest posts a digest.
func (p presenter) Digest(ctx context.Context, d *chat.Digest) (err error) {
	made := &post{Channel: d.To.Channel}
	if made.Channel == "" {
		if made.Channel, err = p.api.direct(ctx, p.Now(), d.To.Person); err != nil {
			return err
		}
	}
	lines := d.Lines("")
	for i := range lines {
		lines[i] = clean(lines[i], chat.DigestLine)
	}
	lines[0] = "**" + lines[0] + "**"
	made.Message = strings.Join(lines, "\n")
	_, err = p.api.send(ctx, p.Now(), made)
	return err
}
