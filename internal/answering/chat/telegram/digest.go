package telegram

import (
	"cmp"
	"context"

	"github.com/askbus/askbus/internal/answering/chat"
)

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
