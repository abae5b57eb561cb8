package feishu

import (
	"cmp"
	"context"
	"strings"

	"github.com/askbus/askbus/internal/answering/chat"
)

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
