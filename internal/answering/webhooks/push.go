package webhooks

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"

	"github.com/askbus/askbus/internal/bus/state"
	"github.com/askbus/askbus/internal/process/webhook"
	"github.com/askbus/askbus/internal/protocol/wire"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/dialect"
)

// a2a is the dialect of asks whose tasks may have pushes.
const a2a = "a2a"

// pushes returns what A2A clients want to be sent of an outcome, and what to call once each of it is
// sent or stored.
func (a *App) pushes(ctx context.Context, rec *ask.Record) (all []delivery, done func(), err error) {
	done = func() {}
	if rec.Outcome == nil || dialect.AskedIn(&rec.Ask) != a2a {
		return nil, done, nil
	}
	k := rec.Ask.Key()
	e, err := a.chosen.Get(ctx, state.TaskPushesKey(k))
	if errors.Is(err, ask.ErrNotFound) {
		return nil, done, nil
	}
	var held wire.TaskPushes
	if err != nil || json.Unmarshal(e.Value, &held) != nil || held.Life != rec.Life {
		return nil, done, err
	}
	for _, p := range held.Configs {
		all = append(all, delivery{Kind: push, Name: p.Callback, Tenant: k.Tenant, Session: k.Session, ID: k.ID, Life: rec.Life, Config: p.ID, Token: p.Token, V03: p.V03})
	}
	return all, func() {
		if err := a.chosen.DeleteRevision(ctx, e.Key, e.Revision); err != nil && !errors.Is(err, ask.ErrConflict) {
			a.log.InfoContext(ctx, "cannot delete what is delivered; it expires", slog.String("ask_id", k.ID), slog.Any("error", err))
		}
	}, nil
}

// header returns what A2A clients expect of a push.
func (d *delivery) header() http.Header {
	h := http.Header{}
	if d.Kind == push && d.Token != "" {
		h.Set("X-A2A-Notification-Token", d.Token)
	}
	if d.Kind == push && !d.V03 {
		h.Set("Content-Type", "application/a2a+json")
	}
	return h
}

// task returns the body of a push: a task, which version 1.0 wraps. One that would be too large has
// its state only.
func (a *App) task(d *delivery, e *Entry, rec *ask.Record) ([]byte, error) {
	whole := dialect.A2ATask(&rec.Ask, rec.Outcome, "", func(f *ask.File) ([]byte, string) { return nil, a.fileOfOutcome(d, e, f) })
	body, err := d.wrap(whole)
	if err != nil || len(body) <= webhook.MaxPayload {
		return body, err
	}
	var bare struct {
		ID      string `json:"id"`
		Context string `json:"contextId"`
		Status  struct {
			State     string `json:"state"`
			Timestamp string `json:"timestamp,omitempty"`
		} `json:"status"`
	}
	if err := json.Unmarshal(whole, &bare); err != nil {
		return nil, err
	}
	if whole, err = wire.Marshal(bare); err != nil {
		return nil, err
	}
	return d.wrap(whole)
}

func (d *delivery) wrap(task []byte) ([]byte, error) {
	if d.V03 {
		return dialect.A2AVersion03(task)
	}
	return wire.Marshal(map[string]json.RawMessage{"task": task})
}
