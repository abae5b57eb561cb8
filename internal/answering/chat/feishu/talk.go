package feishu

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"slices"
	"strings"

	"github.com/askbus/askbus/internal/answering/chat"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/responder"
)

// message is an im.message.receive_v1.
type message struct {
	Sender struct {
		ID     user   `json:"sender_id"`
		Type   string `json:"sender_type"` // user, app
		Tenant string `json:"tenant_key"`
	} `json:"sender"`
	Message struct {
		ID       string `json:"message_id"`
		Parent   string `json:"parent_id"` // what it replies to
		Root     string `json:"root_id"`
		Chat     string `json:"chat_id"`
		ChatType string `json:"chat_type"` // p2p, group
		Type     string `json:"message_type"`
		Content  string `json:"content"`
		Mentions []struct {
			Key string `json:"key"` // in the text: @_user_1
			ID  user   `json:"id"`
		} `json:"mentions"`
	} `json:"message"`
}

// words returns what somebody wrote, and whether it begins with a mention of the bot, which the words no longer have.
func (m *message) words(bot string) (words string, mentioned bool) {
	var content struct {
		Text string `json:"text"`
	}
	if m.Message.Type != "text" || json.Unmarshal([]byte(m.Message.Content), &content) != nil {
		return "", false
	}
	words = strings.TrimSpace(content.Text)
	for _, at := range m.Message.Mentions {
		if rest, ok := strings.CutPrefix(words, at.Key); ok && at.ID.Open == bot && bot != "" {
			return strings.TrimSpace(rest), true
		}
	}
	return words, false
}

// wrote handles a message: an answer if it replies to a card, a request for ids, or talk.
func (s *App) wrote(ctx context.Context, e *event, m *message) {
	bot := ""
	if b := s.bot.Load(); b != nil {
		bot = b.OpenID
	}
	words, mentioned := m.words(bot)
	private := m.Message.ChatType == "p2p"
	l := s.Speaks("", nil)
	if private && s.pairs(e, m, words) || s.Bus == nil { // it is only paired
		return
	}
	if words == "/id" && (private || mentioned) {
		s.answerTo(ctx, e, m, l.Say("The id of this chat is %s, yours is %s.", m.Message.Chat, m.Sender.ID.Union))
		return
	}
	if private && m.Sender.Type == "user" && m.Sender.ID.Union != "" && m.Message.Parent == "" && chat.SaysLink(words) {
		member := proven(e, m.Sender.ID, m.Sender.Tenant)
		member.Name, _ = s.people.Person(ctx, m.Message.Chat+"/"+m.Sender.ID.Union) // without a name it is the id
		s.answerTo(ctx, e, m, s.LinkMe(ctx, l, member))
		return
	}
	rec, at, err := s.repliedTo(ctx, m)
	switch {
	case err != nil && (private || mentioned):
		told, _ := s.Gone(l, &rec, err)
		s.answerTo(ctx, e, m, told)
	case err != nil || at == "" && !private && !mentioned || words == "":
	case at == "":
		s.answerTo(ctx, e, m, l.Say("Please reply to the message of the question, or use its buttons."))
	default:
		s.answerTo(ctx, e, m, s.heard(ctx, e, m, &rec, at, chat.Listen(words, mentioned || private)))
	}
}

// heard takes words that reply to the card of an ask, and returns what to tell their writer.
func (s *App) heard(ctx context.Context, e *event, m *message, rec *ask.Record, at string, h chat.Heard) string {
	l := s.Language(&rec.Ask)
	if rec.Outcome != nil {
		return s.Late(l, rec, at) //nolint:contextcheck // the correction outlives the words
	}
	if !h.Answers([]*ask.Ask{&rec.Ask}, true) {
		return l.Say("This was not taken as an answer, because people also talk here. Begin with “answer:” to answer.")
	}
	by, refused := s.by(ctx, e, m.Sender.ID, m.Sender.Tenant, m.Message.Chat, &rec.Ask)
	if refused != "" {
		s.RefusePerson("answer", refused, by, &rec.Ask)
		return refused
	}
	where, _ := chat.ParseMessage(at)
	taken := s.Take(l, chat.Said{User: m.Sender.ID.Union, Reply: m.Message.ID, Words: h.Words}, &chat.Open{Rec: rec, Card: where})
	switch {
	case taken.Decline != nil:
		taken.Decline.By = by
		told, _ := s.Decline(ctx, l, rec, at, *taken.Decline)
		return told
	case taken.Reply != nil:
		taken.Reply.By = by
		told, _ := s.Answer(ctx, l, rec, at, *taken.Reply)
		return told
	case s.Card(l, rec).Approval == nil && len(taken.Offers) > 0 && taken.Offers[0].Said.Sure:
		return l.Say("Please reply to the message of the question, or use its buttons.")
	}
	return cmp.Or(taken.Why, taken.Again)
}

// answerTo replies to a message. Feishu has no message in a group that only one person sees and that needs no permission
// of its own.
func (s *App) answerTo(ctx context.Context, e *event, m *message, words string) {
	if words == "" {
		return
	}
	if err := s.api.reply(ctx, s.Now(), m.Message.Chat, m.Message.ID, "text", textOf(words), ask.Clip("r-"+e.Header.ID, 50)); err != nil {
		s.Log.InfoContext(ctx, "cannot reply to a message", slog.String("error", err.Error()))
	}
}

// maxSearched bounds the asks, in each state, among which that of a card is searched that this process has not posted.
const maxSearched = 10_000

// repliedTo returns the ask whose card a message replies to, and the card; none if that is not a card.
func (s *App) repliedTo(ctx context.Context, m *message) (rec ask.Record, at string, err error) {
	for _, id := range []string{m.Message.Parent, m.Message.Root} {
		if id == "" {
			continue
		}
		ref := chat.Message{Channel: m.Message.Chat, ID: id}.Ref()
		if key, ok := s.asks.Get(ref); ok {
			rec, err = s.Bus.Posted(ctx, key)
			return rec, ref, err
		}
		if rec, err = s.posted(ctx, ref); !errors.Is(err, ask.ErrNotFound) {
			return rec, ref, err
		}
	}
	return ask.Record{}, "", nil
}

// posted looks up the ask of a card among the oldest asks, those that are open first.
func (s *App) posted(ctx context.Context, ref string) (ask.Record, error) {
	for _, state := range []ask.State{ask.StatePending, ask.StateResolved} {
		n := 0
		for rec, err := range s.Bus.All(ctx, responder.Query{State: state, PageSize: 500}) {
			if err != nil {
				return ask.Record{}, err
			}
			if slices.ContainsFunc(chat.Posted(s.Type, &rec), func(at ask.Place) bool { return at.Ref == ref }) {
				s.asks.Add(ref, responder.PostKey(s.Type, rec.Ask.Key(), rec.Life))
				return rec, nil
			}
			if n++; n == maxSearched {
				break
			}
		}
	}
	return ask.Record{}, ask.ErrNotFound
}
