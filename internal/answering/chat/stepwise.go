package chat

import (
	"context"
	"log/slog"

	"github.com/askbus/askbus/internal/process/lang"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/card"
	"github.com/askbus/askbus/pkg/responder"
	lru "github.com/hashicorp/golang-lru/v2"
)

// Stepwise answers asks in a chat without forms: an ask's message has the buttons of one question after the other, and
// carries the answers so far; words come as a reply to it, or to a message that asks for them. It is safe for
// concurrent use.
type Stepwise struct {
	*Surface
	draw   Drawer
	drafts *lru.Cache[string, Draft] // the newest of each ask, by the key of its post
}

// NewStepwise makes it for a surface.
func NewStepwise(s *Surface, d Drawer) *Stepwise {
	return &Stepwise{s, d, NewCache[string, Draft](2_000)}
}

// Drawer is the chat. A message is named as in a [Surface].
type Drawer interface {
	// Show makes the message of an ask show the next question, and carry the draft.
	Show(ctx context.Context, at string, rec *ask.Record, d Draft) error
	// Close makes a message say only these words.
	Close(ctx context.Context, at, words string) error
}

// Turn is what one person did: pressed a button, or wrote.
type Turn struct {
	Post string // the key of the ask's post, which the buttons carry ([responder.Post])
	At   string // the message whose button was pressed; for words ""
	User string // id
	Lang *lang.Language
	ID   string // of an answer that this gives
	Held Draft  // what the message that was used carries
	// By returns the person for the broker, or why they may not act at all.
	By func(a *ask.Ask) (by ask.By, refused string)
	// Prompt asks the person, who writes the draft, for words.
	Prompt func(rec *ask.Record, d Draft, question string) error
}

// Begun reports whether somebody answers the ask of a post here.
func (s *Stepwise) Begun(post string) bool {
	_, begun := s.drafts.Peek(post)
	return begun
}

// Ended forgets what people have begun to answer.
func (s *Stepwise) Ended(post string) { s.drafts.Remove(post) }

// Press carries out a button of an ask by its data, and returns what to tell the person; "" if nothing.
func (s *Stepwise) Press(ctx context.Context, t *Turn, data string) (told string) {
	rec, told, ok := s.pending(ctx, t, func(*ask.Record) (string, bool) { return t.At, false })
	if !ok {
		return told
	}
	steps, do := s.held(t).Press(s.Card(s.Language(&rec.Ask), rec), data)
	switch do {
	case card.DoDecline:
		return s.decline(ctx, t, rec, t.At, "")
	case card.DoTakeBack:
		by, refused := s.by(t, rec)
		if refused != "" {
			return refused
		}
		return s.TakeBack(ctx, t.Lang, rec, t.At, t.ID, by)
	case card.DoType:
		return s.prompt(ctx, t, rec, steps)
	case card.DoNothing:
		return s.restart(ctx, t, rec, t.At, steps)
	case card.DoChoose, card.DoContinue, card.DoConfirm:
	}
	return s.advance(ctx, t, rec, t.At, steps)
}

// Write takes words that reply to the message of an ask, or to one that asked for them, and returns what to tell their
// writer. They are for question n, from 0. Addressed says that they are meant for this app. Message returns the message of
// an ask, and whether the words reply to a prompt for them instead.
func (s *Stepwise) Write(ctx context.Context, t *Turn, words string, n int, addressed bool, message func(*ask.Record) (at string, prompted bool)) (told string) {
	rec, told, ok := s.pending(ctx, t, message)
	if !ok {
		return told
	}
	at, prompted := message(rec)
	h := Listen(words, prompted || addressed)
	reason, declines := Declines(h.Words)
	switch {
	case !h.Answers([]*ask.Ask{&rec.Ask}, true):
		return t.Lang.Say("This was not taken as an answer, because people also talk here. Begin with “answer:” to answer.")
	case declines && !prompted:
		return s.decline(ctx, t, rec, at, reason)
	}
	steps, ok := s.held(t).Back(n)
	if !ok {
		return s.restart(ctx, t, rec, at, steps)
	}
	view := s.Card(s.Language(&rec.Ask), rec)
	if steps.Next(view) == nil {
		return s.advance(ctx, t, rec, at, steps.Note(h.Words))
	}
	next, err := steps.Type(s.Card(t.Lang, rec), h.Words)
	if err != nil {
		_ = s.prompt(ctx, t, rec, steps)
		return err.Error()
	}
	return s.advance(ctx, t, rec, at, next)
}

// pending returns the ask of a turn if it is open. Otherwise it corrects or closes the message, and returns what to
// tell the person.
func (s *Stepwise) pending(ctx context.Context, t *Turn, message func(*ask.Record) (at string, prompted bool)) (rec *ask.Record, told string, ok bool) {
	one, err := s.Bus.Posted(ctx, t.Post)
	if err != nil {
		told, shown := s.Gone(t.Lang, &one, err)
		if shown != "" && t.At != "" {
			_ = s.said(ctx, t, s.draw.Close(ctx, t.At, shown))
		}
		return nil, told, false
	}
	if one.Outcome != nil {
		at, _ := message(&one)
		return nil, s.Late(t.Lang, &one, at), false //nolint:contextcheck // the correction outlives the turn
	}
	return &one, "", true
}

// by returns the person of a turn, or why they may not act at all, which it reports.
func (s *Stepwise) by(t *Turn, rec *ask.Record) (by ask.By, refused string) {
	if by, refused = t.By(&rec.Ask); refused != "" {
		s.RefusePerson("answer", refused, by, &rec.Ask)
	}
	return by, refused
}

// held returns a person's steps so far: those that the message carries, else those in memory.
func (s *Stepwise) held(t *Turn) card.Steps {
	if t.Held.By == t.User {
		return t.Held.Steps
	}
	if d, ok := s.drafts.Get(t.Post); ok && d.By == t.User {
		return d.Steps
	}
	return card.Steps{}
}

// advance shows the next question, or sends the complete reply. It returns what to tell the person.
func (s *Stepwise) advance(ctx context.Context, t *Turn, rec *ask.Record, at string, steps card.Steps) string {
	view := s.Card(s.Language(&rec.Ask), rec)
	if steps.Next(view) == nil {
		if steps.Lacks(view) != "" {
			return s.prompt(ctx, t, rec, steps)
		}
		by, refused := s.by(t, rec)
		if refused != "" {
			return refused
		}
		told, _ := s.Answer(ctx, t.Lang, rec, at, ask.Reply{AnswerID: t.ID, Answers: steps.Answers, By: by})
		return told
	}
	d := Draft{By: t.User, Steps: steps}
	s.drafts.Add(t.Post, d)
	return s.said(ctx, t, s.draw.Show(ctx, at, rec, d))
}

// restart shows a person, who used what belongs to another person's answers, their next question.
func (s *Stepwise) restart(ctx context.Context, t *Turn, rec *ask.Record, at string, steps card.Steps) string {
	if told := s.advance(ctx, t, rec, at, steps); told != "" {
		return told
	}
	return t.Lang.Say("Please begin with this question.")
}

func (s *Stepwise) decline(ctx context.Context, t *Turn, rec *ask.Record, at, reason string) string {
	by, refused := s.by(t, rec)
	if refused != "" {
		return refused
	}
	told, _ := s.Decline(ctx, t.Lang, rec, at, responder.Decline{AnswerID: t.ID, Reason: reason, By: by})
	return told
}

func (s *Stepwise) prompt(ctx context.Context, t *Turn, rec *ask.Record, steps card.Steps) string {
	view := s.Card(t.Lang, rec)
	question := steps.Lacks(view)
	if q := steps.Next(view); q != nil {
		question = q.Plain()
	}
	return s.said(ctx, t, t.Prompt(rec, Draft{By: t.User, Steps: steps}, question))
}

// said returns what to tell a person whose message could not be drawn.
func (s *Stepwise) said(ctx context.Context, t *Turn, err error) string {
	if err == nil {
		return ""
	}
	s.Log.WarnContext(ctx, "cannot draw a message", slog.String("error", err.Error()))
	return t.Lang.Say("The chat could not be reached; please press again in a moment.")
}
