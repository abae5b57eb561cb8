package email

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"time"

	"github.com/askbus/askbus/internal/answering/chat"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/responder"
)

// presenter implements the kit's interfaces.
type presenter struct{ *App }

// Route returns the addresses to which an ask goes, as references.
func (p presenter) Route(post responder.Post) (refs []string) {
	for _, to := range p.recipients(&post.Ask) {
		refs = append(refs, p.ref(to))
	}
	return refs
}

// Delay returns how long an ask's mail still waits: it may be decided by then.
func (p presenter) Delay(post responder.Post) time.Duration {
	return min(p.opts.Delay-p.Clock.Now().Sub(post.AskedAt), p.opts.Delay) // clocks differ
}

// Present sends an ask's mail to each of its recipients. Those who have stopped it and those whom the
// server refuses get none; it fails for good if that is everybody.
func (p presenter) Present(ctx context.Context, post responder.Post) (places []ask.Place, err error) {
	rec, why := chat.Pending(&post), errors.New("everybody it goes to wants no mail")
	if post.Ask.Approval != nil { // a mail cannot be edited, so it counts the votes that came during the delay
		switch now, err := p.Bus.Get(ctx, post.Ask.Key()); {
		case err != nil:
			return nil, &responder.LaterError{Err: err}
		case now.Life == post.Life && now.Outcome == nil:
			rec = &now
		}
	}
	for _, to := range p.recipients(&post.Ask) {
		if p.inDigest(to, &post.Ask) {
			continue
		}
		switch none, err := p.stopped(ctx, post.Ask.Tenant, to); {
		case err != nil:
			return nil, &responder.LaterError{Err: err}
		case none:
			continue
		}
		err := p.once(ctx, post.Ask.Tenant, p.messageID(post.Key, to, ""), func() error {
			m, err := p.question(ctx, to, post.Key, rec, maxFiles)
			if err != nil {
				return err
			}
			err = p.mailer.send(ctx, to, chat.RankOf(&post), m)
			if hopeless(err) && len(m.GetAttachments()) > 0 { // perhaps for its files, which the page has too
				p.Log.WarnContext(ctx, "a mail was refused; sending it without its files", slog.String("ask_id", post.Ask.ID), slog.String("error", err.Error()))
				if m, err = p.question(ctx, to, post.Key, rec, 0); err != nil {
					return err
				}
				err = p.mailer.send(ctx, to, chat.RankOf(&post), m)
			}
			return err
		})
		_, permanent := errors.AsType[*responder.PermanentError](err)
		switch {
		case hopeless(err) || permanent:
			p.Log.WarnContext(ctx, "a mail was refused", slog.String("ask_id", post.Ask.ID), slog.String("error", err.Error()))
			p.bounced(ctx, post.Ask.Tenant, to, err.Error())
			why = err
		case err != nil:
			return nil, err // those who have theirs are noted
		default:
			places = append(places, ask.Place{Ref: p.ref(to)})
		}
	}
	if len(places) == 0 {
		return nil, &responder.PermanentError{Err: why}
	}
	return places, nil
}

// Wants reports whether an ask is mailed by itself: an urgent one always, others unless all their recipients get digests.
func (p presenter) Wants(post responder.Post) bool {
	return p.Surface.Wants(post) && slices.ContainsFunc(p.recipients(&post.Ask), func(to string) bool { return !p.inDigest(to, &post.Ask) })
}

// Find finds nothing: mails cannot be searched. Which were sent is noted, so that Present sends the others.
func (presenter) Find(context.Context, responder.Post) ([]ask.Place, error) { return nil, nil }

// Update tells everybody who got the first mail how the ask ended, unless they want no such mail.
func (p presenter) Update(ctx context.Context, e responder.Ended) error {
	var failed error
	for _, at := range e.Places {
		to, ok := p.addressOf(at.Ref)
		if !ok || !p.people().outcomes(to) {
			continue
		}
		if none, err := p.stopped(ctx, e.Ask.Tenant, to); none || err != nil {
			failed = errors.Join(failed, err)
			continue
		}
		err := p.once(ctx, e.Ask.Tenant, p.messageID(e.Key, to, endPart), func() error {
			m, err := p.outcome(to, &e)
			if err != nil {
				return err
			}
			return p.mailer.send(ctx, to, responder.Rank{At: e.Outcome.At}, m)
		})
		if hopeless(err) {
			p.bounced(ctx, e.Ask.Tenant, to, err.Error())
			continue
		}
		failed = errors.Join(failed, err)
	}
	if later, ok := errors.AsType[*responder.LaterError](failed); ok {
		return later
	}
	if retry, ok := errors.AsType[*responder.RetryError](failed); ok {
		return retry
	}
	return failed
}

// bounced notes for a doctor that an address gets no mail.
func (p *App) bounced(ctx context.Context, tenant, to, why string) {
	note := address{Address: to, Why: literal(why, 300), At: p.Clock.Now().UTC()}
	if _, err := p.sent.Put(ctx, noteKey(tenant, notedBounce, to), note, keepBounce); err != nil {
		p.Log.WarnContext(ctx, "cannot note that a mail came back", slog.String("error", err.Error()))
	}
}
