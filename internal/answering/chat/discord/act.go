package discord

import (
	"context"
	"errors"
	"log/slog"
	"strconv"
	"strings"

	"github.com/askbus/askbus/internal/answering/chat"
	"github.com/askbus/askbus/internal/process/lang"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/card"
	"github.com/askbus/askbus/pkg/responder"
)

// What controls do. Their ids are the key of the post without its prefix, one of these, and a number.
const (
	doChoose   = "c" // answers with option n
	doSure     = "y" // the same for a destructive one, after it was confirmed
	doSelect   = "s" // answers with the option that is selected
	doSkip     = "k"
	doForm     = "a" // opens the form, or sends it
	doDecline  = "d"
	doTakeBack = "u"
)

const (
	keyPrefix = "askbus-"
	keyLength = 24
)

func controlID(key, do string, n int) string {
	return strings.TrimPrefix(key, keyPrefix) + ":" + do + ":" + strconv.Itoa(n)
}

// parseControl parses what controlID returned.
func parseControl(id string) (key, do string, n int, ok bool) {
	parts := strings.Split(id, ":")
	if len(parts) != 3 || len(parts[0]) != keyLength {
		return "", "", 0, false
	}
	n, err := strconv.Atoi(parts[2])
	return keyPrefix + parts[0], parts[1], n, err == nil && n >= 0
}

// act carries out what a person did.
func (s *App) act(ctx context.Context, in *interaction) outcome {
	if in.Type == typeCommand {
		return tell(s.link(ctx, in))
	}
	key, do, n, ok := parseControl(in.Data.ID)
	if !ok || in.Type != typeButton && in.Type != typeForm {
		return outcome{}
	}
	rec, err := s.Bus.Posted(ctx, key)
	l := s.Speaks(in.Locale, &rec.Ask)
	at := in.at(&rec, s.Type)
	switch {
	case err != nil:
		told, shown := s.Gone(l, &rec, err)
		s.close(ctx, at, shown)
		return tell(told)
	case rec.Outcome != nil:
		return tell(s.Late(l, &rec, at)) //nolint:contextcheck // the correction outlives the click
	}
	by, refused := s.by(ctx, l, in, &rec.Ask)
	if refused != "" {
		s.RefusePerson("answer", refused, by, &rec.Ask)
		return tell(refused)
	}
	t := turn{s, l, &rec, key, at, by, chat.AnswerID(Type, in.ID), key + "/" + in.User.ID}
	switch {
	case in.Type == typeForm && do == doDecline:
		told, _ := s.Decline(ctx, l, &rec, at, responder.Decline{AnswerID: t.id, Reason: strings.TrimSpace(valuesOf(in.Data.Components).one(fieldWhy)), By: by})
		return tell(told)
	case in.Type == typeForm:
		return t.sent(ctx, valuesOf(in.Data.Components))
	case do == doDecline:
		return outcome{form: declineForm(l, t.card(), key)}
	case do == doTakeBack:
		return tell(s.TakeBack(ctx, l, &rec, at, t.id, by))
	case do == doSelect && len(in.Data.Values) > 0:
		if n, err = strconv.Atoi(in.Data.Values[0]); err == nil && n >= 0 {
			return t.choose(ctx, do, n)
		}
	case do == doChoose, do == doSure, do == doSkip:
		return t.choose(ctx, do, n)
	}
	return t.open(values{}) // also for a control of another version
}

// turn is what one person does with an open ask.
type turn struct {
	s    *App
	l    *lang.Language
	rec  *ask.Record
	key  string // of the post
	at   string
	by   ask.By
	id   string // of an answer
	held string // what they wrote in a form is kept under this
}

func (t *turn) card() *card.Card { return t.s.Card(t.l, t.rec) }

// choose answers the only question with an option.
func (t *turn) choose(ctx context.Context, do string, n int) outcome {
	c := t.card()
	q := &c.Questions[0]
	ans := ask.Answer{QuestionID: q.ID}
	switch {
	case len(c.Questions) > 1 || do != doSkip && n >= len(q.Options):
		return t.open(values{})
	case do == doSkip:
		ans.Skipped = true
	case q.Kind == ask.KindBoolean:
		ans.Boolean = new(q.Options[n].ID == card.Yes)
	default:
		ans.Selected = []string{q.Options[n].ID}
	}
	if p := t.rec.Ask.Approval; p != nil && t.rec.Ask.Approves(&ans) {
		if _, needed := p.NeedsReason(&t.by); needed {
			return t.open(values{field(0): {strconv.Itoa(n)}}) // the form has a field for it
		}
	}
	if chosen := c.Destructive([]ask.Answer{ans}); chosen != "" && do != doSure {
		sure := component{Type: typeButtons, Style: styleDanger, Label: short(t.l.Say("Yes: %s", chosen), maxLabel), ID: controlID(t.key, doSure, n)}
		return tell(t.l.Say("“%s” is destructive. Press the button if you mean it.", escape(chosen)), sure)
	}
	told, _ := t.s.Answer(ctx, t.l, t.rec, t.at, ask.Reply{AnswerID: t.id, Answers: []ask.Answer{ans}, By: t.by})
	return tell(told)
}

// open opens the form, with what the person wrote before.
func (t *turn) open(begun values) outcome {
	if held, ok := t.s.unsent.Get(t.held); ok && len(begun) == 0 {
		begun = held
	}
	if why := t.s.Withheld(t.l, t.rec, nil); why != "" {
		return tell(why)
	}
	if c := t.card(); planOf(c).fits {
		return outcome{form: answerForm(t.l, c, t.key, begun)}
	}
	if link := t.s.LinkTo(t.rec.Ask.Key()); link != "" {
		return tell(t.l.Say("This is too much for a form of Discord: answer it in the browser, please.") + "\n<" + link + ">")
	}
	return tell(t.l.Say("This is too much for a form of Discord: answer it in the web inbox, please."))
}

// sent answers with a form.
func (t *turn) sent(ctx context.Context, v values) outcome {
	c := t.card()
	answers, why := v.read(t.l, c, &t.rec.Ask)
	if chosen := c.Destructive(answers); why == "" && chosen != "" && v.one(fieldSure) == "" {
		why = t.l.Say("“%s” is destructive: tick this to choose it.", chosen)
	}
	if why != "" {
		return t.again(v, t.l.Say("Not stored: %s The question stays open.", escape(why)))
	}
	told, err := t.s.Answer(ctx, t.l, t.rec, t.at, ask.Reply{AnswerID: t.id, Answers: answers, By: t.by})
	if err != nil && !errors.Is(err, ask.ErrVoted) && !errors.Is(err, ask.ErrResolved) && !errors.Is(err, ask.ErrForbidden) {
		return t.again(v, told)
	}
	t.s.unsent.Remove(t.held)
	return tell(told)
}

// again tells why a form was not stored, with a button that opens it as it was.
func (t *turn) again(v values, told string) outcome {
	t.s.unsent.Add(t.held, v)
	return tell(told, component{Type: typeButtons, Style: stylePrimary, Label: t.l.Say("Answer…"), ID: controlID(t.key, doForm, 0)})
}

// close makes a message that no outcome will update say only these words.
func (s *App) close(ctx context.Context, at, words string) {
	if words == "" || at == "" {
		return
	}
	s.after.Go(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), handleFor)
		defer cancel()
		if err := s.api.edit(ctx, s.Now(), at, messageOf(nil, component{Type: typeText, Content: escape(words)})); err != nil && !gone(err) {
			s.Log.WarnContext(ctx, "cannot close a message", slog.String("error", err.Error()))
		}
	})
}
