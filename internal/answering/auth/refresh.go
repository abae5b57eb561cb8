package auth

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/askbus/askbus/internal/bus/state"
	"github.com/askbus/askbus/pkg/ask"
)

// retryAfter is how long a replica that refreshes a session has it for itself,
// and the delay after a failed refresh.
const retryAfter = time.Minute

// skew is how far the provider's clock may be behind.
const skew = time.Minute

// refresh asks the provider of a session again. It first claims the session: at
// many providers a refresh token that is used twice ends the session.
func (s *Sessions) refresh(ctx context.Context, k state.Key, r record, revision uint64, now time.Time, active bool) {
	log := s.opts.Logger.With(slog.String("principal", r.Principal))
	token, err := unseal(s.opts.Key, r.Token)
	if err != nil { // the key was changed
		log.Warn("cannot decrypt a session's token; the session ends", slog.Any("error", err))
		s.drop(ctx, k)
		return
	}
	if active {
		r.Seen = now.UTC()
	}
	r.Check = now.Add(min(s.opts.Every, retryAfter)).UTC()
	if revision, err = s.bucket.Update(ctx, k, r, revision, r.ttl(now, s.opts.Idle)); err != nil {
		if !errors.Is(err, ask.ErrConflict) {
			log.Warn("cannot refresh a session", slog.Any("error", err))
		}
		return
	}
	got, err := s.opts.Refresh(ctx, token)
	switch {
	case errors.Is(err, ask.ErrForbidden):
		log.Info("the provider ended a session", slog.Any("error", err))
		s.drop(ctx, k)
		if err := errors.Join(endPushes(ctx, s.push, r.Principal), revokeVotes(ctx, s.revoked, s.opts.Tenant, r.Principal)); err != nil {
			log.Error("cannot end the votes and notifications of a person whom the provider ended", slog.Any("error", err))
		}
		return
	case err == nil && got.By.Principal != r.Principal:
		log.Warn("the provider returned another person for a session; it ends")
		s.drop(ctx, k)
		return
	case err != nil:
		log.Warn("cannot refresh a session at the provider; trying again", slog.Any("error", err))
		return
	}
	r.Name, r.Groups, r.Access, r.Check = got.By.Name, got.By.Groups, got.Access, now.Add(s.opts.Every).UTC()
	if got.Token != "" {
		if r.Token, err = seal(s.opts.Key, got.Token); err != nil {
			log.Warn("cannot encrypt a session's token", slog.Any("error", err))
			return
		}
	}
	s.keep(ctx, k, r, revision, now)
}

// keep stores the provider's reply. The old refresh token may be used up, so if
// the session was renewed meanwhile it is read and written again.
func (s *Sessions) keep(ctx context.Context, k state.Key, r record, revision uint64, now time.Time) {
	for range 5 {
		_, err := s.bucket.Update(ctx, k, r, revision, r.ttl(now, s.opts.Idle))
		if err == nil {
			return
		}
		var e state.Entry
		if errors.Is(err, ask.ErrConflict) {
			e, err = s.bucket.Get(ctx, k)
		}
		var meanwhile record
		if err == nil {
			err = json.Unmarshal(e.Value, &meanwhile)
		}
		if err != nil {
			if !errors.Is(err, ask.ErrNotFound) { // it was ended
				s.opts.Logger.Warn("cannot store the provider's reply about a session", slog.Any("error", err))
			}
			return
		}
		r.Seen, revision = meanwhile.Seen, e.Revision
	}
}

// drop ends a session; the session's next request retries a failure.
func (s *Sessions) drop(ctx context.Context, k state.Key) {
	if err := s.bucket.Delete(ctx, k); err != nil && !errors.Is(err, ask.ErrNotFound) {
		s.opts.Logger.Error("cannot end a session", slog.Any("error", err))
	}
}

// EndOf ends the sessions that a provider names: one session, or all of a
// subject. It returns how many. Sessions that began after the message was
// issued stay, so that a repeated message is harmless.
func (s *Sessions) EndOf(ctx context.Context, out Logout) (int, error) {
	subject, session := out.Subject, out.Session
	if subject == "" && session == "" {
		return 0, errors.New("the logout has no subject and no session")
	}
	all, err := s.bucket.List(ctx)
	if err != nil {
		return 0, err
	}
	var ended []string
	for i := range all {
		var r record
		if err := json.Unmarshal(all[i].Value, &r); err != nil || r.Subject == "" || r.Issuer != out.Issuer {
			continue
		}
		if subject != "" && r.Subject != subject || session != "" && r.Provider != session || r.Created.After(out.Issued.Add(skew)) {
			continue
		}
		if err := s.bucket.Delete(ctx, all[i].Key); err != nil && !errors.Is(err, ask.ErrNotFound) {
			return len(ended), err
		}
		ended = append(ended, all[i].Key.Name)
	}
	return len(ended), endPushes(ctx, s.push, ended...)
}

// seal encrypts a token for shared state, which operators and copies of the
// store can read.
func seal(key []byte, token string) (string, error) {
	box, err := box(key)
	if err != nil {
		return "", err
	}
	return base64.RawURLEncoding.EncodeToString(box.Seal(nil, nil, []byte(token), nil)), nil //nolint:gosec // it makes a random nonce of its own
}

func unseal(key []byte, sealed string) (string, error) {
	box, err := box(key)
	if err != nil {
		return "", err
	}
	data, err := base64.RawURLEncoding.DecodeString(sealed)
	if err != nil {
		return "", err
	}
	token, err := box.Open(nil, nil, data, nil)
	return string(token), err
}

func box(key []byte) (cipher.AEAD, error) {
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, fmt.Errorf("seal a token: %w", err)
	}
	return cipher.NewGCMWithRandomNonce(block)
}
