package slack

import (
	"context"
	"strings"

	"github.com/askbus/askbus/internal/answering/chat"
)

// Digest posts a digest as plain text.
func (p presenter) Digest(ctx context.Context, d *chat.Digest) error {
	channel, err := p.channel(ctx, d.To)
	if err != nil {
		return err
	}
	lines := d.Lines("")
	c := textCard(strings.Join(lines, "\n"))
	c.Text = literal(lines[0], 300) // of the notification
	_, err = p.api.post(ctx, p.Now(), channel, "", false, c, nil)
	return err
}
