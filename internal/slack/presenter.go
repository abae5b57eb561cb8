package slack

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/askbus/askbus/internal/lang"
	"github.com/askbus/askbus/internal/present"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/responder"
)

// presenter implements the kit's interface.
type presenter struct{ *App }

// Route returns the channel or person that an ask is posted to.
func (p presenter) Route(post responder.Post) []string {
	to := p.routes().Decide(&post.Ask)
	return []string{to.Channel + to.Person}
}

// Present posts an ask's card. If the route's target no longer exists (an archived channel, a
// deactivated person) it posts to the default.
func (p presenter) Present(ctx context.Context, post responder.Post) ([]ask.Place, error) {
	routes := p.routes()
	to := routes.Decide(&post.Ask)
	place, err := p.presentAt(ctx, post, to.Target)
	if err != nil && hopeless(err) && (to.Channel != routes.Default.Channel || to.Person != routes.Default.Person) {
		p.log.WarnContext(ctx, "a route's target does not exist; posting to the default", slog.String("ask_id", post.Ask.ID), slog.String("route", to.Why), slog.String("error", err.Error()))
		place, err = p.presentAt(ctx, post, routes.notify(routes.Default, &post.Ask))
	}
	if err != nil {
		if hopeless(err) {
			return nil, &responder.PermanentError{Err: err}
		}
		return nil, err
	}
	return []ask.Place{place}, nil
}

func (p presenter) presentAt(ctx context.Context, post responder.Post, to Target) (ask.Place, error) {
	channel, err := p.channel(ctx, to)
	if err != nil {
		return ask.Place{}, err
	}
	k, session := post.Ask.Key(), threadKey(channel, &post.Ask)
	thread := p.thread(ctx, channel, &post.Ask)
	a := p.asked(&ask.Record{State: ask.StatePending, Ask: post.Ask, AskedAt: post.AskedAt, Life: post.Life}, post.Link)
	if to.Person == "" {
		a.Mentions = to.Mention
	}
	a.Replies = p.replies(channel)
	payload := map[string]any{"key": post.Key, "ask": k.String(), "life": post.Life}
	urgent := post.Ask.Priority == ask.PriorityUrgent
	ts, err := p.api.post(ctx, rank{Urgent: urgent, At: post.AskedAt}, channel, thread, urgent, pendingCard(a), payload)
	if thread != "" && code(err) == "thread_not_found" { // the thread's first message was deleted
		p.threads.drop(session)
		thread = ""
		ts, err = p.api.post(ctx, rank{Urgent: urgent, At: post.AskedAt}, channel, "", false, pendingCard(a), payload)
	}
	if err != nil {
		return ask.Place{}, err
	}
	m := message{Channel: channel, TS: ts, Thread: thread}
	if thread == "" {
		p.threads.put(session, ts)
	}
	return ask.Place{Ref: m.ref(), Where: p.where(m)}, nil
}

// where returns a link to a message, built without a call.
func (p presenter) where(m message) string {
	base := p.Identity().URL
	if base == "" {
		return "#" + m.Channel
	}
	link := base + "archives/" + m.Channel + "/p" + strings.ReplaceAll(m.TS, ".", "")
	if m.Thread != "" {
		link += "?thread_ts=" + m.Thread + "&cid=" + m.Channel
	}
	return link
}

// asked returns the data of a card. A card is shared: it says who may answer, and the click is
// checked.
func (s *App) asked(rec *ask.Record, link string) asked {
	return s.askedIn(s.language(&rec.Ask), rec, link)
}

// askedIn is asked in a language, for a message to one person.
func (s *App) askedIn(l *lang.Language, rec *ask.Record, link string) asked {
	now := s.opts.Clock.Now()
	if rec.AskedAt.IsZero() {
		rec.AskedAt = now
	}
	return asked{Record: *rec, Life: rec.Life, Card: present.New(rec, present.Viewer{Surface: Type, Lang: l.Tag}, now), Link: link}
}

// replies reports whether the app receives replies in a thread of the channel.
func (s *App) replies(channel string) bool {
	id := s.Identity()
	if len(channel) > 0 && channel[0] == 'D' {
		return id.can("im:history")
	}
	return id.can("channels:history") || id.can("groups:history")
}

// channel returns the channel of a target. It opens a person's direct message.
func (s *App) channel(ctx context.Context, to Target) (string, error) {
	if to.Person == "" {
		return to.Channel, nil
	}
	if m, ok := s.places.get(to.Person); ok {
		return m.Channel, nil
	}
	id, err := s.api.dm(ctx, to.Person)
	if err != nil {
		return "", err
	}
	s.places.put(to.Person, message{Channel: id})
	return id, nil
}

func threadKey(channel string, a *ask.Ask) string {
	return channel + "/" + a.Tenant + "/" + a.Session
}

// thread returns the first message of the session's thread in a channel, or "" for its first ask
// there. A replica that does not have it cached reads the receipts of the session's latest asks.
func (s *App) thread(ctx context.Context, channel string, a *ask.Ask) string {
	key := threadKey(channel, a)
	if ts, ok := s.threads.get(key); ok {
		return ts
	}
	page, err := s.bus.List(ctx, responder.Query{Tenant: a.Tenant, Session: a.Session, PageSize: 100})
	if err != nil {
		s.log.WarnContext(ctx, "cannot find a session's thread; this ask starts a new one", slog.String("error", err.Error()))
		return ""
	}
	first := ""
	for i := range page.Items {
		for _, m := range places(&page.Items[i]) {
			root := m.TS
			if m.Thread != "" {
				root = m.Thread
			}
			if m.Channel == channel && (first == "" || root < first) {
				first = root
			}
		}
	}
	if first != "" {
		s.threads.put(key, first)
	}
	return first
}

// places returns where this surface has posted the ask in its current life.
func places(rec *ask.Record) []message {
	var list []message
	for _, r := range rec.Receipts {
		if r.Type != Type || r.Life != rec.Life {
			continue
		}
		for _, p := range r.Places {
			if m, ok := parseMessage(p.Ref); ok {
				list = append(list, m)
			}
		}
	}
	return list
}

// Update edits every card of an ask to its outcome.
func (p presenter) Update(ctx context.Context, e responder.Ended) error {
	rec := ask.Record{State: ask.StateResolved, Ask: e.Ask, AskedAt: e.AskedAt, Life: e.Life, Outcome: &e.Outcome}
	end := present.NewEnd(&rec, present.Viewer{Surface: Type, Lang: p.language(&e.Ask).Tag}, p.opts.Clock.Now())
	c := outcomeCard(&e.Ask, &e.Outcome, end)
	var failed error
	for _, place := range e.Places {
		m, ok := parseMessage(place.Ref)
		if !ok {
			p.log.ErrorContext(ctx, "a receipt has no valid message", slog.String("ask_id", e.Ask.ID), slog.String("ref", place.Ref))
			continue
		}
		_, urgent := p.clicked.get(m.Channel + "/" + m.TS)
		err := p.api.update(ctx, rank{Urgent: urgent, At: e.Outcome.At}, m, c)
		switch {
		case err == nil:
			p.clicked.drop(m.Channel + "/" + m.TS)
		case gone(err):
			p.log.InfoContext(ctx, "a card was deleted", slog.String("ask_id", e.Ask.ID), slog.String("error", err.Error()))
		default:
			failed = errors.Join(failed, err)
		}
	}
	if retry, ok := errors.AsType[*responder.RetryError](failed); ok {
		return retry
	}
	return failed
}

// Find searches the channel and the session's thread for a card that was posted before its receipt
// was written. Without the scope to read them it finds nothing: then the card is posted again, and
// the first one is updated when it is clicked.
func (p presenter) Find(ctx context.Context, post responder.Post) ([]ask.Place, error) {
	to := p.routes().Decide(&post.Ask)
	channel, err := p.channel(ctx, to.Target)
	if err != nil {
		return nil, err
	}
	since := post.AskedAt.Add(-time.Minute)
	if post.AskedAt.IsZero() {
		since = time.Time{}
	}
	threads := []string{""}
	if thread := p.thread(ctx, channel, &post.Ask); thread != "" {
		threads = append(threads, thread)
	}
	for _, thread := range threads {
		messages, err := p.api.history(ctx, channel, thread, since, 5)
		switch code(err) {
		case "missing_scope", "not_in_channel", "channel_not_found", "thread_not_found", "is_archived":
			return nil, nil
		}
		if err != nil {
			return nil, fmt.Errorf("search for a card: %w", err)
		}
		for i := range messages {
			f := &messages[i]
			if f.payload("key") != post.Key {
				continue
			}
			m := message{Channel: channel, TS: f.TS}
			if f.Thread != "" && f.Thread != f.TS {
				m.Thread = f.Thread
			}
			return []ask.Place{{Ref: m.ref(), Where: p.where(m)}}, nil
		}
	}
	return nil, nil
}
