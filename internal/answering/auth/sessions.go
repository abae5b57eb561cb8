package auth

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sort"
	"sync"
	"time"

	"github.com/askbus/askbus/internal/bus/state"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/nats-io/nats.go"
)

// Defaults of [Options].
const (
	defaultIdle = 72 * time.Hour
	defaultLife = 720 * time.Hour
	maxLife     = 720 * time.Hour

	defaultEvery = 10 * time.Minute

	maxSessions = 50 // of one person
)

// Options tunes [Sessions]. The zero value is ready to use.
type Options struct {
	Idle   time.Duration // a session ends after this long without activity; default 72h
	Life   time.Duration // and after this long at the latest; default and maximum: 720h
	Tenant string        // to which the credential is restricted, if any

	// Refresh asks the provider of a session whether its person may stay signed
	// in, with the refresh token. The error is [ask.ErrForbidden] if not: the
	// session ends. Other errors are retried. Nil: no refresh.
	Refresh func(ctx context.Context, token string) (Refreshed, error)
	Issuer  string        // the provider that Refresh asks; sessions of others are left to their inboxes
	Every   time.Duration // between refreshes; default 10m
	Key     []byte        // encrypts the tokens in shared state, 32 bytes; required with Refresh

	Now    func() time.Time
	Logger *slog.Logger // default: discard

	Cache state.CacheOptions // Now and Logger are filled in
}

func (o *Options) fill() error {
	o.Idle = cmp.Or(o.Idle, defaultIdle)
	o.Life = cmp.Or(o.Life, defaultLife)
	if o.Idle < time.Minute || o.Life < time.Minute || o.Life > maxLife {
		return fmt.Errorf("sign-in sessions: idle %s, life %s; use at least 1m, and a life of at most %s", o.Idle, o.Life, maxLife)
	}
	o.Idle = min(o.Idle, o.Life)
	o.Every = cmp.Or(o.Every, defaultEvery)
	if o.Every < time.Second {
		return fmt.Errorf("sign-in sessions: refresh every %s; use at least 1s", o.Every)
	}
	if o.Refresh != nil && len(o.Key) != 32 {
		return fmt.Errorf("sign-in sessions: the key for tokens has %d bytes; give 32", len(o.Key))
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	o.Cache.Now, o.Cache.Logger = o.Now, o.Logger
	return nil
}

// Sessions are the sign-in sessions of people, with the credential of the web
// inbox. Use it while Run runs. It is safe for concurrent use.
type Sessions struct {
	bucket, links, revoked, push *state.Bucket

	cache *state.Cache
	opts  Options

	renewing sync.WaitGroup
	slots    chan struct{} // running renewals
	mu       sync.Mutex
	busy     map[state.Key]struct{}
	done     bool
}

// NewSessions makes Sessions over a connection of the web inbox. It sends
// nothing.
func NewSessions(nc *nats.Conn, opts Options) (*Sessions, error) {
	if err := opts.fill(); err != nil {
		return nil, err
	}
	role := state.Responder("web", opts.Tenant)
	bucket := state.Open(nc, role, state.Sessions)
	return &Sessions{
		bucket: bucket, links: state.Open(nc, role, state.LoginLinks), revoked: state.Open(nc, role, state.Revoked), push: state.Open(nc, role, state.Push), cache: state.NewCache(bucket, opts.Cache), opts: opts,
		slots: make(chan struct{}, 8), busy: map[state.Key]struct{}{},
	}, nil
}

// Run follows the sessions until ctx ends.
func (s *Sessions) Run(ctx context.Context) error {
	err := s.cache.Run(ctx)
	s.mu.Lock()
	s.done = true
	s.mu.Unlock()
	s.renewing.Wait()
	return err
}

// Ready returns an error until it can be said who is signed in.
func (s *Sessions) Ready() error {
	if !s.cache.Read() {
		return errors.New("the sign-ins have not been read yet")
	}
	return nil
}

// SessionEntry returns the name of a session's entry: the hash of its id, so
// that a list of sessions reveals no id.
func SessionEntry(id string) string {
	sum := sha256.Sum256([]byte("askbus session\x00" + id))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}

func (s *Sessions) key(id string) state.Key {
	return state.Key{Tenant: s.opts.Tenant, Name: SessionEntry(id)}
}

// Begin signs a person in and returns the secret id of the session.
func (s *Sessions) Begin(ctx context.Context, in SignIn) (id string, err error) {
	s.makeRoom(ctx, in.By.Principal)
	id = rand.Text() + rand.Text()
	now := s.opts.Now().UTC()
	r := record{
		Principal: in.By.Principal, Name: in.By.Name, Groups: in.By.Groups, Proof: in.By.Proof, Access: in.Access,
		Client: fmt.Sprintf("%.200s", in.Client), Created: now, Seen: now, Until: now.Add(s.opts.Life),
		Issuer: in.Issuer, Subject: in.Subject, Provider: in.Session,
	}
	if !in.Until.IsZero() && in.Until.Before(r.Until) {
		r.Until = in.Until.UTC()
	}
	if in.Token != "" && s.opts.Refresh != nil {
		if r.Token, err = seal(s.opts.Key, in.Token); err != nil {
			return "", fmt.Errorf("sign in: %w", err)
		}
		r.Check = now.Add(s.opts.Every)
	}
	if _, err := s.bucket.Create(ctx, s.key(id), r, r.ttl(now, s.opts.Idle)); err != nil {
		return "", fmt.Errorf("sign in: %w", err)
	}
	return id, nil
}

// makeRoom ends the least recently active sessions of a person who has
// [maxSessions]: there is a limited number for everybody, and one person may
// not use it up.
func (s *Sessions) makeRoom(ctx context.Context, principal string) {
	all, err := s.cache.All()
	if err != nil {
		return // the sign-in itself tells
	}
	type session struct {
		key  state.Key
		seen time.Time
	}
	var own []session
	for i := range all {
		var r record
		if json.Unmarshal(all[i].Value, &r) == nil && r.Principal == principal && r.Parent == "" {
			own = append(own, session{all[i].Key, r.Seen})
		}
	}
	if len(own) < maxSessions {
		return
	}
	sort.Slice(own, func(i, j int) bool { return own[i].seen.Before(own[j].seen) })
	for _, o := range own[:len(own)-maxSessions+1] {
		s.drop(ctx, o.key)
		s.endTerminals(ctx, o.key.Name)
	}
}

// Find returns the person of a session. active means that the person is doing
// something, so that the session does not become idle. The error is
// [ask.ErrNotFound] if the session has ended, and [ask.ErrUnavailable] if that
// is unknown.
func (s *Sessions) Find(ctx context.Context, id string, active bool) (Person, error) {
	r, err := s.find(ctx, s.key(id), active)
	return r.person(), err
}

// find is Find by an entry's key. The zero record means nobody.
func (s *Sessions) find(ctx context.Context, k state.Key, active bool) (record, error) {
	r, revision, err := lookUp(ctx, s.cache, k)
	if err != nil {
		return record{}, err
	}
	now := s.opts.Now()
	if r.Principal == "" || !now.Before(r.end(s.opts.Life)) || !now.Before(r.Seen.Add(s.opts.Idle)) {
		return record{}, ask.Refuse(ask.CodeNotFound, "this session has ended")
	}
	switch {
	case r.Token != "" && s.opts.Refresh != nil && r.Issuer == s.opts.Issuer && !now.Before(r.Check):
		s.behind(k, func(ctx context.Context) { s.refresh(ctx, k, r, revision, now, active) }) //nolint:contextcheck // outlives the request
	case active && now.Sub(r.Seen) >= min(s.opts.Idle/20, 5*time.Minute):
		s.behind(k, func(ctx context.Context) { s.renew(ctx, k, r, revision, now) }) //nolint:contextcheck // outlives the request
	}
	return r, nil
}

// lookUp reads an entry.
func lookUp(ctx context.Context, cache *state.Cache, k state.Key) (r record, revision uint64, err error) {
	e, err := cache.Lookup(ctx, k)
	if err != nil {
		return record{}, 0, err
	}
	if err := json.Unmarshal(e.Value, &r); err != nil {
		return record{}, 0, fmt.Errorf("session %s: %w", k.Name, err)
	}
	return r, e.Revision, nil
}

// behind runs do for a session asynchronously, one at a time. After a failure a
// later request retries.
func (s *Sessions) behind(k state.Key, do func(ctx context.Context)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, busy := s.busy[k]; busy || s.done {
		return
	}
	select {
	case s.slots <- struct{}{}:
	default:
		return
	}
	s.busy[k] = struct{}{}
	s.renewing.Go(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		do(ctx)
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.busy, k)
		<-s.slots
	})
}

// renew records activity in a session.
func (s *Sessions) renew(ctx context.Context, k state.Key, r record, revision uint64, now time.Time) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	r.Seen = now.UTC()
	// With the revision, so that a session that was just ended stays ended.
	_, err := s.bucket.Update(ctx, k, r, revision, r.ttl(now, s.opts.Idle))
	if err != nil && !errors.Is(err, ask.ErrConflict) {
		s.opts.Logger.Warn("cannot renew a session", slog.Any("error", err))
	}
}

// End signs a session out, at every replica, and the terminals that it
// admitted.
func (s *Sessions) End(ctx context.Context, id string) error {
	k := s.key(id)
	if err := s.bucket.Delete(ctx, k); err != nil {
		return err
	}
	s.endTerminals(ctx, k.Name)
	return nil
}

// Watch closes ended when a session must be looked up again: it has ended, or
// may have. stop must be called.
func (s *Sessions) Watch(id string) (ended <-chan struct{}, stop func()) {
	ch := make(chan struct{})
	return ch, s.cache.OnEnd(s.key(id), func(state.Ending) { close(ch) })
}

// UseOnce reports whether a login link is used for the first time, at any
// replica and even after a restart. id is a token that identifies it; until is
// when it expires.
func (s *Sessions) UseOnce(ctx context.Context, id string, until time.Time) (first bool, err error) {
	ttl := max(time.Minute, until.Sub(s.opts.Now())+time.Minute) // clocks differ
	_, err = s.links.Create(ctx, state.Key{Tenant: s.opts.Tenant, Name: id}, struct{}{}, ttl)
	if errors.Is(err, ask.ErrConflict) {
		return false, nil
	}
	return err == nil, err
}
