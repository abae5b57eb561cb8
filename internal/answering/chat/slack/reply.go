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

	"github.com/askbus/askbus/internal/answering/chat"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/card"
	"github.com/askbus/askbus/pkg/responder"
	slackapi "github.com/slack-go/slack"
)

// happened handles an event. Slack repeats unacknowledged events; their effects are keyed by the
// message's place and time, so that a repetition changes nothing.
func (s *App) happened(ctx context.Context, e *event, proof string) {
	ev := &e.Event
	if strings.TrimSpace(ev.User) == "" {
		return // what Slack itself or an app without a user writes
	}
	switch {
	case ev.Type == "app_home_opened" && ev.Tab != "messages":
		s.home(ctx, actor{User: ev.User, Team: s.Identity().Team, Proof: proof})
	case ev.Type == "message" && ev.Subtype == "" && ev.BotID == "" && ev.Thread != "" && ev.Thread != ev.TS:
		team := ev.UserTeam
		if team == "" {
			team = ev.Team
		}
		s.replied(ctx, message{Channel: ev.Channel, TS: ev.TS, Thread: ev.Thread}, ev.Text, actor{User: ev.User, Team: team, Proof: proof})
	}
}

// replied handles what somebody wrote in a thread: an answer to its open ask, or talk.
func (s *App) replied(ctx context.Context, m message, text string, who actor) {
	if again, _ := s.seen.ContainsOrAdd(m.Channel+"/"+m.TS, struct{}{}); again {
		return // a repetition; other replicas repeat the same effect
	}
	messages, more, err := s.api.history(ctx, m.Channel, m.Thread, window{}, maxThreadPages)
	if err != nil {
		s.seen.Remove(m.Channel + "/" + m.TS)
		s.log.WarnContext(ctx, "cannot read a thread; ignoring a reply in it", slog.String("error", err.Error()))
		return
	}
	at := s.openIn(ctx, messages, m, who.User)
	if !at.ours || at.handled {
		return
	}
	h := s.hear(ctx, text)
	asks := make([]*ask.Ask, len(at.open))
	for i := range at.open {
		asks[i] = &at.open[i].rec.Ask
	}
	by := said{User: who.User, TS: m.TS, Thread: m.Thread, Words: h.Words}
	switch {
	case len(at.open) == 0 && h.Addressed:
		s.tell(ctx, m, who.User, "No question is open in this thread. Your reply was not taken as an answer.")
	case len(at.open) == 0:
	case h.Words == "":
		if h.Addressed {
			s.tell(ctx, m, who.User, "Write your answer after “answer:”, or use the card.")
		}
	case h.Answers(asks, more || at.open[0].others):
		s.take(ctx, m.Channel, by, &at.open[0], who)
	default:
		s.offer(ctx, m, by, at.open)
	}
}

// hear reads what somebody wrote, as people read it.
func (s *App) hear(ctx context.Context, text string) chat.Heard {
	mentioned := false
	if bot := s.Identity().BotUser; bot != "" {
		for _, mark := range []string{"<@" + bot + ">", "<@" + bot + "|"} {
			if rest, ok := strings.CutPrefix(strings.TrimSpace(text), mark); ok {
				if strings.HasSuffix(mark, "|") {
					_, rest, _ = strings.Cut(rest, ">")
				}
				text, mentioned = rest, true
				break
			}
		}
	}
	looked := 0
	return chat.Listen(written(text, func(user string) string {
		if looked++; looked > maxNames {
			return ""
		}
		one, err := s.people.Person(ctx, user)
		if err != nil {
			s.log.InfoContext(ctx, "cannot look up a mentioned user", slog.String("error", err.Error()))
		}
		return one.name
	}), mentioned)
}

// Bounds of reading a thread.
const (
	maxThreadPages = 10 // of 200 messages
	maxThreadCards = 50 // of which the newest are looked up
	maxOpen        = 5  // open asks of a thread that a reply may be offered to
	maxNames       = 10 // mentions of one message that are looked up
)

// take sends words as the answer to an ask, or asks for what is missing or unclear.
func (s *App) take(ctx context.Context, channel string, by said, o *opened, who actor) {
	m := message{Channel: channel, TS: by.TS, Thread: by.Thread}
	id := chat.AnswerID(Type, channel, by.Thread, by.TS, who.User)
	if reason, ok := chat.Declines(by.Words); ok {
		why, _ := s.decline(ctx, o.rec, o.card, who, responder.Decline{AnswerID: id, Reason: reason})
		s.react(ctx, m, who, why)
		return
	}
	l := s.speaks(who.User, &o.rec.Ask)
	view := s.askedIn(l, o.rec, s.linkTo(o.rec.Ask.Key())).Card
	d := view.Draft()
	for _, ans := range o.draft {
		d.Set(ans)
	}
	var again []card.Again
	if q := by.question(&o.rec.Ask); q != nil {
		ans, err := q.ParseReply(by.Words)
		if err != nil {
			s.tell(ctx, m, who.User, "Your words do not answer this question.")
			return
		}
		d.Set(ans)
		again = d.Open()
	} else if again = d.Read(by.Words); len(again) > 0 && again[0].Unclear {
		s.offerQuestions(ctx, m, by, o, chat.Meant(&o.rec.Ask, d, by.Words), again[0].Why)
		return
	}
	if len(again) > 0 {
		s.askAgain(ctx, o.rec, m, who, d, again)
		return
	}
	reply := d.Reply()
	reply.AnswerID = id
	why, _ := s.answer(ctx, o.rec, o.card, who, reply)
	s.react(ctx, m, who, why)
}

func (s *App) react(ctx context.Context, m message, who actor, why string) {
	if why != "" {
		s.tell(ctx, m, who.User, why)
	}
}

// threadOf is what a thread holds for somebody who wrote in it.
type threadOf struct {
	ours    bool     // it has a card
	open    []opened // the newest first
	handled bool     // another replica has handled the reply
}

// opened is an open ask of a thread.
type opened struct {
	rec    *ask.Record
	card   message
	others bool         // somebody else wrote since the card
	draft  []ask.Answer // the person's earlier answers
}

// openIn returns what a thread holds for the person who wrote the reply m.
func (s *App) openIn(ctx context.Context, messages []found, m message, user string) (at threadOf) {
	drafts, cards, others := map[string][]ask.Answer{}, 0, false
	for i := range slices.Backward(messages) {
		f := &messages[i]
		if f.payload("for") == m.TS {
			return threadOf{ours: true, handled: true}
		}
		k, ok := chat.ParseKey(f.payload("ask"))
		if !ok || !s.ours(f) {
			others = others || f.TS != m.TS && f.User != user
			continue
		}
		if held := f.payload("draft"); held != "" {
			var list []ask.Answer
			if f.payload("by") == user && drafts[k.String()] == nil && json.Unmarshal([]byte(held), &list) == nil {
				drafts[k.String()] = list
			}
			continue
		}
		at.ours = true
		if cards++; cards > maxThreadCards || len(at.open) > maxOpen {
			continue
		}
		rec, err := s.bus.Get(ctx, k)
		if err != nil || rec.Life != f.payload("life") || rec.State != ask.StatePending {
			if err != nil && !errors.Is(err, ask.ErrNotFound) {
				s.log.WarnContext(ctx, "cannot read an ask of a thread", slog.String("ask_id", k.ID), slog.String("error", err.Error()))
			}
			continue
		}
		view := message{Channel: m.Channel, TS: f.TS, Thread: m.Thread}
		if same := slices.IndexFunc(at.open, func(o opened) bool { return o.rec.Ask.Key() == k }); same >= 0 {
			at.open[same].card, at.open[same].others = view, others
			continue
		}
		at.open = append(at.open, opened{rec: &rec, card: view, others: others, draft: drafts[k.String()]})
	}
	return at
}

// askAgain prompts in the thread for the questions that were not understood. The message carries
// the valid answers, so that any replica can continue.
func (s *App) askAgain(ctx context.Context, rec *ask.Record, m message, who actor, d *card.Draft, again []card.Again) {
	view := s.askedIn(s.speaks(who.User, &rec.Ask), rec, "").Card
	held, err := json.Marshal(d.Reply().Answers)
	if err != nil || len(held) > 3000 {
		held = []byte("[]")
	}
	payload := map[string]any{"ask": rec.Ask.Key().String(), "life": rec.Life, "draft": string(held), "by": who.User, "for": m.TS}
	text := view.AskAgain(again) + "\n\n" + view.Say("Begin your reply with “answer:”, or use the card.")
	s.background(ctx, func(ctx context.Context) {
		if _, err := s.api.post(ctx, responder.Rank{Urgent: true, At: s.opts.Clock.Now()}, m.Channel, m.Thread, false, textCard(text), payload); err != nil {
			s.log.WarnContext(ctx, "cannot ask again", slog.String("ask_id", rec.Ask.ID), slog.String("error", err.Error()))
		}
	})
}

// textCard returns a message of plain text.
func textCard(text string) content {
	return content{Text: clipBytes(escape(text), 600), Blocks: []slackapi.Block{slackapi.NewSectionBlock(plain(text, maxSection), nil, nil)}}
}

var slackMark = regexp.MustCompile(`<(?:(https?://[^|>]+|mailto:[^|>]+)(?:\|([^>]*))?|([@#!])([^|>]+)(?:\|([^>]*))?)>`)

// written returns what a person typed, without Slack's markup: a link becomes its URL, "&lt;"
// becomes "<", and a mention becomes the name, which name returns for a user; "" if it is unknown.
func written(text string, name func(user string) string) string {
	text = slackMark.ReplaceAllStringFunc(text, func(mark string) string {
		parts := slackMark.FindStringSubmatch(mark)
		link, kind, id, label := parts[1], parts[3], parts[4], parts[5]
		switch {
		case strings.HasPrefix(link, "mailto:"):
			return parts[2]
		case link != "":
			return link
		case kind == "!" && strings.HasPrefix(id, "date^"):
			return label
		case kind == "@" && label == "":
			label = name(id)
		}
		if label == "" {
			label = strings.TrimPrefix(id, "subteam^")
		}
		if kind == "!" {
			kind = "@"
		}
		return kind + strings.TrimPrefix(label, kind)
	})
	return html.UnescapeString(text)
}
