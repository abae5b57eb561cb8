package feishu

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/url"
	"regexp"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/askbus/askbus/internal/answering/chat"
	"github.com/askbus/askbus/internal/process/lang"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/card"
	"github.com/askbus/askbus/pkg/responder"
)

// event is what happened, as both transports bring it.
type event struct {
	Header struct {
		ID     string `json:"event_id"`
		Type   string `json:"event_type"`
		Token  string `json:"token"`
		Tenant string `json:"tenant_key"` // of the app
		App    string `json:"app_id"`
	} `json:"header"`
	Event json.RawMessage `json:"event"`
}

// user identifies a person.
type user struct {
	Union string `json:"union_id"`
	Open  string `json:"open_id"`
}

// click is a card.action.trigger.
type click struct {
	Operator struct {
		user
		Tenant string `json:"tenant_key"`
	} `json:"operator"`
	Action struct {
		Name  string          `json:"name"` // of a form's button
		Value json.RawMessage `json:"value"`
		Form  form            `json:"form_value"`
	} `json:"action"`
	Context struct {
		Message string `json:"open_message_id"`
		Chat    string `json:"open_chat_id"`
	} `json:"context"`
}

// reaction is the answer to a click: words for the person who clicked, and the card as everybody then sees it.
type reaction struct {
	Toast *toast `json:"toast,omitempty"`
	Card  *shown `json:"card,omitempty"`
	user  user   // to be told, if the answer is too late for a toast
}

type toast struct {
	Type    string `json:"type"` // success, warning, error or info
	Content string `json:"content"`
}

type shown struct {
	Type string `json:"type"`
	Data object `json:"data"`
}

const maxToast = 300

func toasted(typ, words string) *toast {
	if words == "" {
		return nil
	}
	return &toast{typ, ask.Clip(words, maxToast)}
}

// Bounds of handling an event. Feishu waits three seconds for an answer.
const (
	ackAfter  = 2200 * time.Millisecond
	handleFor = 20 * time.Second
)

// handling is an event that is or was handled. Feishu delivers one again that was not answered in time.
type handling struct {
	done  chan struct{}
	out   reaction
	state atomic.Int32
}

// States of a [handling].
const (
	underWay   = iota
	inTime     // the result is known
	toldToWait // the answer was given without it
)

// respond handles an event once, and returns the answer to it. If that takes too long the person is told the result in a
// message of their own. It is false if too many events are being handled: Feishu delivers it again.
func (s *App) respond(ctx context.Context, e *event) (reaction, bool) {
	if e.Header.App != s.opts.AppID || e.Header.ID == "" {
		s.Log.WarnContext(ctx, "dropped an event that is not for this app")
		return reaction{}, true
	}
	h := &handling{done: make(chan struct{})}
	if earlier, again, _ := s.seen.PeekOrAdd(e.Header.ID, h); again {
		h = earlier
	} else {
		if !s.busy.Begin() {
			s.seen.Remove(e.Header.ID)
			return reaction{}, false
		}
		s.work.Go(func() {
			defer s.busy.End()
			within, cancel := context.WithTimeout(context.WithoutCancel(ctx), handleFor)
			defer cancel()
			h.out = s.happened(within, e)
			late := !h.state.CompareAndSwap(underWay, inTime)
			close(h.done)
			if late && h.out.Toast != nil && h.out.user.Open != "" {
				s.tell(within, h.out.user.Open, h.out.Toast.Content, e.Header.ID)
			}
		})
	}
	timer := time.NewTimer(s.opts.AckAfter)
	defer timer.Stop()
	select {
	case <-h.done:
		return h.out, true
	case <-timer.C:
	}
	switch {
	case !h.state.CompareAndSwap(underWay, toldToWait) && h.state.Load() == inTime:
		<-h.done
		return h.out, true
	case e.Header.Type != eventClick:
		return reaction{}, true
	}
	return reaction{Toast: toasted("info", s.Speaks("", nil).Say("Your answer is on its way. The card will show when it is stored."))}, true
}

// tell writes to one person.
func (s *App) tell(ctx context.Context, to, words, id string) {
	if _, err := s.api.post(ctx, s.Now(), to, "text", textOf(words), ask.Clip("t-"+id, 50)); err != nil {
		s.Log.InfoContext(ctx, "cannot write to a person", slog.String("error", err.Error()))
	}
}

// Types of events.
const (
	eventClick   = "card.action.trigger"
	eventMessage = "im.message.receive_v1"
)

func (s *App) happened(ctx context.Context, e *event) reaction {
	if s.Bus == nil && e.Header.Type != eventMessage { // it is only paired
		return reaction{}
	}
	switch e.Header.Type {
	case eventClick:
		var c click
		if json.Unmarshal(e.Event, &c) == nil && c.Operator.Union != "" {
			r := s.clicked(ctx, e, &c)
			r.user = c.Operator.user
			return r
		}
	case eventMessage:
		var m message
		if json.Unmarshal(e.Event, &m) == nil && m.Sender.Type == "user" && m.Sender.ID.Union != "" {
			s.wrote(ctx, e, &m)
		}
	}
	return reaction{}
}

var nameForm = regexp.MustCompile(`^(pick|send|skip|decline|back)_([0-9]{1,3})_([0-9a-f]{24})$`)

// pressed returns what a button does, its number and the key of its post.
func (c *click) pressed() (do string, n int, key string, ok bool) {
	var value struct {
		Name string `json:"name"`
	}
	_ = json.Unmarshal(c.Action.Value, &value) // a button of a form has none
	parts := nameForm.FindStringSubmatch(cmp.Or(value.Name, c.Action.Name))
	if parts == nil {
		return "", 0, "", false
	}
	n, _ = strconv.Atoi(parts[2]) // digits
	return parts[1], n, keyPrefix + parts[3], true
}

// clicked carries out a button.
func (s *App) clicked(ctx context.Context, e *event, c *click) reaction {
	do, n, key, ok := c.pressed()
	if !ok {
		return reaction{}
	}
	rec, err := s.Bus.Posted(ctx, key)
	l := s.Language(&rec.Ask)
	if err != nil {
		told, shown := s.Gone(l, &rec, err)
		r := reaction{Toast: toasted("warning", told)}
		if shown != "" {
			r.Card = s.closed(shown)
		}
		return r
	}
	at := chat.Message{Channel: c.Context.Chat, ID: c.Context.Message}
	if rec.Outcome != nil {
		return reaction{Toast: toasted("warning", s.Late(l, &rec, at.Ref())), Card: s.ended(&rec)} //nolint:contextcheck // the correction outlives the click
	}
	by, refused := s.by(ctx, e, c.Operator.user, c.Operator.Tenant, at.Channel, &rec.Ask)
	if refused != "" {
		s.RefusePerson(do, refused, by, &rec.Ask)
		return reaction{Toast: toasted("error", refused)}
	}
	id := chat.AnswerID(Type, e.Header.ID)
	if do == doTakeBack {
		return reaction{Toast: toasted("info", s.TakeBack(ctx, l, &rec, at.Ref(), id, by))}
	}
	if do == doDecline {
		told, err := s.Decline(ctx, l, &rec, at.Ref(), responder.Decline{AnswerID: id, By: by})
		return s.result(ctx, l, &rec, told, err)
	}
	reply := ask.Reply{AnswerID: id, By: by}
	var fault string
	if reply.Answers, fault = s.answers(l, &rec, do, n, c.Action.Form); fault != "" {
		return reaction{Toast: toasted("warning", fault)}
	}
	told, err := s.Answer(ctx, l, &rec, at.Ref(), reply)
	return s.result(ctx, l, &rec, told, err)
}

// answers returns what a button answers, or why it answers nothing.
func (s *App) answers(l *lang.Language, rec *ask.Record, do string, n int, f form) (answers []ask.Answer, fault string) {
	q := &rec.Ask.Questions[0]
	switch {
	case do == doSkip:
		return []ask.Answer{{QuestionID: q.ID, Skipped: true}}, ""
	case do == doPick && q.Kind == ask.KindBoolean:
		return []ask.Answer{{QuestionID: q.ID, Boolean: new(n == 0)}}, ""
	case do == doPick && n < len(q.Options):
		return []ask.Answer{{QuestionID: q.ID, Selected: []string{q.Options[n].ID}}}, ""
	case do == doPick:
		return nil, l.Say("This question needs an answer.")
	}
	fields := f.fields(&rec.Ask)
	if answers, fault = read(l, &rec.Ask, fields); fault != "" {
		return nil, fault
	}
	if chosen := s.Card(l, rec).Destructive(answers); chosen != "" && !fields.Sure() {
		return nil, l.Say("“%s” is destructive: tick this to choose it.", chosen)
	}
	return answers, ""
}

// result returns the answer to a click that was stored or refused. The card comes with it only if it is the last one:
// others may change a pending one meanwhile.
func (s *App) result(ctx context.Context, l *lang.Language, rec *ask.Record, told string, err error) reaction {
	switch {
	case err == nil:
		told = cmp.Or(told, l.Say("Stored"))
	case !errors.Is(err, ask.ErrResolved):
		typ := "error"
		if errors.Is(err, ask.ErrVoted) {
			typ = "success"
		}
		return reaction{Toast: toasted(typ, told)}
	}
	r := reaction{Toast: toasted(map[bool]string{true: "success", false: "warning"}[err == nil], told)}
	if now, err := s.Bus.Get(ctx, rec.Ask.Key()); err == nil && now.Life == rec.Life && now.Outcome != nil {
		r.Card = s.ended(&now)
	}
	return r
}

// ended returns the card of an ended ask.
func (s *App) ended(rec *ask.Record) *shown {
	return &shown{"raw", raw(outcome(s.EndIn(s.Language(&rec.Ask), rec, literal)))}
}

// closed returns a card that says only these words.
func (s *App) closed(words string) *shown {
	return &shown{"raw", raw(words, "grey", []object{markdown(escape(words))})}
}

// proven returns a user as Feishu proves them.
func proven(e *event, u user, tenant string) ask.By {
	return ask.By{Principal: Type + ":" + url.PathEscape(cmp.Or(tenant, e.Header.Tenant)) + "/" + url.PathEscape(u.Union), Proof: ask.ProofFeishu}
}

// by returns the person for the broker, or why they may not act at all. A person of another tenant may only if the routing
// file names them.
func (s *App) by(ctx context.Context, e *event, u user, tenant, in string, a *ask.Ask) (ask.By, string) {
	by := proven(e, u, tenant)
	name, err := s.people.Person(ctx, in+"/"+u.Union)
	if err != nil {
		s.Log.InfoContext(ctx, "cannot look up a user's name", slog.String("error", err.Error()))
	}
	by.Name = cmp.Or(name, card.Name(by))
	id, routes := u.Union, s.Routes()
	if routes.Principal(u.Open, nil) != "" {
		id = u.Open
	}
	_, named := routes.People[by.Principal]
	if tenant != "" && tenant != e.Header.Tenant && !named && routes.Principal(id, nil) == "" {
		return by, s.Language(a).Say("Only members of this organization may answer here. The administrator of askbus can list you in the routing file, as %s.", by.Principal)
	}
	s.Identify(ctx, &by, id, a, func(group string) (bool, error) { return s.people.In(ctx, group, u.Union) })
	return by, ""
}
