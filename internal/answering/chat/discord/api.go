package discord

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/askbus/askbus/internal/answering/chat"
	"github.com/askbus/askbus/pkg/responder"
)

// api wraps Discord's HTTP API: each call waits for its turn, and errors say what to do.
type api struct {
	http    *http.Client
	base    string
	token   string
	limiter *responder.Limiter
	revoked func() // the token is refused
}

// classBot is the class of all calls of a bot: 50 a second. What a route allows is only known from the headers of its
// replies, so those of a route and channel are made one by one.
const classBot = "bot"

func newAPI(token, base string, clock responder.Clock, revoked func()) *api {
	return &api{
		http: &http.Client{Timeout: 20 * time.Second}, base: strings.TrimRight(base, "/"), token: token, revoked: revoked,
		limiter: responder.NewLimiter(clock, func(class string) responder.Pace {
			if class == classBot {
				return responder.Pace{Every: 25 * time.Millisecond, Burst: 10}
			}
			return responder.Pace{Every: 50 * time.Millisecond, Burst: 1}
		}),
	}
}

// call is a call of the API. Class and Place, a channel, name the route whose limit it counts for; without a class it
// is one about an interaction, which has none.
type call struct {
	Method, Path, Class, Place string
	Rank                       responder.Rank
	Body, Into                 any
	File                       *chat.Attached // nil: none
}

// encode returns the body of a call, and its media type.
func (c *call) encode() (body []byte, kind string, err error) {
	if c.Body != nil {
		body, err = json.Marshal(c.Body)
	}
	if err != nil || c.File == nil {
		return body, "application/json", err
	}
	return c.File.Upload(map[string]string{"payload_json": string(body)}, "files[0]")
}

// apiError is a refusal of Discord.
type apiError struct {
	Status  int     `json:"-"`
	Code    int     `json:"code"`
	Message string  `json:"message"`
	After   float64 `json:"retry_after"`
	Global  bool    `json:"global"`
}

// Error says what Discord said.
func (e *apiError) Error() string {
	return "discord: " + strconv.Itoa(e.Status) + " " + strconv.Itoa(e.Code) + " " + e.Message
}

// limited returns how long Discord refuses by an error.
func limited(err error) time.Duration {
	if e, ok := errors.AsType[*apiError](err); ok && e.Status == http.StatusTooManyRequests {
		return max(time.Duration(e.After*float64(time.Second)), 100*time.Millisecond)
	}
	return 0
}

// call makes one call at its turn.
func (a *api) call(ctx context.Context, c call) error {
	if c.Class == "" {
		return a.do(ctx, c)
	}
	return a.limiter.Alone(ctx, c.Class, c.Place, c.Rank, func(ctx context.Context) error {
		if err := a.limiter.Wait(ctx, classBot, "", c.Rank); err != nil {
			return err
		}
		return chat.Call(ctx, a.limiter, nil, c.Place, c.Rank, limited, func(ctx context.Context) error { return a.do(ctx, c) })
	})
}

// maxReply bounds a reply: a page of 100 messages of 4,000 characters.
const maxReply = 8 << 20

func (a *api) do(ctx context.Context, c call) error {
	body, kind, err := c.encode()
	if err != nil {
		return fmt.Errorf("encode a call: %w", err)
	}
	header := map[string]string{"Content-Type": kind, "User-Agent": "DiscordBot (https://github.com/askbus/askbus, 1)"}
	if c.Class != "" {
		header["Authorization"] = "Bot " + a.token
	}
	res, err := (&chat.Request{Method: c.Method, URL: a.base + c.Path, Header: header, Body: body, Most: maxReply}).Do(ctx, a.http)
	if err != nil {
		return fmt.Errorf("discord cannot be reached: %w", err)
	}
	if left, err := strconv.Atoi(res.Header.Get("X-RateLimit-Remaining")); err == nil && left <= 0 && c.Class != "" {
		after, _ := strconv.ParseFloat(res.Header.Get("X-RateLimit-Reset-After"), 64) // 0: at once
		a.limiter.Pause(c.Class, c.Place, time.Duration(after*float64(time.Second)))
	}
	switch {
	case !res.OK():
		return a.refused(res, c)
	case c.Into == nil:
		return nil
	}
	return json.Unmarshal(res.Data, c.Into)
}

func (a *api) refused(res *chat.Reply, c call) error {
	e := &apiError{Message: http.StatusText(res.Status)}
	_ = json.Unmarshal(res.Data, e) // a proxy's page has no fields
	e.Status = res.Status
	switch e.Status {
	case http.StatusTooManyRequests:
		e.After = max(e.After, res.After("Retry-After").Seconds())
		if e.Global || res.Header.Get("X-RateLimit-Global") != "" {
			a.limiter.Pause(classBot, "", limited(e))
		} else if c.Class != "" {
			a.limiter.Pause(c.Class, c.Place, limited(e))
		}
	case http.StatusUnauthorized:
		if c.Class != "" {
			a.revoked()
		}
	}
	return e
}

// code returns Discord's code of an error, or 0.
func code(err error) int {
	if e, ok := errors.AsType[*apiError](err); ok {
		return e.Code
	}
	return 0
}

// Codes of errors.
const (
	unknownChannel = 10003
	unknownMessage = 10008
	acknowledged   = 40060 // another replica has answered the interaction
	missingAccess  = 50001
	foreignMessage = 50005
	noDirect       = 50007 // a person takes no direct messages
	noPermission   = 50013
	invalidBody    = 50035
	archivedThread = 50083
)

// gone reports errors for messages that cannot be edited any more.
func gone(err error) bool {
	return slices.Contains([]int{unknownChannel, unknownMessage, missingAccess, foreignMessage, noPermission, archivedThread}, code(err))
}

// hopeless reports errors of a post for which a retry is useless.
func hopeless(err error) bool {
	return slices.Contains([]int{unknownChannel, missingAccess, noDirect, noPermission, invalidBody, archivedThread}, code(err))
}

// mentions says whom a message notifies: nobody whom a text names, only those given.
type mentions struct {
	Parse []string `json:"parse"` // always empty
	Users []string `json:"users,omitempty"`
	Roles []string `json:"roles,omitempty"`
}

// message is a message as it is sent, or edited.
type message struct {
	Content    *string     `json:"content,omitempty"`
	Components []component `json:"components"`
	Flags      int         `json:"flags,omitempty"`
	Mentions   mentions    `json:"allowed_mentions"`
	Nonce      string      `json:"nonce,omitempty"`
	Enforce    bool        `json:"enforce_nonce,omitempty"`
	Reference  *reference  `json:"message_reference,omitempty"`
}

// reference is the message that another one replies to.
type reference struct {
	ID   string `json:"message_id"`
	Must bool   `json:"fail_if_not_exists"`
}

// Flags of messages.
const (
	flagEphemeral  = 1 << 6
	flagSilent     = 1 << 12
	flagComponents = 1 << 15
)

// found is a message as Discord returns it.
type found struct {
	ID         string      `json:"id"`
	Author     user        `json:"author"`
	Components []component `json:"components"`
	Flags      int         `json:"flags"`
}

func (a *api) post(ctx context.Context, r responder.Rank, channel string, m message) (id string, err error) {
	var f found
	err = a.call(ctx, call{Method: "POST", Class: "post", Path: "/channels/" + channel + "/messages", Place: channel, Rank: r, Body: m, Into: &f})
	return f.ID, err
}

// attach posts a file below a message. A nonce prevents for some minutes that it is posted twice.
func (a *api) attach(ctx context.Context, r responder.Rank, to chat.Message, nonce string, f *chat.Attached) error {
	m := message{Components: []component{}, Mentions: mentions{Parse: []string{}}, Flags: flagSilent, Nonce: nonce, Enforce: true, Reference: &reference{to.ID, false}}
	return a.call(ctx, call{Method: "POST", Class: "post", Path: "/channels/" + to.Channel + "/messages", Place: to.Channel, Rank: r, Body: m, File: f})
}

func (a *api) edit(ctx context.Context, r responder.Rank, ref string, m message) error {
	at, ok := chat.ParseMessage(ref)
	if !ok {
		return nil
	}
	return a.call(ctx, call{Method: "PATCH", Class: "edit", Path: "/channels/" + at.Channel + "/messages/" + at.ID, Place: at.Channel, Rank: r, Body: m})
}
