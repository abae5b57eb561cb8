// Package revocations tells every server of a bus, and its issuer, what the
// others have revoked, over the account that only they use (ADR 0187).
//
// Each follows a directory of keys of its own, and publishes a digest of its
// revocations every second. A peer that finds a digest different from its own
// publishes its list, and the others add what they lack. So a revocation made at
// one reaches all that run, and those that did not when they start, even with an
// old copy of the keys. Brokers without a directory listen, so that votes of
// revoked credentials do not count.
//
// It does not decide what a revocation does: the server closes connections when
// its directory changes. It promises that nothing revoked is ever taken back.
package revocations

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/askbus/askbus/internal/server/identity"
	"github.com/askbus/askbus/internal/server/rights"
	"github.com/nats-io/nats.go"
)

const (
	// Every is how often a peer says what it has.
	Every = time.Second

	// again is the least time between two lists that a peer sends because others
	// have a different digest.
	again = time.Second

	// perPage is how many revocations one message holds, of some 300 bytes each.
	perPage = 1000

	// maxHeard bounds what a peer without a directory holds: the revocations of
	// four accounts.
	maxHeard = 40_000

	digestSubject = rights.SubjectRevocations + ".digest"
	listSubject   = rights.SubjectRevocations + ".list"
)

// Peer follows and tells.
type Peer struct {
	nc    *nats.Conn
	every time.Duration
	log   *slog.Logger
	subs  []*nats.Subscription
	tell  chan struct{}
	stop  chan struct{}
	done  chan struct{}

	mu     sync.Mutex
	own    store
	mute   bool      // it has nothing that others lack
	said   string    // the digest of the list that was sent last
	listed time.Time // when it was sent
	failed string    // the last error that was logged
}

// store is where the revocations of a peer are: a directory of keys, or memory.
type store interface {
	// Read returns those that still count, sorted by key.
	Read(now time.Time) ([]identity.Issued, error)
	// Merge adds others, and returns how many are new.
	Merge(others []identity.Issued, now time.Time) (int, error)
}

// Follow starts a peer with a connection as [rights.RoleGuard] or
// [rights.RoleRevocations]. With every of 0 it speaks only when it is told to,
// or when others have something else than dir.
func Follow(nc *nats.Conn, dir string, every time.Duration, log *slog.Logger) (*Peer, error) {
	return start(&Peer{nc: nc, every: every, log: log, own: &identity.Revoked{Dir: dir}})
}

// Listen starts a peer that has no directory and learns what is revoked, with a
// connection as [rights.RoleClock].
func Listen(nc *nats.Conn, every time.Duration, log *slog.Logger) (*Peer, error) {
	return start(&Peer{nc: nc, every: every, log: log, own: &memory{}, mute: true})
}

func start(p *Peer) (*Peer, error) {
	p.tell, p.stop, p.done = make(chan struct{}, 1), make(chan struct{}), make(chan struct{})
	hears := map[string]nats.MsgHandler{listSubject: p.hearList}
	if !p.mute {
		hears[digestSubject] = p.hearDigest
	}
	for subject, hear := range hears {
		sub, err := p.nc.Subscribe(subject, hear)
		if err != nil {
			p.unsubscribe()
			return nil, fmt.Errorf("follow revocations: %w", err)
		}
		p.subs = append(p.subs, sub)
	}
	if err := p.nc.Flush(); err != nil {
		p.unsubscribe()
		return nil, fmt.Errorf("follow revocations: %w", err)
	}
	p.Tell()
	go p.run()
	return p, nil
}

// At returns when a credential was revoked; the zero time if it was not.
func (p *Peer) At(key string) time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	list, _ := p.read()
	if n, found := slices.BinarySearchFunc(list, key, byKey); found {
		return *list[n].Revoked
	}
	return time.Time{}
}

// Tell sends the list now if the directory has changed.
func (p *Peer) Tell() {
	if p == nil {
		return
	}
	select {
	case p.tell <- struct{}{}:
	default:
	}
}

// Close ends it; the connection stays open.
func (p *Peer) Close() {
	if p == nil {
		return
	}
	close(p.stop)
	<-p.done
	p.unsubscribe()
}

func (p *Peer) unsubscribe() {
	for _, sub := range p.subs {
		_ = sub.Unsubscribe() // the connection may be closed
	}
}

func (p *Peer) run() {
	defer close(p.done)
	var tick <-chan time.Time
	if p.every > 0 {
		t := time.NewTicker(p.every)
		defer t.Stop()
		tick = t.C
	}
	for {
		select {
		case <-p.stop:
			return
		case <-tick:
		case <-p.tell:
		}
		p.speak()
	}
}

// speak says what this peer has, and sends its list if that has changed.
func (p *Peer) speak() {
	p.mu.Lock()
	defer p.mu.Unlock()
	list, ok := p.read()
	if !ok || p.mute && errors.Is(p.nc.LastError(), nats.ErrPermissionViolation) {
		return // servers of an older version refuse it; the connection forgets that when it is made again
	}
	if now := digest(list); now != p.said {
		p.said = now
		if !p.mute {
			p.send(list)
		}
	}
	p.publish(digestSubject, []byte(p.said))
}

// hearDigest publishes the list and its digest if the digest of another peer is
// different: the digest makes that peer publish its own list too.
func (p *Peer) hearDigest(m *nats.Msg) {
	p.mu.Lock()
	defer p.mu.Unlock()
	list, ok := p.read()
	if !ok || digest(list) == string(m.Data) || time.Since(p.listed) < again {
		return
	}
	p.send(list)
	p.publish(digestSubject, []byte(digest(list)))
}

func (p *Peer) hearList(m *nats.Msg) {
	p.mu.Lock()
	defer p.mu.Unlock()
	var revoked []identity.Issued
	if err := json.Unmarshal(m.Data, &revoked); err != nil {
		p.fail(fmt.Errorf("cannot read the revocations of another server: %w", err))
		return
	}
	known := map[string]bool{}
	list, ok := p.read()
	if !ok {
		return
	}
	for _, i := range list {
		known[i.Key] = i.Scope != ""
	}
	fresh := revoked[:0]
	for _, i := range revoked {
		if i.Revoked != nil && !known[i.Key] {
			fresh = append(fresh, i)
		}
	}
	if len(fresh) == 0 {
		return
	}
	added, err := p.own.Merge(fresh, time.Now())
	if err != nil {
		p.fail(fmt.Errorf("cannot revoke here what another server has revoked; its credentials are let in here until that is fixed: %w", err))
		return
	}
	p.failed = ""
	if added > 0 {
		p.log.Info("revoked what another server has revoked", slog.Int("credentials", added))
	}
}

// read returns the revocations of the directory.
func (p *Peer) read() ([]identity.Issued, bool) {
	list, err := p.own.Read(time.Now())
	if err != nil {
		p.fail(fmt.Errorf("cannot read the revocations: %w", err))
	}
	return list, err == nil
}

// send sends a list in pages.
func (p *Peer) send(list []identity.Issued) {
	p.listed = time.Now()
	for len(list) > 0 {
		n := min(len(list), perPage)
		page, err := json.Marshal(list[:n])
		if err != nil {
			p.fail(fmt.Errorf("cannot tell the other servers what is revoked: %w", err))
			return
		}
		p.publish(listSubject, page)
		list = list[n:]
	}
}

func (p *Peer) publish(subject string, data []byte) {
	if err := p.nc.Publish(subject, data); err != nil {
		p.fail(fmt.Errorf("cannot tell the other servers what is revoked: %w", err))
	}
}

// fail logs an error unless it was the last.
func (p *Peer) fail(err error) {
	if err.Error() != p.failed {
		p.failed = err.Error()
		p.log.Error("revocations do not travel as they should", slog.Any("error", err))
	}
}

// digest identifies a list by its keys.
func digest(list []identity.Issued) string {
	h := sha256.New()
	for _, i := range list {
		h.Write([]byte(i.Key))
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// memory holds revocations sorted by key.
type memory struct{ list []identity.Issued }

func (m *memory) Read(now time.Time) ([]identity.Issued, error) {
	m.list = slices.DeleteFunc(m.list, func(i identity.Issued) bool { return !now.Before(i.Expires) })
	return m.list, nil
}

func (m *memory) Merge(others []identity.Issued, now time.Time) (int, error) {
	before := len(m.list)
	for _, i := range others {
		at, known := slices.BinarySearchFunc(m.list, i.Key, byKey)
		switch {
		case known:
			m.list[at] = i
		case len(m.list) < maxHeard && now.Before(i.Expires):
			m.list = slices.Insert(m.list, at, i)
		}
	}
	return len(m.list) - before, nil
}

func byKey(i identity.Issued, key string) int { return strings.Compare(i.Key, key) }
