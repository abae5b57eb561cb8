package discord

import (
	"context"
	"strings"

	"github.com/askbus/askbus/internal/answering/chat"
)

// Private writes words and a link to a person in a direct message.
func (s *App) Private(ctx context.Context, person, words, link string) error {
	channel, err := s.channel(ctx, s.Now(), chat.Target{Person: person})
	if err != nil {
		return err
	}
	words += "\n" + link
	_, err = s.api.post(ctx, s.Now(), channel, message{Content: &words, Components: []component{}, Mentions: mentions{Parse: []string{}}})
	return err
}

// Digest posts a digest. For some minutes its nonce prevents a second one.
func (p presenter) Digest(ctx context.Context, d *chat.Digest) error {
	channel, err := p.channel(ctx, p.Now(), d.To)
	if err != nil {
		return err
	}
	lines := d.Lines("")
	for i := range lines {
		lines[i] = literal(lines[i], chat.DigestLine)
	}
	lines[0] = "**" + lines[0] + "**"
	m := messageOf(nil, component{Type: typeText, Content: chat.ClipUnits(strings.Join(lines, "\n"), maxDigest)})
	m.Nonce, m.Enforce = d.Key, true
	_, err = p.api.post(ctx, p.Now(), channel, m)
	return err
}

// maxDigest is below the limit of all text in a message, which is 4,000.
const maxDigest = 3_900
