package email

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strings"

	"github.com/askbus/askbus/internal/answering/chat"
	"github.com/askbus/askbus/internal/protocol/wire"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/emersion/go-message"
	"github.com/emersion/go-smtp"
	"github.com/wneessen/go-mail"
)

var notTaken = smtp.EnhancedCode{5, 7, 1} //nolint:gochecknoglobals // never changed

// askedToLink handles a mail to the plain address of replies: somebody who wants to be linked with a person of the inbox.
// Every other mail is refused there, as at an address that no mail has given to anybody. The own server tells its sender.
func (s *App) askedToLink(ctx context.Context, sender, to string, raw []byte) error {
	e, err := message.Read(bytes.NewReader(raw))
	if err != nil && !message.IsUnknownCharset(err) && !message.IsUnknownEncoding(err) {
		return fault(550, notTaken, "the mail cannot be read")
	}
	if why := automatic(&e.Header, sender); report(e) || why != nil {
		s.Log.InfoContext(ctx, "ignored a mail to the address of replies", slog.Any("error", why))
		return nil
	}
	from, why := author(e)
	_, domain, _ := strings.Cut(from, "@")
	subject, _ := e.Header.Text("Subject")
	words := above(textOf(e))
	switch {
	case why != nil:
		return fault(550, notTaken, why.Error())
	case !chat.SaysLink(words) && (words != "" || !chat.SaysLink(subject)):
		return fault(550, notTaken, "a question is answered at the address in its mail; to link your address with you in the inbox, write only the word link")
	case !s.vouched(&e.Header, domain) || !names(e, to):
		return fault(550, notTaken, "the signature (DKIM) of your mail server does not show that it is from you and to this address")
	case !s.allowed(from):
		return fault(550, notTaken, "askbus does not write to your address: its operator allows which")
	}
	err = s.once(ctx, s.tenant, "link "+cmp.Or(e.Header.Get("Message-Id"), e.Header.Get("Date"))+" "+from, func() error { return s.mailLink(ctx, from) })
	if refused := wire.AsError(err); err != nil && refused.Code != ask.CodeUnavailable && refused.Code != ask.CodeInternal {
		return fault(550, notTaken, ask.CleanLine(refused.Error()))
	}
	return err
}

// mailLink mails an address how it is linked with a person of the inbox. Reading that mail proves who owns the address, so
// the code is shown nowhere else.
func (s *App) mailLink(ctx context.Context, to string) error {
	l := s.speaks(to, nil)
	told, err := s.TryLink(ctx, l, ask.By{Principal: principal(to), Name: to, Proof: ask.ProofEmailLink})
	if err != nil {
		return err
	}
	m, err := s.envelope(to, "", s.tenant, l.Say("Link this address with you in the inbox"))
	if err != nil {
		return err
	}
	m.SetMessageID()
	m.SetBodyString(mail.TypeTextPlain, told+"\n\n"+l.Say("If you have not asked for this, ignore this mail: nothing happens.")+"\n")
	if err = s.mailer.send(ctx, to, s.Now(), m); hopeless(err) {
		s.Log.WarnContext(ctx, "a mail was refused", slog.String("error", err.Error()))
		return nil
	}
	return err
}

// linkPage mails the address of a visit how it is linked. Anyone with the question's mail can ask for this, including a
// person it was forwarded to; only the owner of the address gets the code.
func (s *App) linkPage(w http.ResponseWriter, r *http.Request, v *visit) {
	p := &sheet{Lang: v.lang, Title: v.lang.Say("Look into your mail"), Lines: []string{v.lang.Say("A mail to %s says how this address is linked with you in the inbox. It is good for 10 minutes.", v.Address)}}
	none, err := s.stopped(r.Context(), v.Key.Tenant, v.Address)
	switch {
	case err != nil:
	case none:
		p.Title, p.Lines = v.lang.Say("No more mail from askbus"), []string{v.lang.Say("%s gets no mail from askbus.", v.Address)}
		s.draw(w, r, http.StatusConflict, p)
		return
	default:
		err = s.mailLink(r.Context(), v.Address)
	}
	status := http.StatusOK
	if err != nil {
		s.Log.InfoContext(r.Context(), "a mail that links an address was not sent", slog.String("error", err.Error()))
		status, p.Title, p.Lines = http.StatusServiceUnavailable, v.lang.Say("Nothing was mailed"), []string{v.lang.Say("askbus cannot be reached; please try again in a moment.")}
		if refused, ok := errors.AsType[*ask.Error](err); ok && refused.Code != ask.CodeUnavailable {
			status, p.Lines = http.StatusUnprocessableEntity, []string{v.lang.Say("You cannot be linked: %s", ask.CleanLine(refused.In(v.lang.Tag).Error()))}
		}
	}
	s.draw(w, r, status, p)
}
