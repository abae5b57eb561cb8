package email

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/askbus/askbus/internal/answering/chat"
	"github.com/askbus/askbus/internal/process/backoff"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/card"
	"github.com/askbus/askbus/pkg/responder"
)

// Bounds of digests.
const (
	maxListed = 100       // asks of a digest
	maxRead   = 2_000     // pending asks that are read for all digests of a minute
	late      = time.Hour // a digest that could not be sent for so long is not sent that day
)

// inDigest reports whether an ask waits for a person's digest.
func (s *App) inDigest(to string, a *ask.Ask) bool {
	return s.people().People[to].Digest != "" && a.Priority != ask.PriorityUrgent
}

// digests sends the digests that are due, every minute until ctx ends.
func (s *App) digests(ctx context.Context) {
	for ctx.Err() == nil {
		if err := s.sendDigests(ctx); err != nil && ctx.Err() == nil {
			s.Log.WarnContext(ctx, "cannot send a digest; trying again in a minute", slog.String("error", err.Error()))
		}
		_ = backoff.Sleep(ctx, time.Minute) // fails only when ctx ends
	}
}

// sendDigests sends the digests that are due.
func (s *App) sendDigests(ctx context.Context) error {
	people, due := s.people().People, map[string]string{}
	for to, one := range people {
		zone, err := time.LoadLocation(one.Zone)
		if one.Digest == "" || err != nil {
			continue
		}
		now := s.Clock.Now().In(zone)
		at, err := time.ParseInLocation("2006-01-02 15:04", now.Format("2006-01-02 ")+one.Digest, zone)
		if since := now.Sub(at); err == nil && since >= 0 && since < late {
			due[to] = now.Format("2006-01-02")
		}
	}
	var failed error
	var waiting []ask.Record
	for _, to := range slices.Sorted(maps.Keys(due)) {
		id := "digest." + to + "." + due[to]
		if sent, err := s.wasSent(ctx, s.tenant, id); sent || err != nil {
			failed = errors.Join(failed, err)
			continue
		}
		if waiting == nil {
			var err error
			if waiting, err = s.pendingAsks(ctx); err != nil {
				return err
			}
		}
		failed = errors.Join(failed, s.once(ctx, s.tenant, id, func() error { return s.sendDigest(ctx, to, due[to], waiting) }))
	}
	return failed
}

// pendingAsks returns the pending asks, the oldest first.
func (s *App) pendingAsks(ctx context.Context) (all []ask.Record, err error) {
	all = []ask.Record{}
	for rec, err := range s.Bus.All(ctx, responder.Query{Tenant: s.tenant, State: ask.StatePending, PageSize: 100}) {
		if err != nil {
			return nil, err
		}
		if all = append(all, rec); len(all) == maxRead {
			break
		}
	}
	return all, nil
}

// digest is what a digest says.
type digest struct {
	*letter
	Title string
	Items []item
	More  int
}

// item is an ask of a digest.
type item struct{ Heading, Head, Page string }

// Text returns the digest as plain text.
func (d *digest) Text() string {
	parts := []string{d.Title}
	for i := range d.Items {
		parts = append(parts, strings.TrimSpace(d.Items[i].Heading+"\n"+d.Items[i].Head+"\n"+d.Items[i].Page))
	}
	if d.More > 0 {
		parts = append(parts, d.Lang.Say("%d more are not in this mail.", d.More))
	}
	if d.Page != "" {
		parts = append(parts, d.Lang.Say("Anyone with this mail can answer as %s: do not forward it.", d.Person))
	}
	if d.Stop != "" {
		parts = append(parts, d.Lang.Say("No more mail from askbus:")+"\n"+d.Stop)
	}
	return strings.Join(parts, "\n\n") + "\n"
}

// sendDigest sends one person what waits for them; nothing if nothing does.
func (s *App) sendDigest(ctx context.Context, to, day string, waiting []ask.Record) error {
	l := s.speaks(to, nil)
	d := &digest{letter: &letter{Lang: l, Person: to}}
	var listed []*ask.Record
	stopped := map[string]bool{}
	for i := range waiting {
		rec := &waiting[i]
		if !s.inDigest(to, &rec.Ask) || !slices.Contains(s.recipients(&rec.Ask), to) {
			continue
		}
		none, known := stopped[rec.Ask.Tenant]
		if !known {
			var err error
			if none, err = s.stopped(ctx, rec.Ask.Tenant, to); err != nil {
				return err
			}
			stopped[rec.Ask.Tenant] = none
		}
		if none {
			continue
		}
		if len(listed) == maxListed {
			d.More++
			continue
		}
		one := s.letterTo(to, responder.PostKey(s.Type, rec.Ask.Key(), rec.Life), rec)
		listed = append(listed, rec)
		head := card.New(rec, s.reader(to, l), s.Clock.Now()).Head()
		d.Items = append(d.Items, item{card.Heading(&rec.Ask), head, cmp.Or(one.Page, one.Inbox)})
		d.Page, d.Stop = cmp.Or(d.Page, one.Page), one.Stop
	}
	if len(listed) == 0 {
		return nil
	}
	d.Title = l.Say("%d questions wait for you", len(listed)+d.More)
	m, err := s.envelope(to, "", listed[0].Ask.Tenant, d.Title)
	if err != nil {
		return err
	}
	m.SetMessageIDWithValue(s.messageID("askbus-digest", to, "."+day))
	if err := s.fill(m, l, d.Text(), "digest.html", d); err != nil {
		return err
	}
	if err := s.mailer.send(ctx, to, responder.Rank{At: s.Clock.Now()}, m); err != nil {
		if hopeless(err) {
			s.bounced(ctx, listed[0].Ask.Tenant, to, err.Error())
			return nil
		}
		return err
	}
	for _, rec := range listed {
		s.digested(ctx, to, rec)
	}
	return nil
}

// digested records that an ask was presented in a digest. The place is the digest, not a mail about this ask, so nobody is mailed when the ask ends.
func (s *App) digested(ctx context.Context, to string, rec *ask.Record) {
	places := append(chat.Posted(s.Type, rec), ask.Place{Ref: "digest:" + s.ref(to)})
	if len(places) > ask.MaxPlaces {
		return
	}
	err := s.Bus.Receipt(ctx, rec.Ask.Key(), ask.Receipt{Life: rec.Life, State: ask.ReceiptPosted, Key: responder.PostKey(s.Type, rec.Ask.Key(), rec.Life), Places: places})
	if err != nil && !errors.Is(err, ask.ErrNotFound) && !errors.Is(err, ask.ErrInvalid) {
		s.Log.WarnContext(ctx, "cannot record that an ask was in a digest", slog.String("ask_id", rec.Ask.ID), slog.String("error", err.Error()))
	}
}
