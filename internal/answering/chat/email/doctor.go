package email

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/askbus/askbus/internal/process/finding"
	"github.com/wneessen/go-mail"
)

// Doctor checks what a working surface needs, and returns findings with fixes. It sends no mail.
func (s *App) Doctor(ctx context.Context) (checks finding.List) {
	check := checks.Say
	switch name, err := s.Connect(ctx); {
	case err == nil && s.mailer.server.tls == mail.NoTLS:
		check("mail server", finding.Good, "%s takes mail, without TLS", name)
	case err == nil:
		check("mail server", finding.Good, "%s takes mail and these credentials", name)
	case strings.Contains(err.Error(), "535"):
		check("mail server", finding.Broken, "%s refuses the user or the password: set ASKBUS_EMAIL_PASSWORD_FILE to a valid one", name)
	default:
		check("mail server", finding.Broken, "%s cannot be used: %v", name, err)
	}
	switch {
	case s.opts.URL == "":
		check("pages", finding.Missing, "no ASKBUS_EMAIL_URL: mails have no page on which to answer")
	case !strings.HasPrefix(s.opts.URL, "https://"):
		check("pages", finding.Missing, "%s is not https: links can be read on the way, and mail programs offer no button to stop mails", s.opts.URL)
	default:
		check("pages", finding.Good, "links lead to %s; open it from outside to see that it is reachable", s.opts.URL)
	}
	if s.opts.Reply == "" {
		check("replies", finding.Missing, "no ASKBUS_EMAIL_REPLY: nobody can answer by a reply")
	} else {
		check("replies", finding.Good, "to %s, if %s says dkim=pass for the sender's domain", s.opts.Reply, s.opts.AuthServ)
	}
	for _, list := range s.Routes().Channels() {
		if s.opts.Reply == "" && s.opts.Link == nil {
			check("list "+list, finding.Missing, "nobody can answer its mails: links to a page are for persons only; set ASKBUS_EMAIL_INBOX or ASKBUS_EMAIL_REPLY")
		}
	}
	s.checkNotes(ctx, &checks)
	return checks
}

// maxNamed bounds the addresses that a doctor names.
const maxNamed = 20

// checkNotes reports the addresses from which mails came back, and those that want none.
func (s *App) checkNotes(ctx context.Context, checks *finding.List) {
	check := checks.Say
	if s.sent == nil {
		return
	}
	notes, err := s.sent.List(ctx)
	if err != nil {
		check("addresses", finding.Missing, "what came back cannot be read: %v", err)
		return
	}
	named, more := 0, 0
	for i := range notes {
		kind, _, _ := strings.Cut(notes[i].Key.Name, ".")
		var note address
		if kind != notedStop && kind != notedBounce || json.Unmarshal(notes[i].Value, &note) != nil {
			continue
		}
		if named++; named > maxNamed {
			more++
			continue
		}
		if kind == notedStop {
			check("address "+note.Address, finding.Missing, "wants no mail of tenant %s since %s", notes[i].Key.Tenant, note.At.Format("2006-01-02"))
		} else {
			check("address "+note.Address, finding.Missing, "a mail came back on %s: %s", note.At.Format("2006-01-02 15:04"), note.Why)
		}
	}
	if more > 0 {
		check("addresses", finding.Missing, "%d more came back or want no mail", more)
	}
	if named == 0 {
		check("addresses", finding.Good, "nothing came back, and nobody has stopped mails")
	}
}
