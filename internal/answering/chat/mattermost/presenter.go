package mattermost

import (
	"context"
	"time"

	"github.com/askbus/askbus/internal/answering/chat"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/card"
	"github.com/askbus/askbus/pkg/responder"
)

// presenter implements the kit's interfaces.
type presenter struct{ *App }

// late is how long a button still tells who was first after its ask has ended.
const late = 7 * 24 * time.Hour

// Present posts an ask without its buttons. If the route's channel does not exist it posts to the default.
func (p presenter) Present(ctx context.Context, asked responder.Post) ([]ask.Place, error) {
	rec := chat.Pending(&asked)
	d := p.drawn(rec, asked.Link)
	return p.Surface.Present(ctx, &asked.Ask, func(to chat.Target) (_ ask.Place, err error) {
		m := chat.Message{Channel: to.Channel}
		if to.Channel == "" {
			if m.Channel, err = p.api.direct(ctx, chat.RankOf(&asked), to.Person); err != nil {
				return ask.Place{}, err
			}
		}
		made := p.post(rec, d.text(card.Steps{}), nil)
		made.Channel, made.Message = m.Channel, p.mention(ctx, to.Mention)
		m.ID, err = p.api.send(ctx, chat.RankOf(&asked), made)
		return ask.Place{Ref: m.Ref(), Where: p.opts.URL + "/_redirect/pl/" + m.ID}, err
	})
}

// mention returns the words that notify people. A group cannot be mentioned by its id.
func (s *App) mention(ctx context.Context, all []string) (words string) {
	for _, one := range all {
		if u, err := s.people.Person(ctx, one); err == nil && u.Username != "" {
			words += "@" + u.Username + " "
		}
	}
	return words
}

// post returns a post with an attachment, and with the key by which Find finds it.
func (p presenter) post(rec *ask.Record, text string, actions []action) *post {
	a := attachment{Fallback: inert.Replace(card.Heading(&rec.Ask)), Text: text, Actions: actions}
	if rec.Ask.Priority == ask.PriorityUrgent && rec.Outcome == nil {
		a.Color = "#d24b4e"
	}
	return &post{Props: map[string]any{"attachments": []attachment{a}, "askbus": responder.PostKey(p.Type, rec.Ask.Key(), rec.Life)}}
}

// Open adds the buttons, and then sends the files.
func (p presenter) Open(ctx context.Context, asked responder.Post, places []ask.Place) error {
	if p.Begun(asked.Key) { // somebody answers already: it has its buttons
		return nil
	}
	if err := p.redraw(ctx, chat.Pending(&asked), asked.Link, places, chat.RankOf(&asked)); err != nil {
		return err
	}
	if at, ok := chat.ParseMessage(places[0].Ref); ok {
		d := p.drawn(chat.Pending(&asked), asked.Link)
		d.text(card.Steps{})
		p.AttachOnce(ctx, &asked, chat.Whole(d.Card, d.cut, d.link), maxFiles, func(ctx context.Context, f *chat.Attached) error {
			return p.api.attach(ctx, chat.RankOf(&asked), at, f)
		})
	}
	return nil
}

// Find finds nothing. An earlier post has no buttons.
func (presenter) Find(context.Context, responder.Post) ([]ask.Place, error) { return nil, nil }

// Update edits every post of an ask to its outcome.
func (p presenter) Update(ctx context.Context, e responder.Ended) error {
	p.Ended(responder.PostKey(p.Type, e.Ask.Key(), e.Life))
	text := outcome(p.End(&e, clean))
	rec := ask.Record{Ask: e.Ask, Life: e.Life, Outcome: &e.Outcome}
	return p.EditAll(ctx, &e.Ask, e.Outcome.At, e.Places, func(ref string, r responder.Rank) error { return p.edit(ctx, ref, r, p.post(&rec, text, nil)) })
}

// Refresh makes every post of an ask show its votes.
func (p presenter) Refresh(ctx context.Context, asked responder.Post, rec ask.Record, places []ask.Place) error {
	return p.redraw(ctx, &rec, asked.Link, places, responder.Rank{At: rec.AskedAt})
}

func (p presenter) redraw(ctx context.Context, rec *ask.Record, link string, places []ask.Place, r responder.Rank) error {
	return p.EditAll(ctx, &rec.Ask, r.At, places, func(ref string, rank responder.Rank) error {
		rank.Urgent = rank.Urgent || r.Urgent
		return p.show(ctx, ref, p.drawn(rec, link), rec, chat.Draft{}, rank)
	})
}

// Show makes a post show the next question. It implements [chat.Drawer].
func (p presenter) Show(ctx context.Context, at string, rec *ask.Record, d chat.Draft) error {
	return p.show(ctx, at, p.drawn(rec, p.LinkTo(rec.Ask.Key())), rec, d, p.Now())
}

func (p presenter) show(ctx context.Context, at string, d *drawing, rec *ask.Record, draft chat.Draft, r responder.Rank) error {
	m, ok := chat.ParseMessage(at)
	if !ok {
		return nil
	}
	of := held{Key: responder.PostKey(p.Type, rec.Ask.Key(), rec.Life), Post: m.ID, Expires: expires(rec).Unix()}
	if draft.By != "" {
		of.Draft = draft.Encode(maxDraft)
	}
	actions := d.buttons(draft.Steps, p.opts.Callback+PathActions, func(data string) held {
		one := of
		one.Data = data
		return p.codes.sealed(one, "")
	})
	return p.edit(ctx, at, r, p.post(rec, d.text(draft.Steps), actions))
}

// expires returns when the buttons of an ask stop to count.
func expires(rec *ask.Record) time.Time {
	at, _ := rec.Deadline()
	if at.Before(rec.AskedAt) {
		at = rec.AskedAt.Add(4 * late)
	}
	return at.Add(late)
}

// Close makes a post say only these words. It implements [chat.Drawer].
func (p presenter) Close(ctx context.Context, at, words string) error {
	return p.edit(ctx, at, p.Now(), p.post(&ask.Record{Ask: ask.Ask{Title: words}}, literal(words), nil))
}

func (p presenter) edit(ctx context.Context, at string, r responder.Rank, made *post) error {
	m, ok := chat.ParseMessage(at)
	if !ok {
		return nil
	}
	return p.api.edit(ctx, r, m.ID, made)
}

// drawn returns what is needed to draw an ask.
func (s *App) drawn(rec *ask.Record, link string) *drawing {
	return &drawing{Card: s.Card(s.Language(&rec.Ask), rec), link: link}
}
