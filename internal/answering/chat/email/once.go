package email

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
	"github.com/askbus/askbus/pkg/responder"
)

// mark notes a mail in shared state, by its Message-ID.
type mark struct {
	Sent bool `json:"sent"` // false: a replica is sending it
}

// Bounds of what is noted.
const (
	sendFor  = 2 * time.Minute // a replica that began longer ago to send a mail has died
	keepSent = 3 * 24 * time.Hour
	noteFor  = 10 * time.Second
)

// Kinds of notes in shared state.
const (
	notedMail   = "mail"
	notedStop   = "stop"
	notedBounce = "bounce"
)

var errSending = errors.New("another replica is sending this mail")

// noteKey returns the entry of a kind of note about something.
func noteKey(tenant, kind, about string) state.Key {
	sum := sha256.Sum256([]byte(about))
	return state.Key{Tenant: tenant, Name: kind + "." + base64.RawURLEncoding.EncodeToString(sum[:18])}
}

// once sends a mail with send, unless it was sent: whichever replica notes first that it is sending it. A mail that was
// given to the server by a process that died before it noted that is sent again, with the same Message-ID.
func (s *App) once(ctx context.Context, tenant, id string, send func() error) error {
	k := noteKey(tenant, notedMail, id)
	revision, err := s.sent.Create(ctx, k, mark{}, keepSent)
	if errors.Is(err, ask.ErrConflict) {
		e, readErr := s.sent.Get(ctx, k)
		if readErr != nil {
			return &responder.LaterError{After: time.Second, Err: readErr}
		}
		var m mark
		if err := json.Unmarshal(e.Value, &m); err == nil && m.Sent {
			return nil
		}
		if left := sendFor - time.Since(e.Written); left > 0 {
			return &responder.LaterError{After: left, Err: errSending}
		}
		revision, err = s.sent.Update(ctx, k, mark{}, e.Revision, keepSent)
	}
	if err != nil {
		return &responder.LaterError{After: 5 * time.Second, Err: err}
	}
	err = send()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), noteFor)
	defer cancel()
	if err != nil { // not sent, or nobody knows: it is tried again
		_ = s.sent.DeleteRevision(ctx, k, revision) // else the next try waits
		return err
	}
	if _, err := s.sent.Update(ctx, k, mark{Sent: true}, revision, keepSent); err != nil {
		s.Log.WarnContext(ctx, "a mail was sent, and that cannot be noted: it may be sent again, with the same Message-ID", slog.String("error", err.Error()))
	}
	return nil
}

// wasSent reports whether a mail was sent.
func (s *App) wasSent(ctx context.Context, tenant, id string) (bool, error) {
	e, err := s.sent.Get(ctx, noteKey(tenant, notedMail, id))
	if errors.Is(err, ask.ErrNotFound) {
		return false, nil
	}
	var m mark
	return err == nil && json.Unmarshal(e.Value, &m) == nil && m.Sent, err
}

// address is a note about an address.
type address struct {
	Address string    `json:"address"`
	Why     string    `json:"why,omitempty"` // what a server said
	At      time.Time `json:"at"`
}

// Lives of notes about addresses.
const (
	keepStop   = 399 * 24 * time.Hour
	keepBounce = 30 * 24 * time.Hour
)

// stop notes that an address wants no mail of a tenant, or takes that back.
func (s *App) stop(ctx context.Context, tenant, to string, none bool) error {
	k := noteKey(tenant, notedStop, to)
	if !none {
		return s.sent.Delete(ctx, k)
	}
	_, err := s.sent.Put(ctx, k, address{Address: to, At: s.Clock.Now().UTC()}, keepStop)
	return err
}

// stopped reports whether an address wants no mail of a tenant.
func (s *App) stopped(ctx context.Context, tenant, to string) (bool, error) {
	_, err := s.sent.Get(ctx, noteKey(tenant, notedStop, to))
	if errors.Is(err, ask.ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}

// signedOut reports whether a person's sign-ins were ended since a time: by an operator, or by an inbox of a tenant.
func (s *App) signedOut(ctx context.Context, tenant, who string, since time.Time) (bool, error) {
	for _, of := range []string{"", tenant} {
		if of == "" && s.tenant != "" {
			continue // out of reach: an operator of one tenant ends them in it
		}
		e, err := s.revoked.Get(ctx, state.RevokedKey(of, who))
		switch {
		case errors.Is(err, ask.ErrNotFound):
		case err != nil:
			return false, err
		case !since.After(e.Written):
			return true, nil
		}
	}
	return false, nil
}
