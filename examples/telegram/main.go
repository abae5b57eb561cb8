// Command telegram is a surface in Telegram with the published kit only: a message for each ask, with buttons
// for one question after the other, which is edited to the outcome. The file of people says who is who:
// {"101": {"principal": "os:mei", "name": "Mei"}}.
//
//	umask 077 && askbus auth responder --type telegram --output json > telegram.json
//	TELEGRAM_TOKEN=… go run ./examples/telegram telegram.json CHAT people.json
package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"net/http"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/card"
	"github.com/askbus/askbus/pkg/client"
	"github.com/askbus/askbus/pkg/responder"
	lru "github.com/hashicorp/golang-lru/v2"
)

// bot posts to one chat. It is a [responder.Presenter] and a [responder.Opener].
type bot struct {
	api, chat string            // the API's address with the token, and the id of the chat
	people    map[string]ask.By // by user id; others are "telegram:" and their id
	bus       *responder.Responder
	posts     *responder.Server
	steps     *lru.Cache[string, card.Steps] // by post and person; after a restart they begin again
}

type (
	fields   map[string]any
	keyboard map[string][][]map[string]string // "inline_keyboard" has rows of buttons
	event    struct {                         // an update, a message or a press of a button
		Update  int    `json:"update_id"`
		Message *event `json:"message"`
		Press   *event `json:"callback_query"`
		ID      string `json:"id"`
		At      int    `json:"message_id"`
		Data    string `json:"data"` // the key of the post, and what the button does
		Text    string `json:"text"`
		From    struct {
			ID   int64  `json:"id"`
			Name string `json:"first_name"`
		} `json:"from"`
		Buttons keyboard `json:"reply_markup"`
		ReplyTo *event   `json:"reply_to_message"`
	}
)

// Present posts without buttons: a bot can neither search for its messages nor give them a key. Open adds
// the buttons once the bus knows where the message is.
func (b *bot) Present(ctx context.Context, p responder.Post) ([]ask.Place, error) {
	var m event
	text, _ := draw(newCard(p.Ask, p.AskedAt), card.Steps{}, p.Key)
	err := b.call(ctx, "sendMessage", fields{"chat_id": b.chat, "text": text + "\n" + p.Link}, &m)
	return []ask.Place{{Ref: strconv.Itoa(m.At)}}, err
}

func (b *bot) Open(ctx context.Context, p responder.Post, places []ask.Place) error {
	_, buttons := draw(newCard(p.Ask, p.AskedAt), card.Steps{}, p.Key)
	return b.call(ctx, "editMessageReplyMarkup", fields{"chat_id": b.chat, "message_id": places[0].Ref, "reply_markup": buttons}, nil)
}

func (b *bot) Update(ctx context.Context, e responder.Ended) error {
	end := card.NewEnd(&ask.Record{Ask: e.Ask, Outcome: &e.Outcome}, card.Viewer{Surface: "telegram"}, time.Now())
	return b.call(ctx, "editMessageText", fields{"chat_id": b.chat, "message_id": e.Places[0].Ref, "text": ask.Clip(end.Heading+"\n"+end.Text(), 1900)}, nil)
}

func (b *bot) Find(context.Context, responder.Post) ([]ask.Place, error) { return nil, nil }

func newCard(a ask.Ask, at time.Time) *card.Card {
	return card.New(&ask.Record{Ask: a, AskedAt: at}, card.Viewer{Surface: "telegram", Shared: true}, time.Now())
}

// draw returns a message's text and buttons at the next question.
func draw(c *card.Card, s card.Steps, key string) (text string, k keyboard) {
	text, k = ask.Clip(c.Text(), 1500), keyboard{}
	if q := s.Next(c); q.Of > 1 {
		text += "\n" + q.Step + ": " + ask.Clip(q.Plain(), 200)
	}
	for _, button := range s.Buttons(c) {
		if button.Do != card.DoType { // people type "answer:" in a reply
			k["inline_keyboard"] = append(k["inline_keyboard"], []map[string]string{{"text": ask.Clip(button.Label, 60), "callback_data": key + "/" + button.Data}})
		}
	}
	return text, k
}

// decide carries out what a person pressed, or typed at the message of a button, and returns what to tell them.
func (b *bot) decide(ctx context.Context, e *event, message *event, data, typed string) string {
	user, id, place := strconv.FormatInt(e.From.ID, 10), fmt.Sprint("telegram-", e.ID, "-", e.At), ask.Place{Ref: strconv.Itoa(message.At)}
	by := b.people[user]
	by.Principal, by.Name, by.Proof = cmp.Or(by.Principal, "telegram:"+user), cmp.Or(by.Name, e.From.Name), ask.ProofTelegram
	v := card.Viewer{By: by, Surface: "telegram"}
	key, data, _ := strings.Cut(data, "/")
	rec, err := b.bus.Posted(ctx, key)
	if err != nil {
		told, _ := v.Gone(err)
		return told
	}
	c, do := newCard(rec.Ask, rec.AskedAt), card.DoType
	s, _ := b.steps.Get(key + user)
	if typed == "" {
		s, do = s.Press(c, data)
	} else if s, err = s.Type(c, typed); err != nil {
		return err.Error()
	}
	b.steps.Add(key+user, s)
	switch {
	case do == card.DoDecline:
		_, err = b.posts.Cancel(ctx, rec.Ask.Key(), place, responder.Decline{AnswerID: id, By: by})
	case rec.Outcome == nil && s.Next(c) != nil:
		text, buttons := draw(c, s, key)
		err = b.call(ctx, "editMessageText", fields{"chat_id": b.chat, "message_id": place.Ref, "text": text, "reply_markup": buttons}, nil)
	default: // it is complete; or it came late, is told who was first, and corrects the message
		b.steps.Remove(key + user)
		_, err = b.posts.Answer(ctx, rec.Ask.Key(), place, ask.Reply{AnswerID: id, By: by, Answers: s.Answers})
	}
	return v.Explain(&rec, err, time.Now())
}

// listen handles what people do. The next poll confirms the updates of the last one.
func (b *bot) listen(ctx context.Context) {
	for next := 0; ctx.Err() == nil; {
		var updates []event
		if err := b.call(ctx, "getUpdates", fields{"offset": next, "timeout": 25}, &updates); err != nil {
			_ = responder.WallClock().Sleep(ctx, time.Second)
		}
		var all sync.WaitGroup
		for _, u := range updates {
			next = u.Update + 1
			all.Go(func() { b.handle(ctx, u.Press, u.Message) })
		}
		all.Wait()
	}
}

func (b *bot) handle(ctx context.Context, press, m *event) {
	if press != nil {
		told := ask.Clip(b.decide(ctx, press, press.Message, press.Data, ""), 190)
		_ = b.call(ctx, "answerCallbackQuery", fields{"callback_query_id": press.ID, "text": told, "show_alert": told != ""}, nil)
	} else if m != nil && m.ReplyTo != nil && len(m.ReplyTo.Buttons["inline_keyboard"]) > 0 {
		if words, ok := strings.CutPrefix(m.Text, "answer:"); ok { // anything else is talk
			told := b.decide(ctx, m, m.ReplyTo, m.ReplyTo.Buttons["inline_keyboard"][0][0]["callback_data"], words)
			_ = b.call(ctx, "sendMessage", fields{"chat_id": b.chat, "text": ask.Clip(told, 1900)}, nil) // refuses an empty text
		}
	}
}

func (b *bot) call(ctx context.Context, method string, f fields, result any) error {
	req := must(http.NewRequestWithContext(ctx, http.MethodPost, b.api+method, bytes.NewReader(must(json.Marshal(f)))))
	req.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return errors.New(method + " failed") // err has the address, and so the token
	}
	defer func() { _ = res.Body.Close() }()
	body := struct {
		Result      any            `json:"result"`
		Description string         `json:"description"`
		Parameters  map[string]int `json:"parameters"`
	}{Result: result}
	err = json.NewDecoder(http.MaxBytesReader(nil, res.Body, 8<<20)).Decode(&body)
	switch after := body.Parameters["retry_after"]; {
	case err != nil, res.StatusCode == http.StatusOK, strings.Contains(body.Description, "not modified"):
		return err
	case after > 0:
		return &responder.RetryError{After: time.Duration(after) * time.Second, Err: errors.New(method)}
	}
	return errors.New(method + ": " + body.Description)
}

func main() {
	ctx, _ := signal.NotifyContext(context.Background(), os.Interrupt)
	b, cred := &bot{api: "https://api.telegram.org/bot" + os.Getenv("TELEGRAM_TOKEN") + "/", chat: os.Args[2]}, client.Credential{}
	must(0, json.Unmarshal(must(os.ReadFile(os.Args[1])), &cred))     //nolint:gosec // the user names the file
	must(0, json.Unmarshal(must(os.ReadFile(os.Args[3])), &b.people)) //nolint:gosec // the user names the file
	b.bus, b.steps = must(responder.New(must(client.Connect(cred, nil)), "telegram", responder.Options{})), must(lru.New[string, card.Steps](10_000))
	b.posts = must(responder.NewServer(b.bus, b, responder.ServeOptions{Every: 3 * time.Second}))
	go b.listen(ctx)
	must(0, b.posts.Run(ctx))
}

func must[T any](v T, err error) T {
	if err != nil {
		log.Fatal(err) //nolint:revive // an example
	}
	return v
}
