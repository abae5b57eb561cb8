package feishu

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/askbus/askbus/internal/answering/chat"
	"github.com/askbus/askbus/pkg/responder"
)

// api makes calls of Feishu's server API: each waits for its turn, and carries a token that is fetched again before it
// expires.
type api struct {
	origin, id, secret string
	http               *http.Client
	clock              responder.Clock
	limiter            *responder.Limiter
	refused            atomic.Bool // the credentials

	mu    sync.Mutex // held while a token is fetched
	token string
	until time.Time // when to fetch another
}

// Classes of calls. Feishu allows a method 1,000 calls a minute and 50 a second, and 5 a second to one chat, person or
// message; these are a little below.
const (
	classPost  = "post"
	classEdit  = "edit"
	classRead  = "read"
	classPlace = "place"
)

// Bounds of a call.
const (
	callFor  = 10 * time.Second
	maxReply = 4 << 20
	spare    = 10 * time.Minute // before a token expires
)

func newAPI(o *Options, clock responder.Clock) *api {
	origin := o.Domain
	if origin == DomainFeishu || origin == DomainLark {
		origin = "https://open." + origin
	}
	return &api{
		origin: origin, id: o.AppID, secret: o.AppSecret, clock: clock,
		http: &http.Client{Timeout: callFor, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }},
		limiter: responder.NewLimiter(clock, func(class string) responder.Pace {
			if class == classPlace {
				return responder.Pace{Every: 210 * time.Millisecond, Burst: 1}
			}
			return responder.Pace{Every: 65 * time.Millisecond, Burst: 30}
		}),
	}
}

// apiError is a refusal by Feishu.
type apiError struct {
	Call string
	Code int
	Msg  string
}

func (e *apiError) Error() string {
	return fmt.Sprintf("%s: %d %s", e.Call, e.Code, e.Msg)
}

// is reports whether an error is a refusal with one of the codes.
func is(err error, codes ...int) bool {
	e, ok := errors.AsType[*apiError](err)
	return ok && slices.Contains(codes, e.Code)
}

// Codes of refusals, from the references of the methods that are used.
const (
	codeThrottled     = 99991400 // of an app for a method
	codeThrottledChat = 230020   // of a chat, a person or a message
	codeSending       = 230049   // a message with this uuid is being sent
)

// staleToken reports whether another token may help.
func staleToken(err error) bool { return is(err, 99991661, 99991663, 99991664, 99991668, 99991677) }

// gone reports errors for messages that cannot be edited any more: recalled, deleted, older than 14 days, or in a chat
// that was dissolved or that the bot has left.
func gone(err error) bool { return is(err, 230011, 230110, 230031, 230002, 232009) }

// hopeless reports errors of a post for which a retry is useless: no such chat or person, the bot is not in the chat or
// may not write to it, the person is outside of its scope, or Feishu refuses the message.
func hopeless(err error) bool {
	return is(err, 230001, 230002, 230013, 230018, 230025, 230028, 230029, 230034, 230035, 230038, 230053, 230054, 230099, 232009, 232011)
}

// request is a call.
type request struct {
	method, path string
	query        url.Values
	body         any
	form         []byte // instead of a body
	kind         string // its media type
	class        string // its queue
	place        string // a chat, person or message, which has its own queue; may be empty
}

// call makes a call at its turn. The answer's data is decoded into out, or the whole answer if it has none.
func (a *api) call(ctx context.Context, r responder.Rank, req request, out any) error {
	if err := a.limiter.Wait(ctx, req.class, "", r); err != nil {
		return err
	}
	if req.place != "" {
		if err := a.limiter.Wait(ctx, classPlace, req.place, r); err != nil {
			return err
		}
	}
	if err := ctx.Err(); err != nil { // another replica may have the ask by now
		return err
	}
	err := a.authorized(ctx, req, out)
	if staleToken(err) {
		a.drop()
		err = a.authorized(ctx, req, out)
	}
	if retry, ok := errors.AsType[*responder.RetryError](err); ok {
		switch {
		case is(err, codeThrottled):
			a.limiter.Pause(req.class, "", retry.After)
		case req.place != "":
			retry.Place = req.place
			a.limiter.Pause(classPlace, req.place, retry.After)
		}
	}
	return err
}

func (a *api) authorized(ctx context.Context, req request, out any) error {
	token, err := a.bearer(ctx)
	if err != nil {
		return err
	}
	return a.send(ctx, req, token, out)
}

// bearer returns the tenant's token. Feishu gives the same one again until its last half hour.
func (a *api) bearer(ctx context.Context) (string, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.token != "" && a.clock.Now().Before(a.until) {
		return a.token, nil
	}
	var got struct {
		Token  string `json:"tenant_access_token"`
		Expire int    `json:"expire"` // seconds
	}
	err := a.send(ctx, request{method: http.MethodPost, path: "/open-apis/auth/v3/tenant_access_token/internal", body: map[string]string{"app_id": a.id, "app_secret": a.secret}}, "", &got)
	if err == nil && got.Token == "" {
		err = errors.New("feishu gave no token")
	}
	a.refused.Store(is(err, 10003, 10014, 10015, 99991543))
	if err != nil {
		return "", err
	}
	life := time.Duration(got.Expire) * time.Second
	a.token, a.until = got.Token, a.clock.Now().Add(max(life-spare, life/2))
	return a.token, nil
}

func (a *api) drop() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.token = ""
}

// send makes one call. What Feishu refuses is an [*apiError], by the code in the body, whatever the status.
func (a *api) send(ctx context.Context, req request, token string, out any) error {
	name := req.method + " " + strings.TrimPrefix(req.path, "/open-apis")
	data, kind := req.form, req.kind
	if req.body != nil {
		var err error
		if data, err = encode(req.body); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	header := map[string]string{"Content-Type": cmp.Or(kind, "application/json; charset=utf-8")}
	if token != "" {
		header["Authorization"] = "Bearer " + token
	}
	res, err := (&chat.Request{Method: req.method, URL: a.origin + req.path + "?" + req.query.Encode(), Header: header, Body: data, Most: maxReply}).Do(ctx, a.http)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	raw := res.Data
	var head struct {
		Code *int            `json:"code"`
		Msg  string          `json:"msg"`
		Data json.RawMessage `json:"data"`
	}
	err = json.Unmarshal(raw, &head)
	switch {
	case err == nil && head.Code != nil && *head.Code != 0:
		err = &apiError{name, *head.Code, head.Msg}
	case res.Status == http.StatusTooManyRequests:
		err = &apiError{name, codeThrottled, http.StatusText(res.Status)}
	case err != nil || res.Status != http.StatusOK:
		return fmt.Errorf("%s: status %d without a code", name, res.Status)
	}
	if is(err, codeThrottled, codeThrottledChat, codeSending) {
		return &responder.RetryError{After: max(res.After("x-ogw-ratelimit-reset"), time.Second), Err: err}
	}
	if err != nil || out == nil {
		return err
	}
	if len(head.Data) > 0 {
		raw = head.Data
	}
	if err := json.Unmarshal(raw, out); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// encode returns JSON without escapes for HTML, which would count against Feishu's limit of a message.
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}

// sent is a message that was posted.
type sent struct {
	MessageID string `json:"message_id"`
	ChatID    string `json:"chat_id"`
}

// post posts a message to a chat or a person, once within an hour for the same uuid.
func (a *api) post(ctx context.Context, r responder.Rank, to, kind, content, uuid string) (m sent, err error) {
	typ := map[string]string{"oc_": "chat_id", "ou_": "open_id", "on_": "union_id"}[to[:min(3, len(to))]]
	body := map[string]string{"receive_id": to, "msg_type": kind, "content": content, "uuid": uuid}
	err = a.call(ctx, r, request{method: http.MethodPost, path: "/open-apis/im/v1/messages", query: url.Values{"receive_id_type": {typ}}, body: body, class: classPost, place: to}, &m)
	return m, err
}

// edit replaces a card.
func (a *api) edit(ctx context.Context, r responder.Rank, id, content string) error {
	return a.call(ctx, r, request{method: http.MethodPatch, path: "/open-apis/im/v1/messages/" + url.PathEscape(id), body: map[string]string{"content": content}, class: classEdit, place: id}, nil)
}

// reply replies to a message with the content of a kind.
func (a *api) reply(ctx context.Context, r responder.Rank, chat, id, kind, content, uuid string) error {
	body := map[string]string{"msg_type": kind, "content": content, "uuid": uuid}
	return a.call(ctx, r, request{method: http.MethodPost, path: "/open-apis/im/v1/messages/" + url.PathEscape(id) + "/reply", body: body, class: classPost, place: chat}, nil)
}

// textOf returns the content of a text message that mentions people; nothing in its words is a mention.
func textOf(words string, ids ...string) string {
	words = strings.TrimSpace(strings.ReplaceAll(words, "<", "<\u200b") + " " + mention(`user_id="%s"`, ids))
	data, _ := encode(map[string]string{"text": words}) // strings always marshal
	return string(data)
}

// mention mentions people, whose id is an attribute. A group is a chat, which nobody can mention.
func mention(attribute string, ids []string) string {
	var all []string
	for _, id := range ids {
		if !strings.HasPrefix(id, "oc_") {
			all = append(all, "<at "+fmt.Sprintf(attribute, id)+"></at>")
		}
	}
	return strings.Join(all, " ")
}

// member is a member of a chat.
type member struct {
	ID   string `json:"member_id"`
	Name string `json:"name"`
}

// maxMembers bounds the members of a chat that are read.
const maxMembers = 10_000

// in reads the members of a chat, by union_id.
func (a *api) in(ctx context.Context, chat string) (all []member, err error) {
	q := url.Values{"member_id_type": {"union_id"}, "page_size": {"100"}}
	for len(all) < maxMembers {
		var page struct {
			Items     []member `json:"items"`
			PageToken string   `json:"page_token"`
			HasMore   bool     `json:"has_more"`
		}
		r := request{method: http.MethodGet, path: "/open-apis/im/v1/chats/" + url.PathEscape(chat) + "/members", query: q, class: classRead}
		if err := a.call(ctx, responder.Rank{Urgent: true, At: a.clock.Now()}, r, &page); err != nil {
			return nil, err
		}
		all = append(all, page.Items...)
		if !page.HasMore || page.PageToken == "" {
			break
		}
		q.Set("page_token", page.PageToken)
	}
	return all, nil
}

// members returns the union_ids of the members of a chat.
func (a *api) members(ctx context.Context, chat string) (ids []string, err error) {
	all, err := a.in(ctx, chat)
	for _, m := range all {
		ids = append(ids, m.ID)
	}
	return ids, err
}

// name looks up the name of a user, "chat/union_id": in the directory, or if the app may not read it in the chat.
func (a *api) name(ctx context.Context, of string) (string, error) {
	chat, union, _ := strings.Cut(of, "/")
	var found struct {
		User struct {
			Name string `json:"name"`
		} `json:"user"`
	}
	r := request{method: http.MethodGet, path: "/open-apis/contact/v3/users/" + url.PathEscape(union), query: url.Values{"user_id_type": {"union_id"}}, class: classRead}
	err := a.call(ctx, responder.Rank{Urgent: true, At: a.clock.Now()}, r, &found)
	if err == nil && found.User.Name != "" {
		return found.User.Name, nil
	}
	all, err := a.in(ctx, chat)
	if err != nil {
		return "", err
	}
	for _, m := range all {
		if m.ID == union {
			return m.Name, nil
		}
	}
	return "", nil
}
