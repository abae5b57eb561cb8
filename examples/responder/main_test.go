package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"strconv"
	"sync"
	"testing"

	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/responder"
	"github.com/askbus/askbus/pkg/responder/respondertest"
)

// room is an in-memory chat with the replicas that post to it.
type room struct {
	*httptest.Server

	mu        sync.Mutex
	messages  []message
	intercept func(respondertest.Call) error
	replicas  map[string]http.HandlerFunc // by name
}

func TestResponder(t *testing.T) {
	t.Parallel()
	respondertest.Run(t, func(t *testing.T) respondertest.Surface {
		t.Helper()
		r := &room{replicas: map[string]http.HandlerFunc{}}
		r.Server = httptest.NewServer(r)
		t.Cleanup(r.Close)
		return r
	}, respondertest.Without{
		"votes are shown, moved and counted": "it draws no votes, which takes a responder.Refresher: see the chats of askbus",
		"many votes are few edits":           "the same",
	})
}

func (r *room) Type() string { return "chat" }

func (r *room) Serve(ctx context.Context, resp *responder.Responder, opts responder.ServeOptions) error {
	s, err := responder.NewServer(resp, chat(r.URL), opts)
	if err != nil {
		return err
	}
	name := strconv.Itoa(len(r.Posts())) + "-" + ask.Key{}.String() + opts.Clock.Now().String()
	r.mu.Lock()
	r.replicas[name] = clicks(s, "secret")
	r.mu.Unlock()
	defer func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.replicas, name)
	}()
	return s.Run(ctx)
}

func (r *room) Posts() []respondertest.Post {
	r.mu.Lock()
	defer r.mu.Unlock()
	var posts []respondertest.Post
	for _, m := range r.messages {
		posts = append(posts, respondertest.Post{Ref: m.ID, Key: m.Key, Text: m.Text, Open: m.Ask.ID != ""})
	}
	return posts
}

func (r *room) Click(_ context.Context, p respondertest.Post, c respondertest.Click) string {
	r.mu.Lock()
	var replica http.HandlerFunc
	for _, replica = range r.replicas {
		break
	}
	var k ask.Key
	for _, m := range r.messages {
		if m.ID == p.Ref {
			k = m.Ask
		}
	}
	r.mu.Unlock()
	body, _ := json.Marshal(click{ID: c.ID, Message: p.Ref, Ask: k, Button: ask.Answer{QuestionID: "db", Selected: []string{c.Option}}, By: c.By})
	req := httptest.NewRequest(http.MethodPost, "/", bytes.NewReader(body))
	req.Header.Set("Authorization", "Bearer secret")
	w := httptest.NewRecorder()
	replica(w, req)
	return w.Body.String()
}

func (r *room) Intercept(f func(respondertest.Call) error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.intercept = f
}

func (r *room) call(c respondertest.Call) error {
	r.mu.Lock()
	f := r.intercept
	r.mu.Unlock()
	if f == nil {
		return nil
	}
	return f(c)
}

// ServeHTTP serves the chat.
func (r *room) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	var m message
	data, _ := io.ReadAll(req.Body)
	_ = json.Unmarshal(data, &m)
	c := respondertest.Call{Op: respondertest.OpPost, Key: m.Key}
	do := r.post
	switch req.Method {
	case http.MethodPut:
		c.Op, do = respondertest.OpUpdate, r.put
	case http.MethodGet:
		c.Op, c.Key, do = respondertest.OpFind, req.FormValue("key"), r.find
	}
	err := r.call(c)
	var reply any
	if err == nil {
		reply = do(req, m)
		c.Done = true
		err = r.call(c)
	}
	if retry, ok := errors.AsType[*responder.RetryError](err); ok {
		w.Header().Set("Retry-After", strconv.Itoa(int(math.Ceil(retry.After.Seconds()))))
		w.WriteHeader(http.StatusTooManyRequests)
		return
	}
	if err != nil {
		w.WriteHeader(http.StatusBadGateway)
		return
	}
	_ = json.NewEncoder(w).Encode(reply)
}

func (r *room) post(_ *http.Request, m message) any {
	r.mu.Lock()
	defer r.mu.Unlock()
	m.ID = strconv.Itoa(len(r.messages) + 1)
	r.messages = append(r.messages, m)
	return m
}

func (r *room) put(req *http.Request, m message) any {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := range r.messages {
		if "/"+r.messages[i].ID == req.URL.Path {
			r.messages[i].Text, r.messages[i].Buttons, r.messages[i].Ask = m.Text, nil, ask.Key{}
		}
	}
	return m
}

func (r *room) find(req *http.Request, _ message) any {
	r.mu.Lock()
	defer r.mu.Unlock()
	found := []message{}
	for _, m := range r.messages {
		if m.Key == req.FormValue("key") {
			found = append(found, m)
		}
	}
	return found
}

// A click that does not come from the chat is refused.
func TestClicksAreTheChatsOnly(t *testing.T) {
	t.Parallel()
	for _, given := range []string{"", "Bearer ", "Bearer wrong"} {
		req := httptest.NewRequest(http.MethodPost, "/", bytes.NewReader([]byte(`{}`)))
		req.Header.Set("Authorization", given)
		w := httptest.NewRecorder()
		if clicks(nil, "secret")(w, req); w.Code != http.StatusForbidden {
			t.Errorf("%q: %d", given, w.Code)
		}
	}
}
