package email

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/askbus/askbus/internal/answering/chat"
	"github.com/askbus/askbus/pkg/responder"
	"github.com/wneessen/go-mail"
)

// SignsIn reports whether a mail server is used by a user, who has a password.
func SignsIn(smtp string) bool {
	s, err := parseServer(smtp)
	return err == nil && s.User != ""
}

// MailCode mails a code to an address, and returns whose it is. Somebody who knows the code reads that address's mail.
func (s *App) MailCode(ctx context.Context, to, code string) (chat.Paired, error) {
	to = strings.ToLower(to)
	if !addressForm().MatchString(to) {
		return chat.Paired{}, fmt.Errorf("%q is not an address such as mei@example.com", to)
	}
	l := s.speaks(to, nil)
	m, err := s.envelope(to, "", "", l.Say("%s is your code for askbus", code))
	if err != nil {
		return chat.Paired{}, err
	}
	m.SetMessageID()
	m.SetBodyString(mail.TypeTextPlain, l.Say("Enter this code where “askbus connect email” asks for it. If you have not run that, ignore this mail: nothing happens.")+"\n\n    "+code+"\n")
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	if err := s.mailer.send(ctx, to, responder.Rank{At: s.Clock.Now()}, m); err != nil {
		return chat.Paired{}, fmt.Errorf("the mail server does not take a mail to %s: %w", to, err)
	}
	return chat.Paired{Person: to, Principal: principal(to), Name: to}, nil
}
