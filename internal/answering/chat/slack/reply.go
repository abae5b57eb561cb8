package slack

import (
	"cmp"
	"context"
	"html"
	"log/slog"
	"regexp"
	"strings"

	"github.com/askbus/askbus/internal/answering/chat"
	"github.com/askbus/askbus/pkg/ask"
	slackapi "github.com/slack-go/slack"
)

// happened handles an event. Slack repeats unacknowledged events; their effects are keyed by the
// message's place and time, so that a repetition changes nothing.
func (s *App) happened(ctx context.Context, e *event, proof string) {
	ev := &e.Event
	if strings.TrimSpace(ev.User) == "" {
		return // what Slack itself or an app without a user writes
	}
	if p := s.Pairing(); p != nil || s.Bus == nil {
		if p != nil {
			s.pairs(ctx, p, e, proof)
		}
		return
	}
	switch {
	case ev.Type == "message" && ev.Subtype == "" && ev.BotID == "" && ev.In == "im" && (ev.Thread == "" || ev.Thread == ev.TS) && chat.SaysLink(ev.Text):
		s.link(ctx, message{Channel: ev.Channel, ID: ev.TS}, actor{User: ev.User, Team: cmp.Or(ev.UserTeam, ev.Team), Proof: proof})
	case ev.Type == "app_home_opened" && ev.Tab != "messages":
		s.home(ctx, actor{User: ev.User, Team: s.Identity().Team, Proof: proof})
	case ev.Type == "message" && ev.Subtype == "" && ev.BotID == "" && ev.Thread != "" && ev.Thread != ev.TS:
		s.replied(ctx, message{Channel: ev.Channel, ID: ev.TS, Thread: ev.Thread}, ev.Text, actor{User: ev.User, Team: cmp.Or(ev.UserTeam, ev.Team), Proof: proof})
	}
}

// link tells a member of this workspace how to be linked with a person of the inbox.
func (s *App) link(ctx context.Context, m message, who actor) {
	if again, _ := s.seen.ContainsOrAdd(m.Channel+"/"+m.ID, struct{}{}); again || who.Team != s.Identity().Team {
		return
	}
	one, _ := s.people.Person(ctx, who.User) // without a name it is the id
	told := s.LinkMe(ctx, s.speaks(who.User, nil), ask.By{Principal: s.Identity().principal(who.User), Name: cmp.Or(one.name, who.User), Proof: who.Proof})
	s.after.Do(ctx, func(ctx context.Context) {
		if _, err := s.api.post(ctx, s.Now(), m.Channel, "", false, linkCard(told), nil); err != nil {
			s.Log.InfoContext(ctx, "cannot write to a person", slog.String("error", err.Error()))
		}
	})
}

// linkCard returns words whose link to that page can be followed.
func linkCard(told string) content {
	before, link, after := chat.AroundLink(told)
	if link != "" {
		link = "<" + link + ">"
	}
	text := escape(before) + link + escape(after)
	return content{Text: text, Blocks: []slackapi.Block{slackapi.NewSectionBlock(mrkdwn(text, maxSection), nil, nil)}}
}

// replied handles what somebody wrote in a thread: an answer to its open ask, or talk.
func (s *App) replied(ctx context.Context, m message, text string, who actor) {
	if again, _ := s.seen.ContainsOrAdd(m.Channel+"/"+m.ID, struct{}{}); again {
		return // a repetition; other replicas repeat the same effect
	}
	thread, more, err := s.thread(ctx, m, who.User)
	if err != nil {
		s.seen.Remove(m.Channel + "/" + m.ID)
		s.Log.WarnContext(ctx, "cannot read a thread; ignoring a reply in it", slog.String("error", err.Error()))
		return
	}
	if !thread.Ours || thread.Handled {
		return
	}
	if len(thread.Open) == 1 { // of several, nothing says which one they are at
		s.looks(ctx, who, thread.Open[0].Rec, false)
	}
	h := s.hear(ctx, text)
	by := chat.Said{User: who.User, Reply: m.ID, Thread: m.Thread, Words: h.Words}
	switch {
	case len(thread.Open) == 0 && h.Addressed:
		s.notify(ctx, m, who.User, "No question is open in this thread. Your reply was not taken as an answer.")
	case len(thread.Open) == 0:
	case h.Words == "":
		if h.Addressed {
			s.notify(ctx, m, who.User, "Write your answer after “answer:”, or use the card.")
		}
	case thread.Answers(h, more):
		s.acceptReply(ctx, m.Channel, by, &thread.Open[0], who)
	default:
		s.meet(ctx, who.User)
		text, offers := thread.Offer(s.speaks(who.User, &thread.Open[0].Rec.Ask), by)
		s.quietly(ctx, m, by, text, offers)
	}
}

// looks tells the inboxes who is at an ask.
func (s *App) looks(ctx context.Context, who actor, rec *ask.Record, answering bool) {
	if by, refused := s.by(ctx, who, &rec.Ask); refused == "" {
		s.Looks(ctx, by, rec, answering)
	}
}

// thread reads the thread of a reply for the user who wrote it. More reports whether it has still more messages.
func (s *App) thread(ctx context.Context, m message, user string) (t chat.Thread, more bool, err error) {
	messages, more, err := s.api.history(ctx, m.Channel, m.Thread, window{}, maxThreadPages)
	if err != nil {
		return t, more, err
	}
	seen := make([]chat.Seen, len(messages))
	for i := range messages {
		f := &messages[i]
		seen[i] = chat.Seen{ID: f.TS, User: f.User, Payload: func(key string) string {
			if key != "for" && !s.ours(f) {
				return ""
			}
			return f.payload(key)
		}}
	}
	return s.ReadThread(ctx, seen, m, user), more, nil
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
			s.Log.InfoContext(ctx, "cannot look up a mentioned user", slog.String("error", err.Error()))
		}
		return one.name
	}), mentioned)
}

// Bounds of reading a thread.
const (
	maxThreadPages = 10 // of 200 messages
	maxNames       = 10 // mentions of one message that are looked up
)

// acceptReply sends words as the answer to an ask, or asks for what is missing or unclear.
func (s *App) acceptReply(ctx context.Context, channel string, by chat.Said, o *chat.Open, who actor) {
	m, why := message{Channel: channel, ID: by.Reply, Thread: by.Thread}, ""
	taken := s.Take(s.speaks(who.User, &o.Rec.Ask), by, o)
	switch {
	case taken.Decline != nil:
		why, _ = s.decline(ctx, o.Rec, o.Card, who, *taken.Decline)
	case taken.Reply != nil:
		why, _ = s.answer(ctx, o.Rec, o.Card, who, *taken.Reply)
	case taken.Again != "":
		s.after.Do(ctx, func(ctx context.Context) {
			if _, err := s.api.post(ctx, s.Now(), m.Channel, m.Thread, false, textCard(taken.Again), taken.Payload); err != nil {
				s.Log.WarnContext(ctx, "cannot ask again", slog.String("ask_id", o.Rec.Ask.ID), slog.String("error", err.Error()))
			}
		})
	case len(taken.Offers) > 0:
		s.quietly(ctx, m, by, taken.Why, taken.Offers)
	default:
		why = taken.Why
	}
	if why != "" {
		s.notify(ctx, m, who.User, why)
	}
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
		label = cmp.Or(label, strings.TrimPrefix(id, "subteam^"))
		if kind == "!" {
			kind = "@"
		}
		return kind + strings.TrimPrefix(label, kind)
	})
	return html.UnescapeString(text)
}
