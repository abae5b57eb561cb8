package ledger

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/askbus/askbus/internal/protocol/subject"
	"github.com/nats-io/nats.go"
)

// tokenKey signs the tokens of work. A token is "<mac>.<ack subject>". A forged
// one is refused without asking the ledger, which would search for the consumer
// for seconds.
type tokenKey []byte

// macSize is the length of a token's 16-byte MAC in base64 without padding.
const macSize = 22

func (k tokenKey) mac(g Group, ack string) string {
	m := hmac.New(sha256.New, k)
	m.Write([]byte("askbus/work/v1\x00" + g.name() + "\x00" + ack))
	return base64.RawURLEncoding.EncodeToString(m.Sum(nil)[:16])
}

// make returns the token with which a group settles a message.
func (k tokenKey) make(g Group, ack string) string { return k.mac(g, ack) + "." + ack }

// open returns the ack subject of a token that make returned to the same group.
func (k tokenKey) open(g Group, token string) (ack string, ok bool) {
	mac, ack, _ := strings.Cut(token, ".")
	if k == nil || len(mac) != macSize || len(ack) > maxAck {
		return "", false
	}
	return ack, hmac.Equal([]byte(mac), []byte(k.mac(g, ack)))
}

// maxAck bounds an ack subject, in bytes: it consists of askbus's names and
// numbers.
const maxAck = 512

// tokenKeys reads the key once.
type tokenKeys struct {
	key atomic.Pointer[tokenKey]
	mu  sync.Mutex // held while the key is read
}

// tokenBucket is the bucket of the key in shared state. It is not one of
// [subject.Buckets], so no role may read, write or watch it.
const tokenBucket = "work-tokens"

// of returns the key that all brokers of a ledger share; nil if there is none
// and create is false. The first broker that hands out work creates it.
func (t *tokenKeys) of(ctx context.Context, l *Ledger, create bool) (tokenKey, error) {
	if k := t.key.Load(); k != nil {
		return *k, nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if k := t.key.Load(); k != nil {
		return *k, nil
	}
	k, err := readTokenKey(ctx, l, create)
	if err != nil {
		return nil, fmt.Errorf("ledger: the key of work tokens: %w", err)
	}
	if k != nil {
		t.key.Store(&k)
	}
	return k, nil
}

func readTokenKey(ctx context.Context, l *Ledger, create bool) (tokenKey, error) {
	at := subject.LedgerState(tokenBucket, subject.StateKey{Name: "key"})
	for {
		m, err := l.last(ctx, subject.StateStream, at)
		if err == nil && len(m.Data) == sha256.Size {
			return m.Data, nil
		}
		if err == nil {
			return nil, errors.New("the key is damaged")
		}
		if !errors.Is(err, errNone) {
			return nil, err
		}
		if err := l.confirmLeaderOf(ctx, subject.StateStream, &l.stateLed); err != nil {
			return nil, err
		}
		if !create {
			return nil, nil
		}
		made := nats.NewMsg(at)
		made.Data = make([]byte, sha256.Size)
		_, _ = rand.Read(made.Data) // never fails
		made.Header.Set(hdrExpectedSeq, "0")
		made.Header[hdrWrite] = []string{time.Now().UTC().Format(time.RFC3339)} // for a person who looks at it
		if _, err := l.publish(ctx, made); err != nil && !IsRace(err) {
			return nil, err
		}
	}
}
