package natsd

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/askbus/askbus/internal/process/backoff"
	"github.com/askbus/askbus/internal/server/identity"
	"github.com/askbus/askbus/internal/server/revocations"
	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nats-server/v2/server"
)

const (
	// accountsEvery is how often the server checks whether accounts were signed
	// again.
	accountsEvery = 100 * time.Millisecond

	// settle is how long a new revocation may take until a reconnect is
	// refused.
	settle = 20 * time.Millisecond

	// mostKicks bounds how many credentials are looked up one by one. The
	// update of the account cuts all of them, but later.
	mostKicks = 200
)

// accounts follows the account JWTs of the directory: what "askbus auth" writes
// there takes effect in the server soon after.
type accounts struct {
	srv      *server.Server
	dir      string
	log      *slog.Logger
	known    *server.MemAccResolver
	now      *identity.Accounts
	seen     map[string]os.FileInfo
	updating *sync.Mutex // one update at a time, and none during Jsz
	peer     atomic.Pointer[revocations.Peer]
	running  sync.WaitGroup
}

func (s *Server) followAccounts(known *server.MemAccResolver, now *identity.Accounts, log *slog.Logger) {
	s.accounts = &accounts{srv: s.srv, updating: &s.claims, dir: s.dir, log: log, known: known, now: now, seen: map[string]os.FileInfo{}}
	s.closes = append(s.closes, startLoop(s.accounts.follow))
}

func (a *accounts) follow(ctx context.Context) {
	defer a.running.Wait()
	for on := true; on; on = backoff.Sleep(ctx, accountsEvery) == nil {
		if a.changed() {
			a.read(ctx)
		}
	}
}

// changed reports whether an account's file has changed.
func (a *accounts) changed() bool {
	changed := false
	for _, name := range identity.Names() {
		info, err := os.Stat(filepath.Join(a.dir, "auth", name+".jwt"))
		if err != nil {
			continue // it is being replaced, or missing: keep what is loaded
		}
		if before := a.seen[name]; before == nil || !os.SameFile(before, info) || !before.ModTime().Equal(info.ModTime()) {
			a.seen[name], changed = info, true
		}
	}
	return changed
}

// read loads accounts that were signed again.
func (a *accounts) read(ctx context.Context) {
	fresh, err := identity.ReadAccounts(a.dir)
	if err == nil && (fresh.Operator.Subject != a.now.Operator.Subject || fresh.Keys[identity.Bus] != a.now.Keys[identity.Bus] || fresh.Keys[identity.Ledger] != a.now.Keys[identity.Ledger]) {
		a.log.Error("the keys in the directory are another bus's; those of the start stay in use until a restart", slog.String("dir", a.dir))
		return
	}
	if err != nil {
		a.log.Error("cannot read the accounts; the previous ones stay in use", slog.Any("error", err))
		return
	}
	for _, name := range identity.Names() {
		if fresh.Tokens[name] == a.now.Tokens[name] {
			continue
		}
		before, err := a.now.Claims(name)
		if err != nil {
			continue // already loaded
		}
		claims, err := fresh.Claims(name)
		if err != nil {
			continue
		}
		a.update(ctx, before, claims, fresh.Tokens[name])
	}
	a.now = fresh
	a.peer.Load().Tell()
}

// followRevocations lets the server and others of its bus tell each other what is
// revoked. A single server has no others, unless an issuer speaks first.
func (s *Server) followRevocations(log *slog.Logger) error {
	every := revocations.Every
	if !s.clustered {
		every = 0
	}
	p, err := revocations.Follow(s.guard.nc, s.dir, every, log)
	if err != nil {
		return err
	}
	s.closes = append(s.closes, p.Close)
	s.accounts.peer.Store(p)
	return nil
}

// update makes the server use an account's new claims. It costs 0.3 ms for each
// open connection and cuts the revoked ones at its end, so kick also looks them
// up: by then a reconnect is already refused.
func (a *accounts) update(ctx context.Context, before, claims *jwt.AccountClaims, token string) {
	_ = a.known.Store(claims.Subject, token) // never fails
	account, err := a.srv.LookupAccount(claims.Subject)
	if err != nil {
		a.log.Error("cannot update the account", slog.String("account", claims.Name), slog.Any("error", err))
		return
	}
	var revoked []string
	for key := range claims.Revocations {
		if _, was := before.Revocations[key]; !was {
			revoked = append(revoked, key)
		}
	}
	slices.Sort(revoked)
	a.log.Info("the account was signed again", slog.String("account", claims.Name), slog.Int("revoked", len(revoked)))
	a.running.Go(func() {
		a.updating.Lock()
		defer a.updating.Unlock()
		var kicked sync.WaitGroup
		kicked.Go(func() { a.kick(ctx, claims.Subject, revoked) })
		a.srv.UpdateAccountClaims(account, claims)
		kicked.Wait()
	})
}

// kick cuts the connections of revoked credentials.
func (a *accounts) kick(ctx context.Context, account string, revoked []string) {
	if len(revoked) == 0 || backoff.Sleep(ctx, settle) != nil {
		return
	}
	for _, key := range revoked[:min(len(revoked), mostKicks)] {
		conns, err := a.srv.Connz(&server.ConnzOptions{User: key, Username: true, Account: account, Limit: 1 << 16})
		if err != nil {
			a.log.Warn("cannot find the connections of a revoked credential", slog.String("key", key), slog.Any("error", err))
			continue
		}
		for _, c := range conns.Conns {
			_ = a.srv.DisconnectClientByID(c.Cid) // it may be gone
		}
	}
}
