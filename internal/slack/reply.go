package slack

import (
	"context"
	"encoding/json"
	"errors"
	"html"
	"log/slog"
	"regexp"
	"slices"
	"strings"

	"github.com/askbus/askbus/internal/present"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/responder"
	slackapi "github.com/slack-go/slack"
)

// happened handles an event. Slack repeats unacknowledged events; their effects are keyed by the
// message's place and time, so that a repetition changes nothing.
func (s *App) happened(ctx context.Context, e *event, proof string) {
	ev := &e.Event
	switch {
	case ev.Type == "app_home_opened" && ev.Tab != "messages":
		s.home(ctx, actor{User: ev.User, Team: s.Identity().Team, Proof: proof})
	case ev.Type == "message" && ev.Subtype == "" && ev.BotID == "" && ev.User != "" && ev.Thread != "" && ev.Thread != ev.TS:
		team := ev.UserTeam
		if team == "" {
			team = ev.Team
		}
		s.replied(ctx, message{Channel: ev.Channel, TS: ev.TS, Thread: ev.Thread}, ev.Text, actor{User: ev.User, Team: team, Proof: proof})
	}
}

// replied handles a reply in a thread as the answer to the thread's open ask.
func (s *App) replied(ctx context.Context, m message, text string, who actor) {
	if !s.seen.put(m.Channel+"/"+m.TS, struct{}{}) {
		return // a repetition; other replicas repeat the same effect
	}
	messages, err := s.api.history(ctx, m.Channel, m.Thread, s.opts.Clock.Now(), 5)
	if err != nil {
		s.seen.drop(m.Channel + "/" + m.TS)
		s.log.WarnContext(ctx, "cannot read a thread; ignoring a reply in it", slog.String("error", err.Error()))
		return
	}
	open, at, draft, answered := s.openIn(ctx, messages, m, who.User)
	switch {
	case answered || len(open) == 0 && at.TS == "":
		return // handled already, or not a thread of ours
	case len(open) == 0:
		s.tell(ctx, m, who.User, "No question is open in this thread. Your reply was not taken as an answer.")
		return
	case len(open) > 1:
		s.tell(ctx, m, who.User, "Several questions are open in this thread. Please answer on the card that you mean; your reply was not taken as an answer.")
		return
	}
	rec := open[0]
	d := s.askedIn(s.speaks(who.User, &rec.Ask), rec, s.linkTo(rec.Ask.Key())).Card.Draft()
	for _, ans := range draft {
		d.Set(ans)
	}
	id := answerID(m.Channel, m.Thread, m.TS, who.User)
	if reason, ok := declines(text); ok {
		why, _ := s.decline(ctx, rec, at, who, responder.Decline{AnswerID: id, Reason: reason})
		s.react(ctx, m, who, why)
		return
	}
	if again := d.Read(written(text)); len(again) > 0 {
		s.askAgain(ctx, rec, m, who, d, again)
		return
	}
	reply := d.Reply()
	reply.AnswerID = id
	why, _ := s.answer(ctx, rec, at, who, reply)
	s.react(ctx, m, who, why)
}

func (s *App) react(ctx context.Context, m message, who actor, why string) {
	if why != "" {
		s.tell(ctx, m, who.User, why)
	}
}

// declines reports whether a reply declines, and the reason.
func declines(text string) (reason string, ok bool) {
	rest, ok := strings.CutPrefix(strings.ToLower(strings.TrimSpace(text)), "decline")
	if !ok || rest != "" && !strings.ContainsAny(rest[:1], " :.,") {
		return "", false
	}
	return strings.Trim(written(strings.TrimSpace(text)[len("decline"):]), " :.,"), true
}

// openIn returns the open asks of a thread, the card of the only one, this person's earlier answers
// to it, and whether another replica has handled this reply.
func (s *App) openIn(ctx context.Context, messages []found, m message, user string) (open []*ask.Record, at message, draft []ask.Answer, handled bool) {
	drafts := map[string][]ask.Answer{}
	for i := range slices.Backward(messages) {
		f := &messages[i]
		if f.payload("for") == m.TS {
			return nil, message{}, nil, true
		}
		k, ok := parseKey(f.payload("ask"))
		if !ok || f.BotID != "" && s.Identity().BotID != "" && f.BotID != s.Identity().BotID {
			continue
		}
		if held := f.payload("draft"); held != "" {
			if f.payload("by") == user && drafts[k.String()] == nil {
				var list []ask.Answer
				if json.Unmarshal([]byte(held), &list) == nil {
					drafts[k.String()] = list
				}
			}
			continue
		}
		at = message{Channel: m.Channel, TS: f.TS, Thread: m.Thread}
		if len(open) > 1 {
			continue
		}
		rec, err := s.bus.Get(ctx, k)
		if err != nil || rec.Life != f.payload("life") || rec.State != ask.StatePending {
			if err != nil && !errors.Is(err, ask.ErrNotFound) {
				s.log.WarnContext(ctx, "cannot read an ask of a thread", slog.String("ask_id", k.ID), slog.String("error", err.Error()))
			}
			continue
		}
		if !slices.ContainsFunc(open, func(o *ask.Record) bool { return o.Ask.Key() == k }) {
			open = append(open, &rec)
		}
	}
	if len(open) == 1 {
		k := open[0].Ask.Key()
		for i := range messages {
			if messages[i].payload("ask") == k.String() && messages[i].payload("draft") == "" {
				at = message{Channel: m.Channel, TS: messages[i].TS, Thread: m.Thread}
			}
		}
		draft = drafts[k.String()]
	}
	return open, at, draft, false
}

func parseKey(s string) (ask.Key, bool) {
	parts := strings.Split(s, "/")
	if len(parts) != 3 {
		return ask.Key{}, false
	}
	k := ask.Key{Tenant: parts[0], Session: parts[1], ID: parts[2]}
	return k, k.Valid()
}

// askAgain prompts in the thread for the questions that were not understood. The message carries
// the valid answers, so that any replica can continue.
func (s *App) askAgain(ctx context.Context, rec *ask.Record, m message, who actor, d *present.Draft, again []present.Again) {
	card := s.askedIn(s.speaks(who.User, &rec.Ask), rec, "").Card
	held, err := json.Marshal(d.Reply().Answers)
	if err != nil || len(held) > 3000 {
		held = []byte("[]")
	}
	payload := map[string]any{"ask": rec.Ask.Key().String(), "life": rec.Life, "draft": string(held), "by": who.User, "for": m.TS}
	s.background(ctx, func(ctx context.Context) {
		if _, err := s.api.post(ctx, rank{Urgent: true, At: s.opts.Clock.Now()}, m.Channel, m.Thread, false, textCard(card.AskAgain(again)), payload); err != nil {
			s.log.WarnContext(ctx, "cannot ask again", slog.String("ask_id", rec.Ask.ID), slog.String("error", err.Error()))
		}
	})
}

// textCard returns a message of plain text.
func textCard(text string) card {
	return card{Text: clipBytes(escape(text), 600), Blocks: []slackapi.Block{slackapi.NewSectionBlock(plain(text, maxSection), nil, nil)}}
}

var slackMark = regexp.MustCompile(`<(?:(https?://[^|>]+|mailto:[^|>]+)(?:\|([^>]*))?|[@#!]([^|>]+)(?:\|([^>]*))?)>`)

// written returns what a person typed, without Slack's markup: a link becomes its URL, "&lt;"
// becomes "<".
func written(text string) string {
	text = slackMark.ReplaceAllStringFunc(text, func(mark string) string {
		parts := slackMark.FindStringSubmatch(mark)
		switch {
		case strings.HasPrefix(parts[1], "mailto:"):
			return parts[2]
		case parts[1] != "":
			return parts[1]
		case parts[4] != "":
			return parts[4]
		}
		return parts[3]
	})
	return html.UnescapeString(text)
}
