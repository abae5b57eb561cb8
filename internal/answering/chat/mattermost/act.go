package mattermost

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/askbus/askbus/internal/answering/chat"
	"github.com/askbus/askbus/internal/process/lang"
	"github.com/askbus/askbus/pkg/ask"
)

// maxBody is the maximum size of a call.
const maxBody = 1 << 20

// field is the only field of a dialog.
const field = "words"

var errCode = errors.New("no code of this app")

// called is a call of the server: somebody pressed a button, or sent a dialog.
type called struct {
	User       string            `json:"user_id"`
	Post       string            `json:"post_id"`
	Channel    string            `json:"channel_id"`
	Trigger    string            `json:"trigger_id"`
	Context    held              `json:"context"`
	State      string            `json:"state"`
	Cancelled  bool              `json:"cancelled"`
	Submission map[string]string `json:"submission"`
}

// receive answers a call in time, with what handle returns for its person.
func (s *App) receive(handle func(*called) (of held, code string, do func(context.Context) string, answer func(told string) any)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if !s.busy.Admit(w) {
			return
		}
		defer s.busy.End()
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
		var in called
		if err != nil || json.Unmarshal(body, &in) != nil {
			http.Error(w, "not a call of Mattermost", http.StatusBadRequest)
			return
		}
		of, person, do, answer := handle(&in)
		if !idForm.MatchString(in.User) || !s.codes.valid(&of, person, s.Clock.Now()) || in.Post != "" && in.Post != of.Post {
			s.Log.WarnContext(r.Context(), "refused a call without a code of this app, or with an old one")
			s.RefuseRequest(r, ask.CodeUnauthorized, errCode.Error())
			http.Error(w, errCode.Error(), http.StatusUnauthorized)
			return
		}
		told, ok := chat.InTime(r.Context(), &s.after, s.opts.AckAfter, do, func(ctx context.Context, told string) { s.whisper(ctx, in.User, told) })
		if !ok {
			told = s.Speaks("", nil).Say("Your answer is on its way. The card will show when it is stored.")
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(answer(told))
	}
}

// pressed handles a button: it returns what the button carries, and what to do.
func (s *App) pressed(in *called) (of held, person string, do func(context.Context) string, answer func(told string) any) {
	do = func(ctx context.Context) string {
		return s.Press(ctx, s.turn(ctx, in, &in.Context, in.Trigger), in.Context.Data)
	}
	return in.Context, "", do, func(told string) any {
		if told == "" {
			return struct{}{}
		}
		return map[string]any{"ephemeral_text": literal(told), "skip_slack_parsing": true}
	}
}

// submitted handles a dialog in the same way.
func (s *App) submitted(in *called) (of held, person string, do func(context.Context) string, answer func(told string) any) {
	if json.Unmarshal([]byte(in.State), &of) != nil {
		return of, in.User, nil, nil // without a code
	}
	do = func(ctx context.Context) string {
		n, err := strconv.Atoi(of.Data)
		if words := strings.TrimSpace(in.Submission[field]); err == nil && words != "" && !in.Cancelled {
			in.Post = of.Post
			t := s.turn(ctx, in, &of, "")
			t.At = ""
			return s.unlessVoted(ctx, t, s.Write(ctx, t, words, n, true, func(rec *ask.Record) (string, bool) {
				for _, one := range chat.Posted(s.Type, rec) {
					if m, ok := chat.ParseMessage(one.Ref); ok && m.ID == of.Post {
						return one.Ref, true
					}
				}
				return "", true
			}))
		}
		return ""
	}
	return of, in.User, do, func(told string) any {
		if told == "" {
			return struct{}{}
		}
		return map[string]any{"errors": map[string]string{field: told}}
	}
}

// unlessVoted returns what to tell a person in a dialog, which stays open then. That a vote is stored it tells elsewhere.
func (s *App) unlessVoted(ctx context.Context, t *chat.Turn, told string) string {
	rec, err := s.Bus.Posted(ctx, t.Post)
	if told == "" || err != nil || !slices.ContainsFunc(rec.Votes, func(v ask.Vote) bool { return v.AnswerID == t.ID }) {
		return told
	}
	s.whisper(ctx, t.User, told)
	return ""
}

// turn is what a user did at a post about an ask.
func (s *App) turn(ctx context.Context, in *called, h *held, trigger string) *chat.Turn {
	u, _ := s.people.Person(ctx, in.User) // who cannot be looked up is refused when they act
	l := s.Speaks(u.Locale, nil)
	d, _ := chat.ParseDraft(h.Draft)
	at := chat.Message{Channel: in.Channel, ID: h.Post}
	return &chat.Turn{
		Post: h.Key, At: at.Ref(), User: in.User, Lang: l, Held: d, ID: chat.AnswerID(Type, h.Post, h.Data, h.Draft, in.Trigger, in.Submission[field], in.User),
		By: func(a *ask.Ask) (ask.By, string) { return s.by(ctx, l, in, a) },
		Prompt: func(_ *ask.Record, d chat.Draft, question string) error {
			if trigger == "" { // of a dialog, which stays open and says what is wrong
				return nil
			}
			next := held{Key: h.Key, Post: h.Post, Data: strconv.Itoa(len(d.Steps.Answers)), Draft: d.Encode(maxDraft), Expires: h.Expires}
			return s.ask(ctx, l, trigger, question, s.codes.sealed(next, in.User))
		},
	}
}

// ask opens a dialog for words.
func (s *App) ask(ctx context.Context, l *lang.Language, trigger, question string, of held) error {
	state, err := json.Marshal(of)
	if err != nil {
		return err
	}
	return s.api.call(ctx, s.Now(), http.MethodPost, "actions/dialogs/open", map[string]any{
		"trigger_id": trigger, "url": s.opts.Callback + PathDialogs,
		"dialog": map[string]any{
			"callback_id": "answer", "title": ask.Clip(l.Say("Answer"), 24), "introduction_text": literal(ask.Clip(question, 2000)), "submit_label": l.Say("Send"), "state": string(state),
			"elements": []any{map[string]any{"display_name": ask.Clip(l.Say("Answer"), 24), "name": field, "type": "textarea", "max_length": 3000}},
		},
	}, nil)
}

// by returns the person for the broker, or why they may not act at all. The call says who pressed, and its code that the
// server sent it; the server itself says what they are, and that they are in the channel.
func (s *App) by(ctx context.Context, l *lang.Language, in *called, a *ask.Ask) (ask.By, string) {
	u, err := s.people.Person(ctx, in.User)
	is, errIn := s.people.In(ctx, in.Channel+"/"+in.User, in.User)
	by := s.proven(in.User, &u)
	switch {
	case err != nil && u.ID == "", errIn != nil:
		s.Log.WarnContext(ctx, "cannot look up a person of Mattermost", slog.Any("error", err), slog.Any("in_channel", errIn))
		return by, l.Say("The chat could not be reached; please press again in a moment.")
	case !u.person(in.User) || !is:
		return by, l.Say("Only a person can answer; anonymous administrators and bots cannot.")
	case s.barred(&u):
		return by, l.Say("Guests may not answer here. The administrator of askbus can list you: %s.", u.ID)
	}
	s.Identify(ctx, &by, in.User, a, func(group string) (bool, error) { return s.people.In(ctx, group+"/"+in.User, in.User) })
	return by, ""
}

// proven returns a user as the server proves them.
func (s *App) proven(id string, u *user) ask.By {
	return ask.By{Principal: Type + ":" + s.server + "/" + id, Name: u.name(), Proof: ask.ProofMattermost}
}

// barred reports whether a user is a guest of the server who may not answer.
func (s *App) barred(u *user) bool {
	return strings.Contains(u.Roles, "guest") && !slices.Contains(s.opts.Guests, u.ID)
}

// whisper writes to a person alone: a bot may not write into a channel for one person.
func (s *App) whisper(ctx context.Context, person, words string) {
	s.write(ctx, person, literal(words))
}

// write is whisper for Markdown.
func (s *App) write(ctx context.Context, person, markdown string) {
	if markdown == "" {
		return
	}
	channel, err := s.api.direct(ctx, s.Now(), person)
	if err == nil {
		_, err = s.api.send(ctx, s.Now(), &post{Channel: channel, Message: markdown})
	}
	if err != nil {
		s.Log.InfoContext(ctx, "cannot write to a person", slog.String("error", err.Error()))
	}
}
