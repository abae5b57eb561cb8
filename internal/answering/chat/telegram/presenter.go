package telegram

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/askbus/askbus/internal/answering/chat"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/card"
	"github.com/askbus/askbus/pkg/responder"
)

// presenter implements the kit's interfaces.
type presenter struct{ *App }

const keyPrefix = "askbus-"

// maxFiles bounds the files that are sent with an ask, in bytes. Telegram takes photos of 10 MB and others of 50 MB.
const maxFiles = 20 << 20

// keyOf returns the key of a post ([responder.Post]) from what its buttons carry.
func keyOf(id string) string { return keyPrefix + id }

// Present posts an ask's message without its buttons. If the route's chat does not exist it posts to
// the default.
func (p presenter) Present(ctx context.Context, post responder.Post) ([]ask.Place, error) {
	c := p.drawn(chat.Pending(&post), post.Link)
	return p.Surface.Present(ctx, &post.Ask, func(to chat.Target) (_ ask.Place, err error) {
		at, _ := parsePlace(cmp.Or(to.Channel, to.Person))
		send := func(at *place) (err error) {
			if rich, ok := c.richer(); ok {
				if at.ID, at.Rich, err = p.api.sendRich(ctx, *at, chat.RankOf(&post), rich); at.Rich || err != nil {
					return err
				}
			}
			if c.whole() && c.text(chat.Draft{}).cut {
				c.Withhold(c.link != "")
			}
			at.ID, err = p.api.send(ctx, *at, chat.RankOf(&post), c.text(chat.Draft{}), nil, 0)
			return err
		}
		if to.Threads == chat.ThreadsTopic && at.Topic == 0 && at.Chat < 0 {
			err = p.topics.in(ctx, &post.Ask, &at, chat.RankOf(&post), send)
		} else {
			err = send(&at)
		}
		return ask.Place{Ref: at.ref(), Where: where(at)}, err
	})
}

// where returns a link to a message, where Telegram has one: in a supergroup.
func where(at place) string {
	if chat, ok := strings.CutPrefix(strconv.FormatInt(at.Chat, 10), "-100"); ok {
		return "https://t.me/c/" + chat + "/" + strconv.Itoa(at.ID)
	}
	return ""
}

// Open adds the buttons, and then sends the files.
func (p presenter) Open(ctx context.Context, post responder.Post, places []ask.Place) error {
	rec := chat.Pending(&post)
	rec.Receipts = []ask.Receipt{{Type: p.Type, Life: rec.Life, State: ask.ReceiptPosted, Places: places}}
	c := p.drawn(rec, post.Link)
	for _, one := range places {
		at, ok := parsePlace(one.Ref)
		if !ok || p.Begun(post.Key) { // somebody answers already: it has its buttons
			continue
		}
		if err := p.api.buttons(ctx, at, chat.RankOf(&post), c.keyboard(card.Steps{})); err != nil && !gone(err) {
			return err
		}
	}
	if at, ok := parsePlace(places[0].Ref); ok {
		c.rich = at.Rich
		t := c.text(chat.Draft{})
		p.AttachOnce(ctx, &post, chat.Whole(c.Card, t.cut, c.link), maxFiles, func(ctx context.Context, f *chat.Attached) error { return p.api.attach(ctx, at, chat.RankOf(&post), f) })
	}
	return nil
}

// Find finds nothing: bots cannot search. An earlier message has no buttons.
func (presenter) Find(context.Context, responder.Post) ([]ask.Place, error) { return nil, nil }

// Edits count as messages, of which a group takes 20 a minute. So that buttons do not stay alive while new asks come in,
// a few outcomes go before the messages of asks that came up to a minute later; if more end at once, the newest go first.
const (
	endingFirst = 5
	headStart   = time.Minute
)

// order returns when an outcome of a time has its turn, as if it were an ask of the time that it returns. Its edit calls
// done.
func (s *App) order(at time.Time) (_ time.Time, done func()) {
	if s.ending.Add(1) <= endingFirst {
		at = at.Add(headStart)
	}
	return at, func() { s.ending.Add(-1) }
}

// Update edits every message of an ask to its outcome.
func (p presenter) Update(ctx context.Context, e responder.Ended) error {
	p.Ended(responder.PostKey(p.Type, e.Ask.Key(), e.Life))
	t := outcome(p.End(&e, literal))
	order, done := p.order(e.Outcome.At)
	defer done()
	return p.EditAll(ctx, &e.Ask, order, e.Places, func(ref string, r responder.Rank) error {
		return p.edit(ctx, ref, r, func(bool) text { return t }, nil)
	})
}

// Refresh makes every message of an ask show its votes.
func (p presenter) Refresh(ctx context.Context, post responder.Post, rec ask.Record, places []ask.Place) error {
	c := p.drawn(&rec, post.Link)
	return p.EditAll(ctx, &rec.Ask, rec.AskedAt, places, func(ref string, r responder.Rank) error {
		return p.edit(ctx, ref, r, c.at(chat.Draft{}), c.keyboard(card.Steps{}))
	})
}

// Show makes a message show the next question. It implements [chat.Drawer].
func (p presenter) Show(ctx context.Context, at string, rec *ask.Record, d chat.Draft) error {
	c := p.drawn(rec, p.LinkTo(rec.Ask.Key()))
	return p.edit(ctx, at, p.Now(), c.at(d), c.keyboard(d.Steps))
}

// Close makes a message say only these words. It implements [chat.Drawer].
func (p presenter) Close(ctx context.Context, at, words string) error {
	var t text
	t.add(words, "", "")
	return p.edit(ctx, at, p.Now(), func(bool) text { return t }, nil)
}

// edit makes a message show what draw returns, for a rich message or another one.
func (p presenter) edit(ctx context.Context, ref string, r responder.Rank, draw func(rich bool) text, k *keyboard) error {
	at, ok := parsePlace(ref)
	switch {
	case !ok:
		return nil
	case at.Rich:
		return p.api.editRich(ctx, at, r, draw(true), k)
	}
	return p.api.edit(ctx, at, r, draw(false), k)
}

// drawn returns what is needed to draw an ask.
func (s *App) drawn(rec *ask.Record, link string) drawing {
	return s.drawing(s.Card(s.Language(&rec.Ask), rec), rec, link)
}

// shows reports whether all of a permission is in a message of 4,096 characters at each of its questions, or in a rich one,
// which the server may not know. It implements the function of [chat.Surface.ShownWhole].
func (s *App) shows(c *card.Card, rec *ask.Record) bool {
	d, cut := s.drawing(c, rec, s.LinkTo(rec.Ask.Key())), false
	d.spare = (len(c.Questions) - 1) * 170 // answers so far
	for n := range c.Questions {
		cut = cut || d.text(chat.Draft{Steps: card.Steps{Answers: make([]ask.Answer, n)}}).cut
	}
	if !cut {
		return true
	}
	rich, ok := d.richer()
	return ok && !rich.cut && !s.api.plainOnly.Load() && !slices.ContainsFunc(chat.Posted(s.Type, rec), func(one ask.Place) bool {
		at, ok := parsePlace(one.Ref)
		return ok && !at.Rich
	})
}

// drawing returns what is needed to draw a card.
func (s *App) drawing(c *card.Card, rec *ask.Record, link string) drawing {
	d := drawing{Card: c, id: strings.TrimPrefix(responder.PostKey(s.Type, rec.Ask.Key(), rec.Life), keyPrefix), link: link}
	d.mentions = s.Routes().Decide(&rec.Ask).Mention
	if me := s.me.Load(); me != nil {
		d.bot = me.Username
	}
	return d
}
