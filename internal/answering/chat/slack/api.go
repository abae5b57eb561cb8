package slack

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/askbus/askbus/internal/answering/chat"
	"github.com/askbus/askbus/pkg/responder"
	slackapi "github.com/slack-go/slack"
)

// api wraps the Web API: each call waits for its turn, posts fit Slack's limits, and errors say
// what to do.
type api struct {
	client  *slackapi.Client
	http    *http.Client
	base    string
	token   string
	limiter *responder.Limiter
	free    bool        // no limits
	revoked atomic.Bool // Slack does not accept the token
}

// metadataType marks our messages. The payload names the ask, so that a card can be found if its
// receipt was lost.
const metadataType = "askbus_ask"

func newAPI(o *Options, clock responder.Clock) *api {
	client := &http.Client{Timeout: 30 * time.Second}
	base := strings.TrimRight(o.APIURL, "/") + "/"
	opts := []slackapi.Option{slackapi.OptionAPIURL(base), slackapi.OptionHTTPClient(client)}
	if o.AppToken != "" {
		opts = append(opts, slackapi.OptionAppLevelToken(o.AppToken))
	}
	return &api{client: slackapi.New(o.BotToken, opts...), http: client, base: base, token: o.BotToken, limiter: newLimiter(clock, o.Replicas), free: o.NoLimits}
}

// call makes one call at its turn, unless ctx has ended by then: another replica may have the ask.
// A rate limit becomes a [responder.RetryError] and pauses its queue.
func (a *api) call(ctx context.Context, method, channel string, r responder.Rank, f func(context.Context) error) error {
	var queues []chat.Queue
	if method == methodPost {
		queues = append(queues, chat.Queue{Class: classChannel, Place: channel})
	}
	if queues = append(queues, chat.Queue{Class: method}); a.free {
		queues = nil
	}
	return chat.Call(ctx, a.limiter, queues, channel, r, limited, func(ctx context.Context) error {
		err := f(ctx)
		a.revoked.Store(revoked(err))
		if err != nil {
			return fmt.Errorf("%s: %w", method, err)
		}
		return nil
	})
}

// is reports whether an error is a refusal with one of Slack's codes.
func is(err error, codes ...string) bool { return slices.Contains(codes, code(err)) }

// revoked reports errors for a token that Slack does not accept.
func revoked(err error) bool {
	return is(err, "invalid_auth", "not_authed", "token_revoked", "token_expired", "account_inactive")
}

// limited returns how long Slack refuses by an error.
func limited(err error) time.Duration {
	if e, ok := errors.AsType[*slackapi.RateLimitedError](err); ok {
		return e.RetryAfter
	}
	return 0
}

// methodPost has a limit for each channel besides its own.
const methodPost = "chat.postMessage"

// code returns Slack's error code, or "".
func code(err error) string {
	if e, ok := errors.AsType[slackapi.SlackErrorResponse](err); ok {
		return e.Err
	}
	return ""
}

// gone reports errors for messages that no longer exist.
func gone(err error) bool {
	return is(err, "message_not_found", "channel_not_found", "is_archived", "cant_update_message", "user_disabled")
}

// hopeless reports errors of a post for which a retry is useless.
func hopeless(err error) bool {
	return is(err, "channel_not_found", "is_archived", "not_in_channel", "restricted_action", "user_disabled", "user_not_found", "cannot_dm_bot",
		"no_text", "msg_too_long", "invalid_blocks", "invalid_blocks_format", "msg_blocks_too_long", "restricted_action_read_only_channel")
}

func (a *api) post(ctx context.Context, r responder.Rank, channel, thread string, broadcast bool, c content, payload map[string]string) (ts string, err error) {
	c = fit(c)
	opts := []slackapi.MsgOption{
		slackapi.MsgOptionText(c.Text, false), slackapi.MsgOptionBlocks(c.Blocks...),
		slackapi.MsgOptionDisableLinkUnfurl(), slackapi.MsgOptionDisableMediaUnfurl(),
	}
	if payload != nil {
		all := make(map[string]any, len(payload))
		for key, value := range payload {
			all[key] = value
		}
		opts = append(opts, slackapi.MsgOptionMetadata(slackapi.SlackMetadata{EventType: metadataType, EventPayload: all}))
	}
	if thread != "" {
		opts = append(opts, slackapi.MsgOptionTS(thread))
		if broadcast {
			opts = append(opts, slackapi.MsgOptionBroadcast())
		}
	}
	err = a.call(ctx, methodPost, channel, r, func(ctx context.Context) error {
		_, ts, err = a.client.PostMessageContext(ctx, channel, opts...)
		return err
	})
	return ts, err
}

// update replaces a message's content. Without blocks it removes the buttons.
func (a *api) update(ctx context.Context, r responder.Rank, m message, c content) error {
	c = fit(c)
	return a.call(ctx, "chat.update", m.Channel, r, func(ctx context.Context) error {
		_, _, _, err := a.client.UpdateMessageContext(ctx, m.Channel, m.ID, slackapi.MsgOptionText(c.Text, false), slackapi.MsgOptionBlocks(c.Blocks...))
		return err
	})
}

// schedule lets Slack post a text below a message at a time, and returns its id.
func (a *api) schedule(ctx context.Context, m message, at time.Time, text string) (id string, err error) {
	err = a.call(ctx, "chat.scheduleMessage", m.Channel, responder.Rank{At: time.Now()}, func(ctx context.Context) error {
		_, id, err = a.client.ScheduleMessageContext(ctx, m.Channel, strconv.FormatInt(at.Unix(), 10),
			slackapi.MsgOptionText(text, false), slackapi.MsgOptionTS(cmp.Or(m.Thread, m.ID)), slackapi.MsgOptionBroadcast(), slackapi.MsgOptionDisableLinkUnfurl())
		return err
	})
	return id, err
}

// scheduled returns the id of the text that is scheduled for a time in a channel and is the one, or "".
func (a *api) scheduled(ctx context.Context, channel string, at time.Time, is func(text string) bool) (id string, err error) {
	q := slackapi.GetScheduledMessagesParameters{Channel: channel, Oldest: strconv.FormatInt(at.Unix()-1, 10), Latest: strconv.FormatInt(at.Unix()+1, 10), Limit: 100}
	err = a.call(ctx, "chat.scheduledMessages.list", channel, responder.Rank{At: time.Now()}, func(ctx context.Context) error {
		all, _, err := a.client.GetScheduledMessagesContext(ctx, &q)
		for i := range all {
			if is(all[i].Text) {
				id = all[i].ID
			}
		}
		return err
	})
	return id, err
}

func (a *api) unschedule(ctx context.Context, channel, id string) error {
	return a.call(ctx, "chat.deleteScheduledMessage", channel, responder.Rank{At: time.Now()}, func(ctx context.Context) error {
		_, err := a.client.DeleteScheduledMessageContext(ctx, &slackapi.DeleteScheduledMessageParameters{Channel: channel, ScheduledMessageID: id})
		return err
	})
}

// whisper sends an ephemeral message to one person in a channel. It may get lost, and disappears on
// reload.
func (a *api) whisper(ctx context.Context, m message, user string, c content) error {
	c = fit(c)
	return a.call(ctx, "chat.postEphemeral", m.Channel, responder.Rank{Urgent: true, At: time.Now()}, func(ctx context.Context) error {
		opts := []slackapi.MsgOption{slackapi.MsgOptionText(c.Text, false), slackapi.MsgOptionBlocks(c.Blocks...)}
		if m.Thread != "" {
			opts = append(opts, slackapi.MsgOptionTS(m.Thread))
		}
		_, err := a.client.PostEphemeralContext(ctx, m.Channel, user, opts...)
		return err
	})
}

// withdraw removes the ephemeral message whose click came with this response_url, which Slack signed.
func (a *api) withdraw(ctx context.Context, responseURL string) error {
	if responseURL == "" {
		return nil
	}
	res, err := (&chat.Request{Method: http.MethodPost, URL: responseURL, Header: map[string]string{"Content-Type": "application/json"}, Body: []byte(`{"delete_original":true}`), Most: maxReply}).Do(ctx, a.http)
	if err == nil && res.Status != http.StatusOK {
		err = fmt.Errorf("response_url replied %d", res.Status)
	}
	return err
}

func (a *api) openView(ctx context.Context, trigger string, v slackapi.ModalViewRequest) error {
	return a.call(ctx, "views.open", "", responder.Rank{Urgent: true, At: time.Now()}, func(ctx context.Context) error {
		_, err := a.client.OpenViewContext(ctx, trigger, v)
		return err
	})
}

func (a *api) updateView(ctx context.Context, id string, v slackapi.ModalViewRequest) error {
	return a.call(ctx, "views.update", "", responder.Rank{Urgent: true, At: time.Now()}, func(ctx context.Context) error {
		_, err := a.client.UpdateViewContext(ctx, v, "", "", id)
		return err
	})
}

func (a *api) publish(ctx context.Context, user string, blocks []slackapi.Block) error {
	return a.call(ctx, "views.publish", "", responder.Rank{At: time.Now()}, func(ctx context.Context) error {
		_, err := a.client.PublishViewContext(ctx, slackapi.PublishViewContextRequest{
			UserID: user, View: slackapi.HomeTabViewRequest{Type: slackapi.VTHomeTab, Blocks: slackapi.Blocks{BlockSet: fitView(blocks)}},
		})
		return err
	})
}

// dm returns the direct message channel of a user.
func (a *api) dm(ctx context.Context, user string) (channel string, err error) {
	err = a.call(ctx, "conversations.open", "", responder.Rank{At: time.Now()}, func(ctx context.Context) error {
		c, _, _, err := a.client.OpenConversationContext(ctx, &slackapi.OpenConversationParameters{Users: []string{user}})
		if err == nil {
			channel = c.ID
		}
		return err
	})
	return channel, err
}

func (a *api) user(ctx context.Context, id string) (u *slackapi.User, err error) {
	err = a.call(ctx, "users.info", "", responder.Rank{Urgent: true, At: time.Now()}, func(ctx context.Context) error {
		u, err = a.client.GetUserInfoContext(ctx, id)
		return err
	})
	return u, err
}

func (a *api) groupMembers(ctx context.Context, group string) (users []string, err error) {
	err = a.call(ctx, "usergroups.users.list", "", responder.Rank{Urgent: true, At: time.Now()}, func(ctx context.Context) error {
		users, err = a.client.GetUserGroupMembersContext(ctx, group)
		return err
	})
	return users, err
}

func (a *api) groupList(ctx context.Context) (groups []slackapi.UserGroup, err error) {
	err = a.call(ctx, "usergroups.list", "", responder.Rank{At: time.Now()}, func(ctx context.Context) error {
		groups, err = a.client.GetUserGroupsContext(ctx)
		return err
	})
	return groups, err
}

// found is a message of a history. It is decoded leniently and by hand: one odd block of another
// app must not hide our card.
type found struct {
	TS       string `json:"ts"`
	Thread   string `json:"thread_ts"`
	User     string `json:"user"`
	BotID    string `json:"bot_id"`
	Metadata struct {
		Type    string         `json:"event_type"`
		Payload map[string]any `json:"event_payload"`
	} `json:"metadata"`
}

func (f *found) payload(key string) string {
	if f.Metadata.Type != metadataType {
		return ""
	}
	s, _ := f.Metadata.Payload[key].(string)
	return s
}

// window is a time by Slack's clock; its zero ends are open.
type window struct{ from, to time.Time }

// history reads messages of a channel (the newest first) or of a whole thread (the oldest first): at
// most the given number of pages of 200. more reports whether there are others.
func (a *api) history(ctx context.Context, channel, thread string, when window, pages int) (all []found, more bool, err error) {
	method, form := "conversations.history", url.Values{"channel": {channel}, "limit": {"200"}, "include_all_metadata": {"true"}}
	if thread != "" {
		method = "conversations.replies"
		form.Set("ts", thread)
	}
	if !when.from.IsZero() && thread == "" {
		form.Set("oldest", stamp(when.from))
	}
	if !when.to.IsZero() && thread == "" {
		form.Set("latest", stamp(when.to))
	}
	for range pages {
		var page struct {
			Messages []found `json:"messages"`
			Meta     struct {
				Cursor string `json:"next_cursor"`
			} `json:"response_metadata"`
		}
		err := a.call(ctx, method, channel, responder.Rank{At: time.Now()}, func(ctx context.Context) error { return a.raw(ctx, method, form, &page) })
		if err != nil {
			return nil, false, err
		}
		all = append(all, page.Messages...)
		if page.Meta.Cursor == "" {
			return all, false, nil
		}
		form.Set("cursor", page.Meta.Cursor)
	}
	return all, true, nil
}

// stamp returns a time as a message's timestamp.
func stamp(at time.Time) string { return strconv.FormatInt(at.Unix(), 10) + ".000000" }

// maxReply bounds a reply, in bytes.
const maxReply = 8 << 20

// raw calls a method and decodes only the fields of into.
func (a *api) raw(ctx context.Context, method string, form url.Values, into any) error {
	header := map[string]string{"Content-Type": "application/x-www-form-urlencoded", "Authorization": "Bearer " + a.token}
	res, err := (&chat.Request{Method: http.MethodPost, URL: a.base + method, Header: header, Body: []byte(form.Encode()), Most: maxReply}).Do(ctx, a.http)
	switch {
	case err != nil:
		return err
	case res.Status == http.StatusTooManyRequests:
		return &slackapi.RateLimitedError{RetryAfter: cmp.Or(res.After("Retry-After"), 30*time.Second)}
	case res.Status != http.StatusOK:
		return fmt.Errorf("slack replied %d", res.Status)
	}
	var head struct {
		OK    bool   `json:"ok"`
		Error string `json:"error"`
	}
	if err := json.Unmarshal(res.Data, &head); err != nil {
		return err
	}
	if !head.OK {
		return slackapi.SlackErrorResponse{Err: head.Error}
	}
	return json.Unmarshal(res.Data, into)
}
