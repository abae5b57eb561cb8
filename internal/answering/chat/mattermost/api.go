package mattermost

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/askbus/askbus/internal/answering/chat"
	"github.com/askbus/askbus/pkg/responder"
)

// api wraps the REST API: each call waits for its turn, and errors say what to do.
type api struct {
	http    *http.Client
	base    string
	token   string
	limiter *responder.Limiter

	mu      sync.Mutex
	refused error
	me      user // zero: never accepted
}

// A server limits its clients only if it is set to, by default to 10 calls a second and 100 at once.
const classServer = "server"

// Bounds of calls.
const (
	callFor  = 20 * time.Second
	maxReply = 4 << 20
)

func newAPI(address, token string, clock responder.Clock) *api {
	return &api{
		http: &http.Client{Timeout: callFor}, base: strings.TrimRight(address, "/") + "/api/v4/", token: token,
		limiter: responder.NewLimiter(clock, func(string) responder.Pace { return responder.Pace{Every: 120 * time.Millisecond, Burst: 40} }),
	}
}

// user is a person or a bot.
type user struct {
	ID       string `json:"id"`
	Username string `json:"username"`
	First    string `json:"first_name"`
	Last     string `json:"last_name"`
	Locale   string `json:"locale"`
	Roles    string `json:"roles"`
	Bot      bool   `json:"is_bot"`
	Deleted  int64  `json:"delete_at"`
}

// person reports whether the user of an id is a person who is still there.
func (u *user) person(id string) bool { return u.ID == id && !u.Bot && u.Deleted == 0 }

func (u *user) name() string {
	if full := strings.TrimSpace(u.First + " " + u.Last); full != "" {
		return full
	}
	return u.Username
}

// post is a message.
type post struct {
	ID      string         `json:"id,omitempty"`
	Channel string         `json:"channel_id,omitempty"`
	Root    string         `json:"root_id,omitempty"` // of the thread
	Message string         `json:"message"`
	Props   map[string]any `json:"props,omitempty"`
	Files   []string       `json:"file_ids,omitempty"`
}

// attachment is a message attachment, which every version of the server draws.
type attachment struct {
	Fallback string   `json:"fallback"`
	Color    string   `json:"color,omitempty"`
	Text     string   `json:"text"`
	Actions  []action `json:"actions,omitempty"`
}

type action struct {
	ID          string      `json:"id"`
	Type        string      `json:"type"`
	Name        string      `json:"name"`
	Style       string      `json:"style,omitempty"`
	Integration integration `json:"integration"`
}

type integration struct {
	URL     string `json:"url"`
	Context held   `json:"context"`
}

// callError is a refusal of the server.
type callError struct {
	Status  int           `json:"-"`
	ID      string        `json:"id"`
	Message string        `json:"message"`
	After   time.Duration `json:"-"`
}

func (e *callError) Error() string {
	return "Mattermost: " + strconv.Itoa(e.Status) + " " + e.ID + " " + e.Message
}

func refusedFor(err error, statuses ...int) bool {
	e, ok := errors.AsType[*callError](err)
	return ok && slices.Contains(statuses, e.Status)
}

// gone reports errors for posts that cannot be edited any more.
func gone(err error) bool { return refusedFor(err, http.StatusNotFound, http.StatusForbidden) }

// hopeless reports errors of a post for which a retry is useless: no such channel, the bot is not in it, or the server
// refuses the post.
func hopeless(err error) bool {
	return refusedFor(err, http.StatusNotFound, http.StatusForbidden, http.StatusBadRequest)
}

// call makes a call at its turn.
func (a *api) call(ctx context.Context, r responder.Rank, method, path string, body, into any) error {
	return a.turn(ctx, r, func(ctx context.Context) error { return a.do(ctx, method, path, body, into) })
}

// turn makes a call at its turn.
func (a *api) turn(ctx context.Context, r responder.Rank, f func(context.Context) error) error {
	return chat.Call(ctx, a.limiter, []chat.Queue{{Class: classServer}}, "", r, func(err error) time.Duration {
		if e, ok := errors.AsType[*callError](err); ok && e.Status == http.StatusTooManyRequests {
			return max(e.After, time.Second)
		}
		return 0
	}, f)
}

func (a *api) do(ctx context.Context, method, path string, body, into any) error {
	var data []byte
	if body != nil {
		var err error
		if data, err = json.Marshal(body); err != nil {
			return fmt.Errorf("encode a call: %w", err)
		}
	}
	return a.request(ctx, method, path, "application/json", data, into)
}

// request sends a body of a type, and reads the reply.
func (a *api) request(ctx context.Context, method, path, contentType string, body []byte, into any) error {
	header := map[string]string{"Authorization": "Bearer " + a.token, "Content-Type": contentType}
	res, err := (&chat.Request{Method: method, URL: a.base + path, Header: header, Body: body, Most: maxReply}).Do(ctx, a.http)
	switch {
	case err != nil:
		return err
	case res.OK() && into == nil:
		return nil
	case res.OK():
		return json.Unmarshal(res.Data, into)
	}
	e := &callError{}
	_ = json.Unmarshal(res.Data, e) // another body says no more than the status
	e.Status, e.After = res.Status, res.After("Retry-After", "X-RateLimit-Reset")
	if e.Status == http.StatusUnauthorized {
		a.accepted(user{}, e)
	}
	return e
}

// accepted notes whether the token works, and whose it is.
func (a *api) accepted(me user, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.refused = err; err == nil {
		a.me = me
	}
}

func (a *api) state() (me user, refused error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.me, a.refused
}

// user looks up a user by id.
func (a *api) user(ctx context.Context, id string) (u user, err error) {
	err = a.do(ctx, http.MethodGet, "users/"+url.PathEscape(id), nil, &u)
	return u, err
}

// member returns the user of "channel/user" if they are in the channel.
func (a *api) member(ctx context.Context, of string) ([]string, error) {
	channel, id, _ := strings.Cut(of, "/")
	err := a.do(ctx, http.MethodGet, "channels/"+url.PathEscape(channel)+"/members/"+url.PathEscape(id), nil, nil)
	switch {
	case refusedFor(err, http.StatusNotFound, http.StatusForbidden):
		return nil, nil
	case err != nil:
		return nil, err
	}
	return []string{id}, nil
}

// direct returns the channel of the bot with a person.
func (a *api) direct(ctx context.Context, r responder.Rank, person string) (string, error) {
	me, _ := a.state()
	var c struct {
		ID string `json:"id"`
	}
	err := a.call(ctx, r, http.MethodPost, "channels/direct", []string{me.ID, person}, &c)
	return c.ID, err
}

func (a *api) send(ctx context.Context, r responder.Rank, p *post) (id string, err error) {
	var made post
	err = a.call(ctx, r, http.MethodPost, "posts", p, &made)
	return made.ID, err
}

func (a *api) edit(ctx context.Context, r responder.Rank, id string, p *post) error {
	return a.call(ctx, r, http.MethodPut, "posts/"+url.PathEscape(id)+"/patch", p, nil)
}
