package telegram

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/askbus/askbus/internal/answering/chat"
	"github.com/askbus/askbus/pkg/responder"
	"github.com/go-telegram/bot"
	"github.com/go-telegram/bot/models"
)

// api wraps the Bot API: each call waits for its turn, and errors say what to do.
type api struct {
	bot       *bot.Bot
	http      *http.Client
	base      string // with the token
	account   string // the id of the bot, to which Telegram's limits belong
	limiter   *responder.Limiter
	plainOnly atomic.Bool // the server knows no rich messages
}

// Classes of calls. Telegram documents no exact limits, and says to obey the seconds of a 429; these
// are a little below what is said of it: 30 a second for a bot, 1 a second for a person, 20 a minute
// for a group. Edits count as messages.
const (
	classBot    = "bot"
	classPerson = "person"
	classGroup  = "group"
)

func newAPI(token, base string, clock responder.Clock) (*api, error) {
	client := &http.Client{Timeout: pollFor + 20*time.Second}
	b, err := bot.New(token, bot.WithServerURL(base), bot.WithSkipGetMe(), bot.WithHTTPClient(time.Minute, client), bot.WithErrorsHandler(func(error) {}))
	if err != nil {
		return nil, err
	}
	pace := map[string]responder.Pace{classBot: {Every: 40 * time.Millisecond, Burst: 20}, classPerson: {Every: 1100 * time.Millisecond, Burst: 3}, classGroup: {Every: 3100 * time.Millisecond, Burst: 5}}
	id, _, _ := strings.Cut(token, ":")
	return &api{bot: b, account: id, http: client, base: base + "/bot" + token + "/", limiter: responder.NewLimiter(clock, func(class string) responder.Pace { return pace[class] })}, nil
}

// place is a message of the bot, or a chat if ID is 0.
type place struct {
	Chat  int64
	Topic int // of a forum; 0: none
	ID    int
	Rich  bool // it is a rich message
}

// richMark is at the end of the ref of a rich message.
const richMark = "r"

// ref encodes a place for a receipt.
func (p place) ref() string {
	s := strconv.FormatInt(p.Chat, 10)
	if p.Topic != 0 {
		s += "/" + strconv.Itoa(p.Topic)
	}
	if p.ID != 0 {
		s += "#" + strconv.Itoa(p.ID)
	}
	if p.Rich {
		s += richMark
	}
	return s
}

// parsePlace parses what ref returned; ok is for a message.
func parsePlace(s string) (p place, ok bool) {
	at, id, _ := strings.Cut(s, "#")
	of, topic, _ := strings.Cut(at, "/")
	var err error
	p.Chat, err = strconv.ParseInt(of, 10, 64)
	p.Topic, _ = strconv.Atoi(topic) // 0: none
	id, p.Rich = strings.CutSuffix(id, richMark)
	p.ID, _ = strconv.Atoi(id)
	return p, err == nil && p.ID > 0
}

// class returns the class of a chat.
func (p place) class() string {
	if p.Chat < 0 {
		return classGroup
	}
	return classPerson
}

// call makes one call about a chat at its turn.
func (a *api) call(ctx context.Context, at place, r responder.Rank, f func(context.Context) error) error {
	id := strconv.FormatInt(at.Chat, 10)
	return chat.Call(ctx, a.limiter, []chat.Queue{{Class: at.class(), Place: id}, {Class: classBot}}, id, r, func(err error) time.Duration {
		if limited, ok := errors.AsType[*bot.TooManyRequestsError](err); ok {
			return time.Duration(max(limited.RetryAfter, 1)) * time.Second
		}
		return 0
	}, func(ctx context.Context) error { return a.plain(f(ctx)) })
}

func quiet() *models.LinkPreviewOptions { return &models.LinkPreviewOptions{IsDisabled: bot.True()} }

func (a *api) send(ctx context.Context, at place, r responder.Rank, t text, markup any, replyTo int) (id int, err error) {
	p := &bot.SendMessageParams{ChatID: at.Chat, MessageThreadID: at.Topic, Text: t.String(), Entities: t.entities, LinkPreviewOptions: quiet(), ReplyMarkup: markup, DisableNotification: t.quiet}
	if replyTo != 0 {
		p.ReplyParameters = &models.ReplyParameters{MessageID: replyTo, AllowSendingWithoutReply: true}
	}
	err = a.call(ctx, at, r, func(ctx context.Context) error {
		m, err := a.bot.SendMessage(ctx, p)
		if err == nil {
			id = m.ID
		}
		return err
	})
	return id, err
}

// attach sends a file below a message: as a photo, or as it is if Telegram takes it for none, such as a very long one.
func (a *api) attach(ctx context.Context, at place, r responder.Rank, f *chat.Attached) error {
	upload := func() *models.InputFileUpload {
		return &models.InputFileUpload{Filename: f.Filename(), Data: bytes.NewReader(f.Data)}
	}
	reply := &models.ReplyParameters{MessageID: at.ID, AllowSendingWithoutReply: true}
	document := !f.IsImage()
	if !document {
		err := a.call(ctx, at, r, func(ctx context.Context) error {
			_, err := a.bot.SendPhoto(ctx, &bot.SendPhotoParams{ChatID: at.Chat, MessageThreadID: at.Topic, Photo: upload(), ReplyParameters: reply, DisableNotification: true})
			return err
		})
		if document = errors.Is(err, bot.ErrorBadRequest); !document {
			return err
		}
	}
	return a.call(ctx, at, r, func(ctx context.Context) error {
		_, err := a.bot.SendDocument(ctx, &bot.SendDocumentParams{ChatID: at.Chat, MessageThreadID: at.Topic, Document: upload(), ReplyParameters: reply, DisableNotification: true})
		return err
	})
}

// edit replaces a message's text and buttons; without buttons it removes them.
func (a *api) edit(ctx context.Context, at place, r responder.Rank, t text, k *keyboard) error {
	p := &bot.EditMessageTextParams{ChatID: at.Chat, MessageID: at.ID, Text: t.String(), Entities: t.entities, LinkPreviewOptions: quiet()}
	if k != nil {
		p.ReplyMarkup = k
	}
	return a.call(ctx, at, r, func(ctx context.Context) error { _, err := a.bot.EditMessageText(ctx, p); return changed(err) })
}

// buttons sets a message's buttons.
func (a *api) buttons(ctx context.Context, at place, r responder.Rank, k *keyboard) error {
	return a.call(ctx, at, r, func(ctx context.Context) error {
		_, err := a.bot.EditMessageReplyMarkup(ctx, &bot.EditMessageReplyMarkupParams{ChatID: at.Chat, MessageID: at.ID, ReplyMarkup: k})
		return changed(err)
	})
}

// changed drops the refusal of an edit that changes nothing.
func changed(err error) error {
	if err != nil && strings.Contains(err.Error(), "message is not modified") {
		return nil
	}
	return err
}

// answer ends a callback query: until then Telegram shows a progress bar. Words are shown to the
// person who pressed.
func (a *api) answer(ctx context.Context, query, words string) error {
	_, err := a.bot.AnswerCallbackQuery(ctx, &bot.AnswerCallbackQueryParams{CallbackQueryID: query, Text: chat.ClipUnits(words, 195), ShowAlert: words != ""})
	return err
}

// member returns the user of "chat/user" if they are in the chat.
func (a *api) member(ctx context.Context, of string) ([]string, error) {
	in, user, _ := strings.Cut(of, "/")
	id, err := strconv.ParseInt(user, 10, 64)
	if err != nil {
		return nil, fmt.Errorf("user %q: %w", user, err)
	}
	m, err := a.bot.GetChatMember(ctx, &bot.GetChatMemberParams{ChatID: in, UserID: id})
	if err != nil {
		return nil, err
	}
	if slices.Contains([]models.ChatMemberType{models.ChatMemberTypeOwner, models.ChatMemberTypeAdministrator, models.ChatMemberTypeMember}, m.Type) {
		return []string{user}, nil
	}
	return nil, nil
}

var errRival = errors.New("another process polls with this token, or a webhook is set; stop one of the two, or give each a bot of its own")

// updates polls for updates from an offset, which confirms the earlier ones. It is not the library's,
// which confirms an update before it is handled.
func (a *api) updates(ctx context.Context, offset int64, within time.Duration) (list []*models.Update, err error) {
	err = a.post(ctx, "getUpdates", map[string]any{"offset": offset, "timeout": int(within.Seconds()), "limit": 50, "allowed_updates": []string{"message", "callback_query"}}, &list)
	limited, is := errors.AsType[*bot.TooManyRequestsError](err)
	switch {
	case errors.Is(err, bot.ErrorConflict):
		return nil, fmt.Errorf("%w (Telegram says: %s)", errRival, strings.TrimPrefix(err.Error(), bot.ErrorConflict.Error()+", "))
	case errors.Is(err, bot.ErrorUnauthorized):
		return nil, errRevoked
	case is:
		return nil, &responder.RetryError{After: time.Duration(max(limited.RetryAfter, 1)) * time.Second, Err: err}
	}
	return list, err
}

// gone reports errors for messages that cannot be edited any more.
func gone(err error) bool {
	return err != nil && (errors.Is(err, bot.ErrorForbidden) || errors.Is(err, bot.ErrorBadRequest) &&
		(strings.Contains(err.Error(), "not found") || strings.Contains(err.Error(), "can't be edited")))
}

// hopeless reports errors of a post for which a retry is useless: the chat does not exist, the bot is
// not in it, or Telegram refuses the message.
func hopeless(err error) bool {
	return errors.Is(err, bot.ErrorForbidden) || errors.Is(err, bot.ErrorBadRequest) || bot.IsMigrateError(err)
}
