package telegram

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/askbus/askbus/internal/answering/chat"
	"github.com/askbus/askbus/internal/bus/state"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/responder"
	"github.com/go-telegram/bot"
	lru "github.com/hashicorp/golang-lru/v2"
)

// topics are the topics of sessions in forums, which all replicas share: who writes the entry makes the topic.
type topics struct {
	s      *App
	bucket *state.Bucket // nil: of this process only, as in a doctor
	cache  *lru.Cache[string, int]
}

// topic is an entry.
type topic struct {
	ID int `json:"id,omitempty"` // 0: somebody is making it
}

// Lifetimes of entries, and the length of a topic's name.
const (
	topicLife   = 400 * 24 * time.Hour
	makingLife  = 30 * time.Second // of who may have died
	makingAgain = time.Second
	maxTopic    = 128
)

func newTopics(s *App) *topics {
	t := &topics{s: s, cache: chat.NewCache[string, int](10_000)}
	if s.Bus != nil {
		t.bucket = state.Open(s.Bus.Conn(), state.Responder(s.Type, s.Bus.Tenant()), state.Conversations)
	}
	return t
}

// in sends a message into the topic of an ask's session in a chat. A topic that was closed or deleted is replaced by a new
// one, once. A chat without topics gets the message as it is.
func (t *topics) in(ctx context.Context, a *ask.Ask, at *place, r responder.Rank, send func(*place) error) error {
	of := fmt.Sprintf("%d/%s/%s", at.Chat, a.Tenant, a.Session)
	for range 3 { // the topic that this replica remembers, the one that another made since, and a new one
		id, err := t.of(ctx, of, a, *at, r)
		if err != nil {
			return err
		}
		at.Topic = id
		err = send(at)
		if id == 0 || !topicGone(err) {
			return err
		}
		if err := t.forget(ctx, of, id); err != nil {
			return err
		}
	}
	at.Topic = 0
	return send(at)
}

// topicGone reports errors for topics in which nobody can write any more.
func topicGone(err error) bool {
	if !errors.Is(err, bot.ErrorBadRequest) {
		return false
	}
	words := err.Error()
	return strings.Contains(words, "message thread not found") || strings.Contains(words, "TOPIC_CLOSED") || strings.Contains(words, "TOPIC_DELETED")
}

func (t *topics) key(of string) state.Key {
	sum := sha256.Sum256([]byte("askbus-telegram-topic\x00" + of))
	return state.Key{Tenant: t.bucket.Tenant(), Name: t.s.Type + "." + base64.RawURLEncoding.EncodeToString(sum[:18])}
}

// of returns the topic of a session; 0: the chat has none. While another replica makes it, the error is a
// [*responder.LaterError].
func (t *topics) of(ctx context.Context, of string, a *ask.Ask, at place, r responder.Rank) (int, error) {
	if id, ok := t.cache.Get(of); ok || t.bucket == nil {
		return id, nil
	}
	k := t.key(of)
	e, err := t.bucket.Get(ctx, k)
	if err != nil && !errors.Is(err, ask.ErrNotFound) {
		return 0, &responder.LaterError{After: makingAgain, Err: err}
	}
	if err == nil {
		var there topic
		if err := json.Unmarshal(e.Value, &there); err != nil || there.ID == 0 {
			return 0, &responder.LaterError{After: makingAgain, Err: errors.New("another replica is making the topic")}
		}
		t.cache.Add(of, there.ID)
		return there.ID, nil
	}
	mine, err := t.bucket.Create(ctx, k, topic{}, makingLife)
	if err != nil {
		return 0, &responder.LaterError{After: makingAgain, Err: err}
	}
	id, err := t.s.api.createTopic(ctx, at, r, topicName(a))
	switch {
	case errors.Is(err, bot.ErrorBadRequest), errors.Is(err, bot.ErrorForbidden):
		t.s.Log.WarnContext(ctx, "cannot make a topic; is the chat a forum, and may the bot manage topics?", slog.String("error", err.Error()))
		return 0, t.bucket.DeleteRevision(ctx, k, mine)
	case err != nil:
		return 0, errors.Join(err, t.bucket.DeleteRevision(ctx, k, mine))
	}
	if _, err := t.bucket.Update(ctx, k, topic{id}, mine, topicLife); err != nil {
		return 0, &responder.LaterError{After: makingAgain, Err: err}
	}
	t.cache.Add(of, id)
	return id, nil
}

// forget drops a topic, unless another replica has replaced it by now.
func (t *topics) forget(ctx context.Context, of string, id int) error {
	t.cache.Remove(of)
	e, err := t.bucket.Get(ctx, t.key(of))
	var there topic
	if err == nil && json.Unmarshal(e.Value, &there) == nil && there.ID == id {
		err = t.bucket.DeleteRevision(ctx, t.key(of), e.Revision)
	}
	if err != nil && !errors.Is(err, ask.ErrNotFound) && !errors.Is(err, ask.ErrConflict) {
		return &responder.LaterError{After: makingAgain, Err: err}
	}
	return nil
}

// topicName returns the name of a session's topic: "Claude Code · s1".
func topicName(a *ask.Ask) string {
	name := a.Session
	if agent := ask.CleanLine(a.Agent.Name); agent != "" {
		name = agent + " · " + name
	}
	return ask.Clip(name, maxTopic)
}

// createTopic makes a topic of a forum.
func (a *api) createTopic(ctx context.Context, at place, r responder.Rank, name string) (id int, err error) {
	err = a.call(ctx, at, r, func(ctx context.Context) error {
		t, err := a.bot.CreateForumTopic(ctx, &bot.CreateForumTopicParams{ChatID: at.Chat, Name: name})
		if err == nil {
			id = t.MessageThreadID
		}
		return err
	})
	return id, err
}
