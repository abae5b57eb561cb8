package teams

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/askbus/askbus/internal/answering/chat"
	"github.com/askbus/askbus/pkg/responder"
	"golang.org/x/oauth2"
	"golang.org/x/oauth2/clientcredentials"
)

// api wraps the Bot Connector: each call waits for its turn, and errors say what to do.
type api struct {
	http    *http.Client
	app     string
	creds   clientcredentials.Config
	limiter *responder.Limiter

	mu      sync.Mutex
	tokens  oauth2.TokenSource // nil: get a new one
	refused error              // the last token, or its use, was refused
	known   bool               // one was ever accepted
}

// Classes of calls. Microsoft documents for a bot and a conversation 7 calls in 1 s, 8 in 2 s, 60 in 30 s and 1,800 in an
// hour, and 30 a second for an app in a tenant. One call fewer is made at once: on a slow network calls arrive later than
// they were made, and the first ones together with the next.
const (
	classBot          = "bot"
	classConversation = "conversation"
)

// Bounds of calls.
const (
	callFor  = 20 * time.Second
	maxReply = 1 << 20
	scope    = "https://api.botframework.com/.default"
)

func newAPI(o *Options, clock responder.Clock) *api {
	pace := map[string]responder.Pace{classBot: {Every: 40 * time.Millisecond, Burst: 20}, classConversation: {Every: 2010 * time.Millisecond, Burst: 6}}
	return &api{
		http: &http.Client{Timeout: callFor}, app: o.AppID, limiter: responder.NewLimiter(clock, func(class string) responder.Pace { return pace[class] }),
		creds: clientcredentials.Config{ClientID: o.AppID, ClientSecret: o.Secret, TokenURL: o.LoginURL + "/" + o.Directory + "/oauth2/v2.0/token", Scopes: []string{scope}, AuthStyle: oauth2.AuthStyleInParams},
	}
}

// token returns a token for the connector.
func (a *api) token(ctx context.Context) (string, error) {
	a.mu.Lock()
	source := a.tokens
	if source == nil {
		long := context.WithValue(context.WithoutCancel(ctx), oauth2.HTTPClient, a.http) // it outlives the call
		source = oauth2.ReuseTokenSource(nil, a.creds.TokenSource(long))
		a.tokens = source
	}
	a.mu.Unlock()
	t, err := source.Token()
	if e, ok := errors.AsType[*oauth2.RetrieveError](err); ok {
		err = fmt.Errorf("the login service refuses the app's secret: %s %s", e.ErrorCode, e.ErrorDescription)
		a.accepted(err)
	}
	if err != nil {
		return "", err
	}
	return t.AccessToken, nil
}

// accepted notes whether the app's token works.
func (a *api) accepted(err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.refused, a.known = err, a.known || err == nil
	if err != nil {
		a.tokens = nil
	}
}

// ready returns why the connector does not accept the app, or nil.
func (a *api) ready() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.refused == nil && !a.known {
		return errors.New("the login service has not accepted the app's secret yet")
	}
	return a.refused
}

// callError is a refusal of the connector.
type callError struct {
	Status  int
	Code    string
	Message string
	After   time.Duration // what it says
}

func (e *callError) Error() string {
	return "Bot Connector: " + strconv.Itoa(e.Status) + " " + e.Code + " " + e.Message
}

// place is where a message is, or goes.
type place struct {
	Service      string // address of the connector for a region
	Conversation string
	Activity     string // id of the message; empty: a conversation
}

func (p place) ref() string { return p.Service + " " + p.Conversation + " " + p.Activity }

func parsePlace(s string) (p place, ok bool) {
	parts := strings.Split(s, " ")
	if len(parts) != 3 {
		return p, false
	}
	return place{parts[0], parts[1], parts[2]}, parts[0] != "" && parts[1] != "" && parts[2] != ""
}

// base returns a conversation without the thread in it.
func base(conversation string) string {
	id, _, _ := strings.Cut(conversation, ";")
	return id
}

// call makes one call about a place at its turn. Safe says that it may be repeated after an error that leaves open
// whether it was carried out.
func (a *api) call(ctx context.Context, at place, r responder.Rank, safe bool, method, path string, body, into any) error {
	id := base(at.Conversation)
	return chat.Call(ctx, a.limiter, []chat.Queue{{Class: classConversation, Place: id}, {Class: classBot}}, id, r, func(err error) time.Duration {
		e, ok := errors.AsType[*callError](err)
		switch {
		case !ok:
			return 0
		case e.Status == http.StatusTooManyRequests, e.Status == http.StatusPreconditionFailed, safe && (e.Status == http.StatusBadGateway || e.Status == http.StatusGatewayTimeout):
			return max(e.After, time.Second) + rand.N(2*time.Second) //nolint:gosec // jitter
		}
		return 0
	}, func(ctx context.Context) error {
		return a.do(ctx, method, strings.TrimRight(at.Service, "/")+path, body, into)
	})
}

// do makes one request of the connector.
func (a *api) do(ctx context.Context, method, address string, body, into any) error {
	token, err := a.token(ctx)
	if err != nil {
		return err
	}
	call := chat.Request{Method: method, URL: address, Header: map[string]string{"Authorization": "Bearer " + token}, Most: maxReply}
	if body != nil {
		call.Header["Content-Type"] = "application/json; charset=utf-8"
		if call.Body, err = json.Marshal(body); err != nil {
			return fmt.Errorf("encode an activity: %w", err)
		}
	}
	res, err := call.Do(ctx, a.http)
	if err != nil {
		return fmt.Errorf("call the connector: %w", err)
	}
	if res.OK() {
		a.accepted(nil)
		if into == nil || len(res.Data) == 0 {
			return nil
		}
		return json.Unmarshal(res.Data, into)
	}
	e := &callError{Status: res.Status, After: res.After("Retry-After")}
	var said struct {
		Error struct {
			Code    string `json:"code"`
			Message string `json:"message"`
		} `json:"error"`
	}
	_ = json.Unmarshal(res.Data, &said) // another body says no more than the status
	e.Code, e.Message = said.Error.Code, said.Error.Message
	if e.Status == http.StatusUnauthorized {
		a.accepted(e)
	}
	return e
}

// message is an activity that the bot sends.
type message struct {
	Type        string       `json:"type"`
	ID          string       `json:"id,omitempty"`
	Text        string       `json:"text,omitempty"`
	TextFormat  string       `json:"textFormat,omitempty"`
	Summary     string       `json:"summary,omitempty"`
	Importance  string       `json:"importance,omitempty"`
	Attachments []attachment `json:"attachments,omitempty"`
	ChannelData any          `json:"channelData,omitempty"`
}

type attachment struct {
	ContentType string `json:"contentType"`
	Content     *sheet `json:"content"`
}

const cardType = "application/vnd.microsoft.card.adaptive"

func conversations(id string) string { return "/v3/conversations/" + url.PathEscape(id) }

// send posts a message, and returns its place. To a channel it begins a thread: the id of a channel is not that of a
// conversation, and what is sent to it is lost.
func (a *api) send(ctx context.Context, to place, channel bool, r responder.Rank, m *message) (place, error) {
	var got struct {
		ID       string `json:"id"`
		Activity string `json:"activityId"`
	}
	if !channel {
		err := a.call(ctx, to, r, false, http.MethodPost, conversations(to.Conversation)+"/activities", m, &got)
		to.Activity = got.ID
		return to, err
	}
	body := map[string]any{
		"isGroup": true, "activity": m, "bot": map[string]string{"id": "28:" + a.app},
		"channelData": map[string]any{"channel": map[string]string{"id": base(to.Conversation)}},
	}
	err := a.call(ctx, to, r, false, http.MethodPost, "/v3/conversations", body, &got)
	to.Conversation, to.Activity = got.ID, got.Activity
	return to, err
}

// edit replaces a message.
func (a *api) edit(ctx context.Context, at place, r responder.Rank, m *message) error {
	m.ID = at.Activity
	return a.call(ctx, at, r, true, http.MethodPut, conversations(at.Conversation)+"/activities/"+url.PathEscape(at.Activity), m, nil)
}

// member is a person in a conversation.
type member struct {
	Object string `json:"aadObjectId"`
	Name   string `json:"name"`
	Role   string `json:"userRole"`
	Tenant string `json:"tenantId"`
}

// member looks up a person of a conversation by their id in Teams or in the directory. It has no turn: a person waits.
func (a *api) member(ctx context.Context, at place, id string) (m member, err error) {
	err = a.do(ctx, http.MethodGet, strings.TrimRight(at.Service, "/")+conversations(at.Conversation)+"/members/"+url.PathEscape(id), nil, &m)
	return m, err
}

// refusedFor reports whether an error is a refusal with one of these statuses.
func refusedFor(err error, statuses ...int) bool {
	e, ok := errors.AsType[*callError](err)
	return ok && slices.Contains(statuses, e.Status)
}

// gone reports errors for messages that cannot be edited any more.
func gone(err error) bool {
	return refusedFor(err, http.StatusNotFound, http.StatusForbidden, http.StatusGone)
}

// hopeless reports errors of a post for which a retry is useless: nobody has added the app there, or Teams refuses the
// message.
func hopeless(err error) bool {
	return errors.Is(err, errUnknownPerson) || gone(err) || refusedFor(err, http.StatusBadRequest, http.StatusRequestEntityTooLarge)
}
