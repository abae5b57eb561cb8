package email

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"log/slog"
	"slices"
	"strconv"
	"strings"

	"github.com/askbus/askbus/internal/answering/chat"
	"github.com/askbus/askbus/internal/process/lang"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/card"
	"github.com/askbus/askbus/pkg/responder"
	"github.com/emersion/go-message"
	_ "github.com/emersion/go-message/charset" // mails in GB 18030, Latin-1 and others
	netmail "github.com/emersion/go-message/mail"
	"github.com/wneessen/go-mail"
)

// received handles a mail to the address of replies of a post. An error is one that may pass.
func (s *App) received(ctx context.Context, sender, to string, raw []byte) error {
	post, madeFor, _ := s.parseReplyAddress(to)
	e, err := message.Read(bytes.NewReader(raw))
	if err != nil && !message.IsUnknownCharset(err) && !message.IsUnknownEncoding(err) {
		s.Log.InfoContext(ctx, "ignored a mail that cannot be read", slog.String("error", err.Error()))
		return nil
	}
	if report(e) {
		return s.returned(ctx, post, madeFor, e)
	}
	from, why := s.sender(e, sender, madeFor)
	if why != nil {
		s.Log.InfoContext(ctx, "ignored a mail", slog.String("error", why.Error()))
		return nil
	}
	rec, err := s.Bus.Posted(ctx, post)
	if err != nil && !errors.Is(err, ask.ErrNotFound) && !errors.Is(err, ask.ErrAskedAgain) {
		return err
	}
	l := s.speaks(from, &rec.Ask)
	r := &replied{App: s, post: post, from: from, rec: &rec, lang: l, id: e.Header.Get("Message-Id"), tenant: cmp.Or(rec.Ask.Tenant, s.tenant)}
	if err != nil {
		told, _ := card.Viewer{Lang: l.Tag, Surface: s.Type}.Gone(err)
		return r.tell(ctx, told)
	}
	by := s.by(ctx, from, ask.ProofEmail, &rec.Ask)
	gone, err := s.barred(ctx, rec.Ask.Tenant, from, by.Principal, link{Issued: rec.AskedAt})
	switch _, domain, _ := strings.Cut(from, "@"); {
	case err != nil:
		return err
	case gone:
		s.Log.InfoContext(ctx, "ignored a mail of somebody who may not act any more")
		return nil
	case !s.vouched(&e.Header, domain) || !names(e, to):
		return r.tell(ctx, l.Say("Your reply was not taken as an answer: your mail server's signature (DKIM) does not show that it is from %s. Answer on the page, or in the inbox.", from))
	}
	return r.answer(ctx, by, above(textOf(e)))
}

// sender returns the address of who replied, or why the mail is no reply: programs never answer, and only the recipient
// of a mail knows its address of replies.
func (s *App) sender(e *message.Entity, envelope string, madeFor func(string) bool) (from string, why error) {
	if why := automatic(&e.Header, envelope); why != nil {
		return "", why
	}
	if from, why = author(e); why != nil {
		return "", why
	}
	_, lists := s.listed()
	if madeFor(from) || s.allowed(from) && slices.ContainsFunc(lists, madeFor) {
		return from, nil
	}
	return "", errors.New("its sender is not who got the question")
}

// author returns the one address from which a mail says that it is, or why there is none.
func author(e *message.Entity) (from string, why error) {
	h := netmail.Header{Header: e.Header}
	list, err := h.AddressList("From")
	if err != nil || len(list) != 1 || len(e.Header.Values("From")) != 1 {
		return "", errors.New("it does not have exactly one sender")
	}
	if from = strings.ToLower(list[0].Address); !addressForm().MatchString(from) {
		return "", errors.New("its sender has an unusual address")
	}
	return from, nil
}

// names reports whether a mail is addressed to its address of replies. The signature covers that field, so an older mail
// of the same person that was sent again to it is no reply.
func names(e *message.Entity, to string) bool {
	h := netmail.Header{Header: e.Header}
	for _, field := range []string{"To", "Cc"} {
		list, err := h.AddressList(field)
		if err == nil && slices.ContainsFunc(list, func(a *netmail.Address) bool { return strings.EqualFold(a.Address, to) }) {
			return true
		}
	}
	return false
}

// replied is a reply of a person.
type replied struct {
	*App
	post, from, id, tenant string
	rec                    *ask.Record
	lang                   *lang.Language
}

// answer takes the words of a reply.
func (r *replied) answer(ctx context.Context, by ask.By, words string) error {
	v := card.Viewer{By: by, Lang: r.lang.Tag, Surface: r.Type, Zone: r.people().zone(r.from)}
	id := chat.AnswerID(Type, "reply", r.id, r.from, r.post)
	c := card.New(r.rec, v, r.Clock.Now())
	var told string
	var err error
	switch reason, declines := chat.Declines(words); {
	case r.rec.Outcome != nil && r.rec.Outcome.AnswerID == id:
		return nil // delivered again
	case r.rec.Outcome != nil:
		told = v.Late(r.rec, r.rec.Outcome, r.Clock.Now())
	case !c.May.Answer && c.BreakGlass != nil:
		told = c.BreakGlass.Elsewhere()
	case !c.May.Answer:
		told = c.May.Why
	case words == "":
		told = r.lang.Say("Your reply has no words above the quoted text. Nothing was stored.")
	case declines:
		told, err = r.Decline(ctx, r.lang, r.rec, "", responder.Decline{AnswerID: id, Reason: reason, By: by})
	default:
		words, plain := plainest(&r.rec.Ask, words)
		if !plain {
			told = r.lang.Say("Your reply was not understood. Nothing was stored; reply once more, with the whole answer.") + "\n\n" + r.lang.Say("Write your answer after “answer:”, or answer on the page.")
			break
		}
		d := c.Draft()
		again := d.Read(words)
		reply := d.Reply()
		if chosen := c.Destructive(reply.Answers); len(again) == 0 && chosen != "" {
			told = r.lang.Say("“%s” is destructive, so a reply does not choose it. Nothing was stored; choose it on the page, or in the inbox.", chosen)
			break
		}
		if c.Permits && r.letterTo(r.from, r.post, r.rec).Cut && len(again) == 0 && !r.rec.Ask.Refuses(reply.Answers) {
			told = r.lang.Say("This is too long to be shown whole in a mail, so a reply does not permit it. Nothing was stored; decide on the page, or in the inbox.")
			break
		}
		if len(again) > 0 {
			told = r.lang.Say("Your reply was not understood. Nothing was stored; reply once more, with the whole answer.") + "\n\n" + c.AskAgain(again)
			break
		}
		reply.AnswerID, reply.By = id, by
		told, err = r.Answer(ctx, r.lang, r.rec, "", reply)
	}
	if errors.Is(err, ask.ErrUnavailable) || errors.Is(err, ask.ErrQuota) {
		return err
	}
	if told == "" {
		return nil // the mail about the outcome says it
	}
	return r.tell(ctx, told)
}

// plainest returns the words that are the answer, and whether they are one: people also write what is none. Words that
// choose nothing from options begin with "answer:", as in every chat. The first line counts alone if it is exactly an
// answer, so that a greeting or signature below it does not become part of it.
func plainest(a *ask.Ask, words string) (answer string, ok bool) {
	h := chat.Listen(words, false)
	if len(a.Questions) != 1 || a.Questions[0].Kind == ask.KindText {
		return h.Words, true
	}
	first, _, _ := strings.Cut(h.Words, "\n")
	q := &a.Questions[0]
	if first = strings.TrimSpace(first); q.IsExact(first) {
		return first, true
	}
	if ans, err := q.ParseReply(first); q.Multiple && err == nil && len(ans.Selected) > 0 && ans.Other == "" {
		return first, true
	}
	return h.Words, h.Addressed || q.Kind != ask.KindChoice
}

// maxTold bounds how often a person is told something about one post. It ends a conversation with a program that hides
// that it is one.
const maxTold = 5

// tell answers a reply with what became of it.
func (r *replied) tell(ctx context.Context, told string) error {
	if sent, err := r.wasSent(ctx, r.tenant, "told "+r.id+" "+r.post); sent || err != nil {
		return err // delivered again
	}
	for n := range maxTold {
		of := r.messageID(r.post, r.from, ".told"+strconv.Itoa(n))
		if sent, err := r.wasSent(ctx, r.tenant, of); err != nil {
			return err
		} else if sent {
			continue
		}
		return r.once(ctx, r.tenant, "told "+r.id+" "+r.post, func() error {
			return r.once(ctx, r.tenant, of, func() error {
				m, err := r.note(of, told)
				if err == nil {
					err = r.mailer.send(ctx, r.from, r.Now(), m)
				}
				if hopeless(err) {
					r.Log.WarnContext(ctx, "a mail was refused", slog.String("error", err.Error()))
					return nil
				}
				return err
			})
		})
	}
	r.Log.WarnContext(ctx, "a reply is not answered any more: its sender was told enough about this question", slog.String("ask_id", r.rec.Ask.ID))
	return nil
}

// note makes the mail that answers a reply.
func (r *replied) note(id, told string) (*mail.Msg, error) {
	subject := r.lang.Say("Your reply to askbus")
	if r.rec.Ask.ID != "" {
		subject = "Re: " + r.subject(r.lang, &r.rec.Ask)
	}
	m, err := r.envelope(r.from, r.post, r.tenant, subject)
	if err != nil {
		return nil, err
	}
	m.SetMessageIDWithValue(id)
	m.SetGenHeader("Auto-Submitted", "auto-replied")
	r.follows(m, r.from, r.post)
	parts := []string{told}
	if inbox := r.LinkTo(r.rec.Ask.Key()); inbox != "" && r.rec.Ask.ID != "" {
		parts = append(parts, inbox)
	}
	m.SetBodyString(mail.TypeTextPlain, strings.Join(parts, "\n\n")+"\n")
	return m, nil
}
