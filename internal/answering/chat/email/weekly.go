package email

import (
	"cmp"
	"context"
	"strings"

	"github.com/askbus/askbus/internal/answering/chat"
	"github.com/wneessen/go-mail"
)

// Digest mails the digest of the week as plain text, unless the address wants no mails of the tenant.
func (p presenter) Digest(ctx context.Context, d *chat.Digest) error {
	to := strings.ToLower(cmp.Or(d.To.Person, d.To.Channel))
	if p.tenant != "" {
		if none, err := p.stopped(ctx, p.tenant, to); none || err != nil {
			return err
		}
	}
	lines := d.Lines(p.people().People[to].Language)
	m, err := p.envelope(to, "", p.tenant, lines[0])
	if err != nil {
		return err
	}
	m.SetMessageIDWithValue(p.messageID("askbus-week", to, "."+d.Key))
	m.SetBodyString(mail.TypeTextPlain, strings.Join(lines, "\n")+"\n")
	return p.mailer.send(ctx, to, p.Now(), m)
}
