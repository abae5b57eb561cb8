// Command responder posts asks to a chat and takes clicks from it: a complete
// posting surface. The chat is any HTTP service that keeps messages.
//
//	umask 077 # only you can read it
//	askbus auth responder --type chat --output json > chat.json
//	CHAT_SECRET=… go run ./examples/responder chat.json http://chat.example/messages 127.0.0.1:8090
package main

import (
	"bytes"
	"context"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"net/http"
	"net/url"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/client"
	"github.com/askbus/askbus/pkg/responder"
)

// message is a chat message with a button per answer; click is the chat's callback for a pressed
// button.
type message struct {
	ID      string       `json:"id"`
	Key     string       `json:"key"`
	Text    string       `json:"text"`
	Ask     ask.Key      `json:"ask"`
	Buttons []ask.Answer `json:"buttons"`
}
type click struct {
	ID      string     `json:"id"`
	Message string     `json:"message"`
	Ask     ask.Key    `json:"ask"`
	Button  ask.Answer `json:"button"`
	By      ask.By     `json:"by"`
}

type chat string // its URL; a [responder.Presenter]

func (c chat) Present(ctx context.Context, p responder.Post) ([]ask.Place, error) {
	m := message{Key: p.Key, Text: p.Text(), Ask: p.Ask.Key()}
	if q := p.Ask.Questions[0]; len(p.Ask.Questions) == 1 && !q.Multiple { // else: the text has a link
		for _, o := range q.Options {
			m.Buttons = append(m.Buttons, ask.Answer{QuestionID: q.ID, Selected: []string{o.ID}})
		}
	}
	err := c.call(ctx, http.MethodPost, "", m, &m)
	return []ask.Place{{Ref: m.ID}}, err
}

func (c chat) Update(ctx context.Context, e responder.Ended) (err error) {
	for _, at := range e.Places {
		err = c.call(ctx, http.MethodPut, "/"+at.Ref, message{Key: e.Key, Text: e.Ask.Heading() + ": " + e.Outcome.Ending()}, &message{})
	}
	return err
}

func (c chat) Find(ctx context.Context, p responder.Post) (places []ask.Place, err error) {
	var found []message
	err = c.call(ctx, http.MethodGet, "?key="+url.QueryEscape(p.Key), nil, &found)
	for _, m := range found {
		places = append(places, ask.Place{Ref: m.ID})
	}
	return places, err
}

func (c chat) call(ctx context.Context, method, path string, in, out any) error {
	body, _ := json.Marshal(in)
	res, err := http.DefaultClient.Do(must(http.NewRequestWithContext(ctx, method, string(c)+path, bytes.NewReader(body))))
	if err != nil {
		return err
	}
	defer func() { _ = res.Body.Close() }()
	if after, _ := time.ParseDuration(res.Header.Get("Retry-After") + "s"); after > 0 {
		return &responder.RetryError{After: after, Err: errors.New(res.Status)}
	} else if res.StatusCode >= http.StatusMultipleChoices {
		return errors.New(res.Status)
	}
	return json.NewDecoder(res.Body).Decode(out)
}

func clicks(s *responder.Server, secret string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var c click
		if given := r.Header.Get("Authorization"); secret == "" || subtle.ConstantTimeCompare([]byte(given), []byte("Bearer "+secret)) == 0 {
			http.Error(w, "not from the chat", http.StatusForbidden) // or anybody could be anybody
		} else if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 1<<20)).Decode(&c); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
		} else if _, err := s.Answer(r.Context(), c.Ask, ask.Place{Ref: c.Message}, ask.Reply{AnswerID: c.ID, By: c.By, Answers: []ask.Answer{c.Button}}); err != nil {
			_, _ = fmt.Fprintln(w, "This did not count:", err)
		}
	}
}

func main() {
	ctx, _ := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	var cred client.Credential
	must(0, json.Unmarshal(must(os.ReadFile(os.Args[1])), &cred)) //nolint:gosec // the user names the file
	nc := must(client.Connect(cred, nil))
	s := must(responder.NewServer(must(responder.New(nc, "chat", responder.Options{})), chat(os.Args[2]), responder.ServeOptions{}))
	go func() { must(0, http.ListenAndServe(os.Args[3], clicks(s, os.Getenv("CHAT_SECRET")))) }() //nolint:gosec // an example: no time limits
	must(0, s.Run(ctx))
}

func must[T any](v T, err error) T {
	if err != nil {
		log.Fatal(err) //nolint:revive // an example
	}
	return v
}
