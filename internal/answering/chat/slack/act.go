package slack

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"

	"github.com/askbus/askbus/internal/answering/chat"
	"github.com/askbus/askbus/internal/process/lang"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/card"
	"github.com/askbus/askbus/pkg/responder"
	slackapi "github.com/slack-go/slack"
)

// interaction is a click or a submission from Slack. It decodes only what is needed: one odd block
// in the message must not lose the click.
type interaction struct {
	Type      string `json:"type"`
	TriggerID string `json:"trigger_id"`
	Team      struct {
		ID string `json:"id"`
	} `json:"team"`
	User struct {
		ID       string `json:"id"`
		Name     string `json:"name"`
		Username string `json:"username"`
		TeamID   string `json:"team_id"`
	} `json:"user"`
	Container struct {
		ChannelID string `json:"channel_id"`
		MessageTS string `json:"message_ts"`
		ThreadTS  string `json:"thread_ts"`
	} `json:"container"`
	Channel struct {
		ID string `json:"id"`
	} `json:"channel"`
	Message struct {
		TS       string `json:"ts"`
		ThreadTS string `json:"thread_ts"`
	} `json:"message"`
	Actions     []action `json:"actions"`
	ResponseURL string   `json:"response_url"`
	State       struct {
		Values values `json:"values"`
	} `json:"state"`
	View struct {
		ID         string `json:"id"`
		Hash       string `json:"hash"`
		CallbackID string `json:"callback_id"`
		Metadata   string `json:"private_metadata"`
		State      struct {
			Values values `json:"values"`
		} `json:"state"`
	} `json:"view"`
}

type action struct {
	value
	ActionID string `json:"action_id"`
	BlockID  string `json:"block_id"`
	ActionTS string `json:"action_ts"`
}

func (in *interaction) actor(proof string) actor {
	return actor{User: in.User.ID, Name: cmp.Or(in.User.Name, in.User.Username), Team: cmp.Or(in.User.TeamID, in.Team.ID), Proof: proof}
}

func (in *interaction) message() message {
	m := message{Channel: cmp.Or(in.Container.ChannelID, in.Channel.ID), ID: cmp.Or(in.Container.MessageTS, in.Message.TS), Thread: in.Container.ThreadTS}
	if m.Thread == "" && in.Message.ThreadTS != m.ID {
		m.Thread = in.Message.ThreadTS
	}
	return m
}

// readInteraction decodes a click or a submission. One that names no user is refused: it would be
// nobody's answer.
func readInteraction(payload []byte) (*interaction, error) {
	var in interaction
	if err := json.Unmarshal(payload, &in); err != nil {
		return nil, fmt.Errorf("malformed interaction: %w", err)
	}
	if strings.TrimSpace(in.User.ID) == "" {
		return nil, errors.New("invalid interaction: user.id is empty")
	}
	return &in, nil
}

// interact handles a click or a submission. It returns the body of the acknowledgement; nil is an
// empty one.
func (s *App) interact(ctx context.Context, payload []byte, proof string) any {
	in, err := readInteraction(payload)
	if err != nil {
		s.Log.WarnContext(ctx, "refused an interaction", slog.String("error", err.Error()))
		return nil
	}
	switch in.Type {
	case "block_actions":
		if len(in.Actions) > 0 {
			s.click(ctx, in, &in.Actions[0], in.actor(proof))
		}
	case "view_submission":
		return s.submit(ctx, in, in.actor(proof))
	}
	return nil
}

// click handles an action on an element.
func (s *App) click(ctx context.Context, in *interaction, act *action, who actor) {
	name, _, _ := strings.Cut(act.ActionID, ":")
	if name == actionSay {
		s.pressed(ctx, in, act, who)
		return
	}
	at := act.Value
	if name == actionSelect {
		at = act.BlockID
	}
	t, ok := chat.ParseRef(at)
	if !ok {
		return // a link, or an input that its button submits
	}
	m := in.message()
	rec, err := s.Bus.Get(ctx, t.Key)
	if err != nil || rec.Life != t.Life {
		s.lost(ctx, m, who, rec, t, err)
		return
	}
	if t.Q >= len(rec.Ask.Questions) {
		return
	}
	q := &rec.Ask.Questions[t.Q]
	ans := ask.Answer{QuestionID: q.ID}
	switch name {
	case actionAnswer, actionDecline:
		s.open(ctx, in, m, who, &rec, t, name)
		return
	case actionUnvote:
		by, why := s.by(ctx, who, &rec.Ask)
		if why == "" {
			why = s.TakeBack(ctx, s.speaks(who.User, &rec.Ask), &rec, m.Ref(), chat.AnswerID(Type, m.Channel, m.ID, act.ActionTS, who.User), by)
		}
		s.notify(ctx, m, who.User, why)
		return
	case actionChoose:
		if q.Kind == ask.KindBoolean {
			ans.Boolean = new(t.Option == card.Yes)
		} else {
			ans.Selected = []string{t.Option}
		}
		if p := rec.Ask.Approval; p != nil && rec.Outcome == nil && rec.Ask.Approves(&ans) {
			if _, needed := p.NeedsReason(nil); needed { // the form has a field for it
				s.open(ctx, in, m, who, &rec, t, name)
				return
			}
		}
	case actionSelect:
		ans.Selected = chat.Chosen(q, act.text())
	case actionSend:
		for _, v := range in.State.Values[t.Question()] {
			ans.Selected = append(ans.Selected, chat.Chosen(q, v.text())...)
		}
		if len(ans.Selected) == 0 && q.Optional {
			ans.Skipped = true
		}
	default:
		return
	}
	why, _ := s.answer(ctx, &rec, m, who, ask.Reply{AnswerID: chat.AnswerID(Type, m.Channel, m.ID, act.ActionTS, who.User), Answers: []ask.Answer{ans}})
	if why != "" {
		s.notify(ctx, m, who.User, why)
	}
}

// lost reports that a card's ask is not the current one, and closes the card.
func (s *App) lost(ctx context.Context, m message, who actor, rec ask.Record, t chat.Ref, err error) {
	if err == nil {
		err = ask.ErrAskedAgain
	}
	if _, shown := s.Gone(s.Language(&rec.Ask), &rec, err); shown != "" {
		s.close(ctx, m, shown)
	}
	s.after.Do(ctx, func(ctx context.Context) {
		s.meet(ctx, who.User)
		told, _ := s.Gone(s.speaks(who.User, nil), &rec, err)
		s.whisper(ctx, m, who.User, textCard(told))
	})
	s.Log.InfoContext(ctx, "received a click on an outdated card", slog.String("ask_id", t.Key.ID), slog.String("life", rec.Life))
}

// close removes the buttons from a card that no outcome will update.
func (s *App) close(ctx context.Context, m message, text string) {
	if m.ID == "" {
		return
	}
	s.after.Do(ctx, func(ctx context.Context) {
		c := content{Text: text, Blocks: []slackapi.Block{slackapi.NewSectionBlock(plain(text, maxSection), nil, nil)}}
		if err := s.api.update(ctx, s.Now(), m, c); err != nil && !gone(err) {
			s.Log.WarnContext(ctx, "cannot close a card", slog.String("error", err.Error()))
		}
	})
}

// notify sends a person an ephemeral message in their language, after the acknowledgement.
func (s *App) notify(ctx context.Context, m message, user, text string) {
	s.after.Do(ctx, func(ctx context.Context) {
		s.meet(ctx, user)
		s.whisper(ctx, m, user, textCard(s.speaks(user, nil).Say(text)))
	})
}

// whisper sends a message to one person: an ephemeral one where they are looking, or a direct message
// if there is no channel, as on the Home tab, or the person is not in it.
func (s *App) whisper(ctx context.Context, m message, user string, c content) {
	var err error
	if m.Channel != "" {
		err = s.api.whisper(ctx, m, user, c)
	}
	if m.Channel == "" || code(err) == "user_not_in_channel" {
		var channel string
		if channel, err = s.channel(ctx, chat.Target{Person: user}); err == nil {
			_, err = s.api.post(ctx, s.Now(), channel, "", false, c, nil)
		}
	}
	if err != nil {
		s.Log.InfoContext(ctx, "cannot send a message to a user", slog.String("error", err.Error()))
	}
}

// open opens a modal. Its trigger expires after three seconds.
func (s *App) open(ctx context.Context, in *interaction, m message, who actor, rec *ask.Record, t chat.Ref, name string) {
	from := modalRef{Target: t.String(), Channel: m.Channel, TS: m.ID, Thread: m.Thread}
	s.meet(ctx, in.User.ID)
	l := s.speaks(in.User.ID, &rec.Ask)
	a := s.askedIn(l, rec, s.LinkTo(t.Key))
	a.Chosen = t.Option
	v := answerModal(a, from)
	switch {
	case rec.Outcome != nil:
		v = noteModal(l, l.Say("Already ended"), s.Late(l, rec, m.Ref())) //nolint:contextcheck // the correction outlives the click
	case name == actionDecline:
		v = declineModal(a, from)
	case a.Card.Withheld != "":
		v = noteModal(l, l.Say("Not stored"), s.Withheld(l, rec, nil))
	}
	if err := s.api.openView(ctx, in.TriggerID, v); err != nil {
		s.Log.WarnContext(ctx, "cannot open a modal", slog.String("ask_id", t.Key.ID), slog.String("error", err.Error()))
		s.notify(ctx, m, in.User.ID, "The form could not be opened in time. Please click again.")
		return
	}
	s.after.Do(ctx, func(ctx context.Context) { s.looks(ctx, who, rec, true) })
}

// answer sends a person's answer. err is the broker's; why is what to tell the person, if anything.
func (s *App) answer(ctx context.Context, rec *ask.Record, m message, who actor, reply ask.Reply) (why string, err error) {
	if reply.By, why = s.by(ctx, who, &rec.Ask); why != "" {
		return s.refuse("answer", who, rec, why)
	}
	return s.Answer(ctx, s.speaks(who.User, &rec.Ask), rec, m.Ref(), reply)
}

// decline declines for a person, as answer answers.
func (s *App) decline(ctx context.Context, rec *ask.Record, m message, who actor, d responder.Decline) (why string, err error) {
	if d.By, why = s.by(ctx, who, &rec.Ask); why != "" {
		return s.refuse("decline", who, rec, why)
	}
	return s.Decline(ctx, s.speaks(who.User, &rec.Ask), rec, m.Ref(), d)
}

// refuse refuses a person who may not answer at all.
func (s *App) refuse(what string, who actor, rec *ask.Record, why string) (string, error) {
	s.RefusePerson(what, why, ask.By{Principal: "slack:" + who.Team + "/" + who.User, Name: who.Name, Proof: who.Proof}, &rec.Ask)
	return why, ask.Refuse(ask.CodeForbidden, "%s", why)
}

// submit handles a modal's submission. The acknowledgement closes the modal, or marks the invalid
// fields.
func (s *App) submit(ctx context.Context, in *interaction, who actor) any {
	ref, t, ok := parseModalRef(in.View.Metadata)
	if !ok {
		return nil
	}
	m, l, fields := ref.message(), s.speaks(who.User, nil), in.View.State.Values.fields()
	rec, err := s.Bus.Get(ctx, t.Key)
	if err != nil || rec.Life != t.Life {
		if err != nil && !errors.Is(err, ask.ErrNotFound) {
			return sayErrors(in, l.Say("Not stored: askbus cannot be reached. Please send it again in a moment."))
		}
		return sayView(l, l.Say("Ended"), l.Say("This question no longer exists, or was asked again. Nothing was stored."))
	}
	id := chat.AnswerID(Type, m.Channel, m.ID, in.View.ID+in.View.Hash, who.User)
	if in.View.CallbackID == callbackDecline {
		reason := strings.TrimSpace(fields[chat.FieldReason])
		why, err := s.decline(ctx, &rec, m, who, responder.Decline{AnswerID: id, Reason: reason})
		switch {
		case errors.Is(err, ask.ErrVoted):
			return sayView(l, l.Say("Stored"), why)
		case err != nil:
			return sayView(l, l.Say("Not declined"), why)
		}
		return nil
	}
	answers, faults := fields.Read(l, &rec.Ask)
	if len(faults) > 0 {
		return map[string]any{"response_action": "errors", "errors": faults}
	}
	if chosen := s.askedIn(l, &rec, "").Card.Destructive(answers); chosen != "" && !fields.Sure() {
		return map[string]any{"response_action": "errors", "errors": map[string]string{chat.FieldSure: clip(l.Say("“%s” is destructive: tick this to choose it.", chosen), 2000)}}
	}
	why, err := s.answer(ctx, &rec, m, who, ask.Reply{AnswerID: id, Answers: answers})
	switch e, _ := errors.AsType[*ask.Error](err); {
	case err == nil:
		return nil
	case errors.Is(err, ask.ErrVoted):
		return sayView(l, l.Say("Stored"), why)
	case errors.Is(err, ask.ErrInvalid) && e != nil:
		if errs := fieldFaults(&rec.Ask, s.askedIn(l, &rec, "").Card, e.Faults); len(errs) > 0 {
			return map[string]any{"response_action": "errors", "errors": errs}
		}
		return sayErrors(in, why)
	case errors.Is(err, ask.ErrResolved), errors.Is(err, ask.ErrForbidden):
		return sayView(l, l.Say("Not stored"), why)
	}
	return sayErrors(in, why)
}

// sayErrors shows an error at a modal's first field; the modal stays open with its input.
func sayErrors(in *interaction, text string) any {
	field := chat.FieldReason
	if in.View.CallbackID == callbackAnswer {
		field = chat.Field(chat.FieldAnswer, 0)
	}
	return map[string]any{"response_action": "errors", "errors": map[string]string{field: clip(text, 2000)}}
}

// sayView replaces a modal by a message.
func sayView(l *lang.Language, title, text string) any {
	return map[string]any{"response_action": "update", "view": noteModal(l, title, text)}
}
