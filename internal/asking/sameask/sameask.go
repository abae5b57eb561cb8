// Package sameask decides whether an ask is the same as an earlier one of its session, for every
// entrance through which agents ask: HTTP, WebSocket, MCP, the hook and ACP.
//
//   - An id from the client itself (id, ask_id, Idempotency-Key) is its promise and names the ask.
//   - An id that a model or a host gave a call names the ask together with the session, the host's run
//     and the content. It never fails with [ask.ErrIDReused].
//   - Any other ask is the same as an identical one while that is open, or for two minutes after a person
//     answered it, unless its outcome was delivered ([Delivered]). The broker decides this, by its own
//     clock and for all entrances.
//   - A permission is the same only for the same call; without a call's id it is always a new ask.
//
// In doubt people are asked again: an old answer must never become the answer to a new question. The
// reasons are in ADR 0095.
package sameask

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"strings"
	"time"

	"github.com/askbus/askbus/internal/protocol/cloudevent"
	"github.com/askbus/askbus/internal/protocol/wire"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/client"
	"github.com/askbus/askbus/pkg/dialect"
)

// Session is the part of [client.Session] that this package uses.
type Session interface {
	Ask(ctx context.Context, a ask.Ask) (client.Asked, error)
	AskToWait(ctx context.Context, a ask.Ask) (client.Asked, error)
	Repeat(ctx context.Context, r client.Repeat) (id string, err error)
	Delivered(ctx context.Context, id string) error
}

// Origin is what an entrance knows of an ask beyond its content. The zero value is that of a question
// without any id.
type Origin struct {
	Call       string   // the id that a model or a host gave the call
	Run        string   // the run of the host in which Call is unique; empty: unknown
	Place      []string // what must agree besides the content, such as working directory and subagent
	Permission bool     // the ask permits one call
	Once       bool     // the entrance never repeats a request, so every ask is a new one
	Dialog     bool     // the host asks the same again without Call, from its own dialog
	Waits      bool     // the entrance is going to wait: [client.Asked.Wait] then sends no request
	// Sign is called when the id is known, before the ask is sent.
	Sign func(*ask.Ask)
}

// Upload uploads the files that an ask refers to, before it is sent. Repeating it is harmless.
func Upload(ctx context.Context, s client.Session, files []dialect.Upload) error {
	for _, f := range files {
		if _, err := s.Upload(ctx, f.Name, f.Data); err != nil {
			return err
		}
	}
	return nil
}

// TakeCall removes the id from an ask of a dialect if a model or a host gave it to the call, and returns
// it, or "" if the client named the ask itself or nobody did.
func TakeCall(a *ask.Ask) string {
	call, _ := a.Metadata[ask.MetadataCall].(string)
	if a.ID != "" && (call == "" || a.ID != ask.Token(call)) {
		return ""
	}
	a.ID = ""
	return call
}

// maxTries bounds how often an ask that ended between two requests is replaced by a new one.
const maxTries = 4

// Ask stores the ask in session s, or finds it there, and sets its id. The errors are those of
// [client.Session.Ask].
func Ask(ctx context.Context, s Session, a *ask.Ask, from Origin) (client.Asked, error) {
	send := func() (client.Asked, error) {
		if from.Sign != nil {
			from.Sign(a)
		}
		if from.Waits {
			return s.AskToWait(ctx, *a)
		}
		return s.Ask(ctx, *a)
	}
	if a.ID != "" {
		return send()
	}
	key, err := from.Key(a)
	if err != nil {
		return client.Asked{}, err
	}
	named := from.Call != "" && from.Run != ""
	if named && from.plain(a) {
		// The session is the run, so the call's own id names the ask unless it is another's.
		a.ID = ask.Token(from.Call)
		st, err := send()
		if err == nil && from.Dialog {
			_, err = s.Repeat(ctx, client.Repeat{Key: key, ID: a.ID, Replace: true, Timeout: timeout(a)})
		}
		if !errors.Is(err, ask.ErrIDReused) {
			return st, err
		}
		a.ID = ""
	}
	switch {
	case from.Once, from.Permission && from.Call == "":
		a.ID = cloudevent.NewID()
		return send()
	case named && !from.Dialog:
		a.ID = from.named("c-" + strings.TrimPrefix(key, wire.RepeatPrefix))
		return send()
	case named:
		a.ID = from.named(key)
	}
	asked := client.Repeat{Key: key, ID: a.ID, Replace: named, Timeout: timeout(a)}
	for range maxTries {
		if !named {
			asked.ID = key + "-" + cloudevent.NewID()
		}
		if a.ID, err = s.Repeat(ctx, asked); err != nil {
			return client.Asked{}, err
		}
		st, err := send()
		if err != nil || named || st.Outcome == nil || st.Outcome.Status == ask.StatusAnswered {
			return st, err
		}
	}
	a.ID = cloudevent.NewID()
	return send()
}

// plain reports whether the call's own id may name the ask: its session is the host's run.
func (from Origin) plain(a *ask.Ask) bool {
	return !from.Permission && a.Session == ask.Token(from.Run)
}

// Find returns the ids that the ask of a call may have, in the order in which to look for it.
func (from Origin) Find(a *ask.Ask) []string {
	key, err := from.Key(a)
	if err != nil || from.Call == "" || from.Run == "" {
		return nil
	}
	ids := []string{from.named(key)}
	if from.plain(a) {
		ids = append(ids, ask.Token(from.Call))
	}
	return ids
}

// Key returns the repeat key of an ask without an id: a hash of what makes two of them the same.
func (from Origin) Key(a *ask.Ask) (string, error) {
	digest, err := wire.Digest(a)
	if err != nil {
		return "", err
	}
	parts := append([]string{digest}, from.Place...)
	if from.Run == "" && !from.Dialog {
		parts = append(parts, from.Call)
	}
	return wire.RepeatPrefix + hash(wire.RepeatDigits, parts), nil
}

// named returns the id of a call of a known run, or "".
func (from Origin) named(prefix string) string {
	if from.Call == "" || from.Run == "" {
		return ""
	}
	return prefix + "-" + hash(wire.RepeatDigits, []string{from.Run, from.Call})
}

// Is reports whether id names an ask with this content and origin. Ids that come back from a client are
// checked with it.
func (from Origin) Is(a *ask.Ask, id string) bool {
	key, err := from.Key(a)
	of, ok := wire.RepeatKey(id)
	return err == nil && ok && of == key && ask.ValidToken(id)
}

// Same reports whether two asks of this origin have the same content.
func (from Origin) Same(a, b *ask.Ask) bool {
	one, err := from.Key(a)
	two, wrong := from.Key(b)
	return err == nil && wrong == nil && one == two
}

// Delivered records that the asker is about to get the outcome of an ask: the same ask is then a new one.
// It is called before the outcome is handed over, because the asker may ask again as soon as it has it.
// Asks that have an id from elsewhere need no record.
func Delivered(ctx context.Context, s Session, id string) error {
	if _, ok := wire.RepeatKey(id); !ok {
		return nil
	}
	return s.Delivered(ctx, id)
}

// Delivered is [Delivered] for an ask whose host may ask the same again in its dialog: what it then asks
// is new, also if the ask has the id of its call.
func (from Origin) Delivered(ctx context.Context, s Session, a *ask.Ask) error {
	if _, ok := wire.RepeatKey(a.ID); ok || !from.Dialog {
		return Delivered(ctx, s, a.ID)
	}
	key, err := from.Key(a)
	if err == nil {
		_, err = s.Repeat(ctx, client.Repeat{Key: key, ID: key + "-" + cloudevent.NewID(), Replace: true, Timeout: time.Second})
	}
	return err
}

// timeout returns for how long an ask can be open; 0: the longest.
func timeout(a *ask.Ask) time.Duration {
	if !a.Deadline.IsZero() {
		return max(time.Second, time.Until(a.Deadline))
	}
	return max(0, a.Timeout)
}

// hash returns so many hex digits of a hash of the parts.
func hash(digits int, parts []string) string {
	h := sha256.New()
	for _, part := range parts {
		sum := sha256.Sum256([]byte(part))
		h.Write(sum[:])
	}
	return hex.EncodeToString(h.Sum(nil))[:digits]
}
