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
	_, err := s.api.post(ctx, s.Now(), person, "text", textOf(words+"\n"+link), keyPrefix+rand.Text())
	return err
}

// Digest posts a digest. For an hour its uuid prevents a second one.
func (p presenter) Digest(ctx context.Context, d *chat.Digest) error {
	lines := d.Lines("")
	for i := range lines {
		lines[i] = literal(lines[i], 3*chat.DigestLine) // bytes
	}
	to := cmp.Or(d.To.Channel, d.To.Person)
	_, err := p.api.post(ctx, p.Now(), to, "text", textOf(strings.Join(lines, "\n")), keyPrefix+d.Key)
	return err
}
