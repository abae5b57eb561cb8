package push

import (
	"context"
	"crypto/ecdh"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"reflect"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/askbus/askbus/internal/answering/auth"
	"github.com/askbus/askbus/internal/bus/state"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/nats-io/nats.go"
)

// Limits of subscriptions.
const (
	perPerson = 20                  // beyond, the oldest is dropped
	life      = 30 * 24 * time.Hour // the maximum of a sign-in; the page renews it
	lifeThere = 7 * 24 * time.Hour  // of somebody whom a provider or a proxy signs in: it tells nobody of a lock-out while the page is closed
)

// lifeOf returns how long a subscription of this person lasts.
func lifeOf(by ask.By) time.Duration {
	if by.Proof == ask.ProofOIDC || by.Proof == ask.ProofProxy {
		return lifeThere
	}
	return life
}

// Subscription is a subscribed browser. Its JSON is the browser's PushSubscription plus our fields.
type Subscription struct {
	Endpoint string `json:"endpoint"`
	Keys     struct {
		P256dh string `json:"p256dh"`
		Auth   string `json:"auth"`
	} `json:"keys"`
}

// record is a subscription in shared state.
type record struct {
	Subscription
	Principal string     `json:"principal"`
	Name      string     `json:"name,omitempty"`
	Groups    []string   `json:"groups,omitempty"`
	Proof     string     `json:"proof,omitempty"`
	Access    ask.Access `json:"access"`             // null: everything
	Language  string     `json:"language,omitempty"` // language tag of its notices
	Session   string     `json:"session"`            // the name of its entry: signing out ends the subscription
	Created   time.Time  `json:"created"`
}

func (r *record) by() ask.By {
	return ask.By{Principal: r.Principal, Name: r.Name, Groups: r.Groups, Proof: r.Proof}
}

// Hosts are the allowed push services. A subscription comes from a browser, and any signed-in
// person could put any host into it.
func Hosts() []string {
	return []string{"fcm.googleapis.com", "updates.push.services.mozilla.com", "*.notify.windows.com", "web.push.apple.com"}
}

// check validates a subscription.
// maxEndpoint is the maximum length of an endpoint's URL.
const maxEndpoint = 1024

func (s *Subscription) check(hosts []string) error {
	u, err := url.Parse(s.Endpoint)
	if err != nil || u.Scheme != "https" || u.User != nil || len(s.Endpoint) > maxEndpoint {
		return fault("endpoint", ask.FaultBadEndpoint, maxEndpoint)
	}
	known := func(pattern string) bool {
		suffix, wild := strings.CutPrefix(pattern, "*")
		return u.Host == pattern || wild && strings.HasSuffix(u.Host, suffix) && !strings.Contains(u.Host, ":")
	}
	if !slices.ContainsFunc(hosts, known) {
		return fault("endpoint", ask.FaultUnknownPush, ask.Clip(u.Host, 100))
	}
	point, err := decode(s.Keys.P256dh)
	if err == nil {
		_, err = ecdh.P256().NewPublicKey(point)
	}
	if err != nil {
		return fault("keys/p256dh", ask.FaultBadPushKey, "p256_key")
	}
	if auth, err := decode(s.Keys.Auth); err != nil || len(auth) != 16 {
		return fault("keys/auth", ask.FaultBadPushKey, "push_secret")
	}
	return nil
}

func decode(s string) ([]byte, error) {
	return base64.RawURLEncoding.DecodeString(strings.TrimRight(s, "="))
}

func fault(pointer string, code ask.FaultCode, args ...any) error {
	return ask.InvalidError("push subscription", []ask.Fault{ask.NewFault("/"+pointer, code, args...)})
}

// Store keeps the inbox's subscriptions. It is safe for concurrent use.
type Store struct {
	bucket *state.Bucket
	sender sender
	opts   Options
}

// NewStore makes a store on a connection of the web inbox. It sends nothing, except for [Store.Test].
func NewStore(nc *nats.Conn, keys Keys, opts Options) *Store {
	opts = opts.withDefaults()
	return &Store{state.Open(nc, state.Responder("web", opts.Tenant), state.Push), sender{keys, opts}, opts}
}

// PublicKey returns the key with which browsers subscribe.
func (s *Store) PublicKey() string { return s.sender.keys.Public }

// nameOf returns the name of a subscription's entry: a hash, so that the name is a token and not an
// address.
func nameOf(endpoint string) string { return hash("askbus push\x00" + endpoint) }

func hash(s string) string {
	sum := sha256.Sum256([]byte(s))
	return base64.RawURLEncoding.EncodeToString(sum[:18])
}

// Subscribe stores a browser's subscription for 30 days, or 7 if the person is signed in elsewhere. Repeating an
// endpoint renews it. A person has at most 20: beyond, the oldest is dropped.
func (s *Store) Subscribe(ctx context.Context, by ask.By, access ask.Access, language, session string, body []byte) error {
	var sub Subscription
	if err := json.Unmarshal(body, &sub); err != nil {
		return fault("", ask.FaultNotSubscription)
	}
	if err := sub.check(s.opts.Hosts); err != nil {
		return err
	}
	now, name := time.Now().UTC(), nameOf(sub.Endpoint)
	r := record{sub, by.Principal, by.Name, by.Groups, by.Proof, access, language, auth.SessionEntry(session), now}
	if s.kept(ctx, name, r) {
		return nil
	}
	all, err := s.bucket.List(ctx)
	if err != nil {
		return fmt.Errorf("subscribe: %w", err)
	}
	var mine []entry
	for _, e := range read(all, now) {
		switch {
		case e.key.Name == name && e.Principal == by.Principal:
			r.Created = e.Created // what it rang for stays
		case e.key.Name != name && e.Principal == by.Principal:
			mine = append(mine, e)
		}
	}
	sort.Slice(mine, func(i, j int) bool { return mine[i].Created.Before(mine[j].Created) })
	for len(mine) >= perPerson {
		if err := s.bucket.Delete(ctx, mine[0].key); err != nil {
			return fmt.Errorf("subscribe: %w", err)
		}
		mine = mine[1:]
	}
	if _, err := s.bucket.Put(ctx, state.Key{Tenant: s.bucket.Tenant(), Name: name}, r, lifeOf(by)); err != nil {
		return fmt.Errorf("subscribe: %w", err)
	}
	return nil
}

// kept reports whether a subscription is stored as it is, and was renewed within the last day: each load of a page subscribes.
func (s *Store) kept(ctx context.Context, name string, r record) bool {
	e, err := s.bucket.Get(ctx, state.Key{Tenant: s.bucket.Tenant(), Name: name})
	var was record
	if err != nil || json.Unmarshal(e.Value, &was) != nil || e.Expires.Sub(r.Created) < lifeOf(r.by())-24*time.Hour {
		return false
	}
	r.Created = was.Created
	return reflect.DeepEqual(r, was)
}

// Unsubscribe deletes a subscription of this person.
func (s *Store) Unsubscribe(ctx context.Context, by ask.By, endpoint string) error {
	return s.drop(ctx, func(e *entry) bool { return e.key.Name == nameOf(endpoint) && e.Principal == by.Principal })
}

// keepTest is how long a push service keeps a test for a browser that is away: nobody waits longer.
const keepTest = time.Minute

// Test sends a message to one of this person's subscriptions, as an ask would be. The error is
// [ask.ErrNotFound] if there is none, or its push service has dropped it.
func (s *Store) Test(ctx context.Context, by ask.By, endpoint string, payload []byte) error {
	all, err := s.bucket.List(ctx)
	if err != nil {
		return fmt.Errorf("send a test: %w", err)
	}
	for _, e := range read(all, time.Now()) {
		if e.key.Name != nameOf(endpoint) || e.Principal != by.Principal {
			continue
		}
		err := s.sender.send(ctx, &e.Subscription, message{payload: payload, keep: keepTest, urgent: true})
		if !errors.Is(err, errGone) {
			return err
		}
		if err := forget(ctx, s.bucket, &e); err != nil {
			return err
		}
	}
	return ask.Refuse(ask.CodeNotFound, "this browser has no subscription; turn notifications off and on again")
}

// SignedOut deletes the subscriptions of a sign-in session.
func (s *Store) SignedOut(ctx context.Context, session string) error {
	return s.drop(ctx, func(e *entry) bool { return e.Session == auth.SessionEntry(session) })
}

func (s *Store) drop(ctx context.Context, which func(*entry) bool) error {
	all, err := s.bucket.List(ctx)
	if err != nil {
		return fmt.Errorf("unsubscribe: %w", err)
	}
	for _, e := range read(all, time.Now()) {
		if which(&e) {
			if err := s.bucket.Delete(ctx, e.key); err != nil {
				return fmt.Errorf("unsubscribe: %w", err)
			}
		}
	}
	return nil
}

// entry is a subscription with its key.
type entry struct {
	record
	key      state.Key
	revision uint64
}

// read decodes the subscriptions of entries, in a fixed order.
func read(all []state.Entry, now time.Time) []entry {
	var entries []entry
	for i := range all {
		e := entry{key: all[i].Key, revision: all[i].Revision}
		if all[i].Live(now) && json.Unmarshal(all[i].Value, &e.record) == nil && e.Principal != "" {
			entries = append(entries, e)
		}
	}
	sort.Slice(entries, func(i, j int) bool { return entries[i].key.Name < entries[j].key.Name })
	return entries
}
