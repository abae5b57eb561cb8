package teams

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"log/slog"
	"time"

	"github.com/askbus/askbus/internal/bus/state"
	"github.com/askbus/askbus/pkg/ask"
	lru "github.com/hashicorp/golang-lru/v2"
)

// reference is where Teams said that the app may write: to a person, by their object id, or to a chat, a channel or a
// team, by its id.
type reference struct {
	Service      string    `json:"service_url"`
	Conversation string    `json:"conversation"`
	Name         string    `json:"name,omitempty"` // of the person
	Seen         time.Time `json:"seen"`
}

// references are those that all replicas share.
type references struct {
	typ    string                        // responder type
	bucket *state.Bucket                 // nil: of this process only, as in a doctor
	cache  *lru.Cache[string, reference] // stored by this process
	now    func() time.Time
	log    *slog.Logger
}

// Lifetimes of references.
const (
	referenceLife  = 400 * 24 * time.Hour
	referenceFresh = 30 * 24 * time.Hour // older ones are written again
)

var errUnknownPerson = errors.New("this person has not added the app in Teams")

func (r *references) key(of string) state.Key {
	sum := sha256.Sum256([]byte("askbus-teams\x00" + of))
	return state.Key{Tenant: r.bucket.Tenant(), Name: r.typ + "." + base64.RawURLEncoding.EncodeToString(sum[:18])}
}

// note stores a reference. One that this process stored recently is stored again only if there is news: without it, no
// other process has deleted it.
func (r *references) note(ctx context.Context, of string, ref reference, news bool) {
	ref.Seen = r.now()
	old, ok := r.cache.Get(of)
	if ok && !news && old.Service == ref.Service && old.Conversation == ref.Conversation && old.Name == ref.Name && ref.Seen.Sub(old.Seen) < referenceFresh {
		return
	}
	if r.bucket != nil {
		if _, err := r.bucket.Put(ctx, r.key(of), ref, referenceLife); err != nil {
			r.log.WarnContext(ctx, "cannot store where to write to in Teams", slog.String("error", err.Error()))
			return
		}
	}
	r.cache.Add(of, ref)
}

// forget drops a reference.
func (r *references) forget(ctx context.Context, of string) {
	r.cache.Remove(of)
	if r.bucket == nil {
		return
	}
	if err := r.bucket.Delete(ctx, r.key(of)); err != nil && !errors.Is(err, ask.ErrNotFound) {
		r.log.WarnContext(ctx, "cannot forget where to write to in Teams", slog.String("error", err.Error()))
	}
}

// find returns a reference; ok is false if Teams never named one.
func (r *references) find(ctx context.Context, of string) (ref reference, ok bool, err error) {
	if r.bucket == nil {
		ref, ok = r.cache.Get(of)
		return ref, ok, nil
	}
	e, err := r.bucket.Get(ctx, r.key(of))
	switch {
	case errors.Is(err, ask.ErrNotFound):
		return ref, false, nil
	case err != nil:
		return ref, false, err
	case !e.Live(r.now()):
		return ref, false, nil
	}
	err = json.Unmarshal(e.Value, &ref)
	return ref, err == nil, err
}
