package natsd

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/askbus/askbus/internal/process/ratelimit"
	"github.com/askbus/askbus/internal/protocol/assertion"
	"github.com/askbus/askbus/internal/server/identity"
	"github.com/askbus/askbus/internal/server/rights"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
)

// Bounds limit what one tenant, one session and one of their credentials may
// use of the server. nats-server has such limits only for an account, and all
// clients are in one. Credentials without a tenant have no bounds: gateways,
// operators and surfaces of all tenants, which the operator runs.
type Bounds struct {
	// Connections returns how many a tenant and each of its sessions may have
	// open; 0 means no limit for a session, and three quarters of all for a
	// tenant, which is also the default.
	Connections func(tenant string) (ofTenant, ofSession int)
	Messages    int // per second and credential, after a burst of the same number; also what it may subscribe; default 10,000; negative: no limit
	// Subscriptions is how many a tenant may have in all; default 100,000. The
	// limit of one connection is its role's.
	Subscriptions int
	All           int           // connections in total; default: 3/8 of the descriptors that the process may open, at most 65,536
	Pause         time.Duration // how long a credential that exceeds Messages is kept out at first; default 10s
	Excess        time.Duration // how long a connection beyond the limit stays open; default 10s
}

func (b *Bounds) fill() {
	if b.Connections == nil {
		b.Connections = func(string) (int, int) { return 0, 0 }
	}
	b.Messages = cmp.Or(b.Messages, 10_000)
	b.Subscriptions = cmp.Or(b.Subscriptions, mostOfTenant)
	if b.All == 0 {
		b.All = min(server.DEFAULT_MAX_CONNECTIONS, max(64, descriptors()*3/8))
	}
	b.Pause = cmp.Or(b.Pause, 10*time.Second)
	b.Excess = cmp.Or(b.Excess, 10*time.Second)
}

// descriptors returns how many files and sockets the process may have open.
func descriptors() int {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return 1 << 20
	}
	return int(min(limit.Cur, 1<<20))
}

const (
	// guardEvery is how often the server checks how much its clients send.
	guardEvery = 200 * time.Millisecond

	// guardReconnect is how long the guard waits before it connects again, in this
	// process.
	guardReconnect = 50 * time.Millisecond

	// guardTick is how often it checks for a burst, while clients send at least
	// inUse messages a second: others stand behind whatever is read of a burst by
	// then.
	guardTick = 20 * time.Millisecond
	inUse     = 100

	// burstOf is the part of a credential's rate that all clients send between
	// two ticks in a burst. Looking for the sender takes time for each connection.
	burstOf = 5

	// longestPause is the longest time for which a credential is kept out. It
	// doubles each time.
	longestPause = 5 * time.Minute

	// ofCredential bounds the lines about one credential in a minute.
	ofCredential = 2
)

// guard enforces the bounds of credentials. The server reports connects and
// disconnects to it in the system account; the guard reads message counts from
// the server's counters, and only while the account's count is high.
type guard struct {
	srv     *server.Server
	account string // of clients
	bounds  Bounds
	log     *slog.Logger
	nc      *nats.Conn
	said    *ratelimit.PerMinute
	refused *ratelimit.PerMinute // subscriptions, by public key

	mu      sync.Mutex
	conns   map[uint64]*guarded // open connections of credentials with bounds
	ended   map[uint64]bool     // connections that ended while found looks; nil: it does not
	open    map[string]int      // by tenant, and by tenant/session: connections within the limit
	senders map[string]*sender  // by public key
	looked  int64               // messages of the account at the last look
	ticked  int64               // and at the last tick
	tickAt  time.Time           // the last tick
	due     time.Time           // of the next look
	summed  time.Time           // the last look at how many subscriptions there are
	made    uint64              // subscriptions ever, by counted
	counted time.Time           // the last count of made
	churn   *churn              // set while clients subscribe too much

	full refusals // of connections, because there are All
}

// guarded is one connection.
type guarded struct {
	user   string
	tenant string
	counts []string    // keys in open under which it is counted
	excess *time.Timer // closes it; nil: within the limit
	sent   int64       // messages, at the last look
	at     time.Time   // of the last look; before, of the connection
}

// sender is a credential that is being watched.
type sender struct {
	tokens float64   // messages that it may send now
	at     time.Time // when tokens was computed
	until  time.Time // kept out until then
	pause  time.Duration
}

// startGuard starts enforcing the bounds. Call it before the server listens, if
// possible.
func (s *Server) startGuard(bounds Bounds, accounts *identity.Accounts, log *slog.Logger) error {
	g := &guard{
		srv: s.srv, account: accounts.Keys[identity.Bus], bounds: bounds, log: log, said: ratelimit.New(ofCredential), refused: ratelimit.New(ofRefused),
		conns: map[uint64]*guarded{}, open: map[string]int{}, senders: map[string]*sender{},
	}
	c, err := s.Issuer().Credential("", rights.Role{Name: rights.RoleGuard})
	if err != nil {
		return fmt.Errorf("guard of credentials: %w", err)
	}
	for range 3 { // on a starved machine the server may close a connection that was too slow to authenticate
		g.nc, err = nats.Connect("", nats.UserCredentialBytes([]byte(c.Creds)), nats.InProcessServer(s.srv), nats.MaxReconnects(-1), nats.ReconnectWait(guardReconnect),
			nats.ReconnectHandler(func(*nats.Conn) { g.found() }), nats.Name("askbus guard"))
		if err == nil {
			break
		}
	}
	if err != nil {
		return fmt.Errorf("guard of credentials: %w", err)
	}
	sub, err := g.nc.Subscribe(fmt.Sprintf(rights.SubjectConnections, g.account), g.hear)
	if err == nil {
		err = sub.SetPendingLimits(-1, -1)
	}
	if err == nil {
		err = g.nc.Flush()
	}
	if err != nil {
		g.nc.Close()
		return fmt.Errorf("guard of credentials: %w", err)
	}
	g.found()
	s.guard = g
	s.log.guard.Store(g)
	s.closes = append(s.closes, g.close, startLoop(g.run))
	return nil
}

func (g *guard) close() {
	g.nc.Close()
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, c := range g.conns {
		if c.excess != nil {
			c.excess.Stop()
		}
	}
}

// hear handles a report about a connection.
func (g *guard) hear(m *nats.Msg) {
	var said struct {
		Server struct {
			ID string `json:"id"`
		} `json:"server"`
		Client struct {
			ID    uint64 `json:"id"`
			Token string `json:"jwt"`
		} `json:"client"`
	}
	if json.Unmarshal(m.Data, &said) != nil || said.Server.ID != g.srv.ID() {
		return // of another node
	}
	switch m.Subject[strings.LastIndexByte(m.Subject, '.')+1:] {
	case "CONNECT":
		g.connected(said.Client.ID, said.Client.Token)
	case "DISCONNECT":
		g.disconnected(said.Client.ID)
	}
}

// found counts the connections that the guard has not heard of: those before it,
// and those while its own connection was broken. What has ended meanwhile counts no
// more.
func (g *guard) found() {
	g.mu.Lock()
	g.ended = map[uint64]bool{}
	gone := map[uint64]bool{}
	for cid := range g.conns {
		gone[cid] = true
	}
	g.mu.Unlock()
	all, err := g.srv.Connz(&server.ConnzOptions{Account: g.account, Username: true, Limit: 1 << 16})
	if err == nil {
		for _, c := range all.Conns {
			g.connected(c.Cid, c.JWT)
			delete(gone, c.Cid)
		}
		for cid := range gone {
			g.disconnected(cid)
		}
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.ended = nil
}

func (g *guard) connected(cid uint64, token string) {
	user, role := bearer(token)
	if role.Tenant == "" {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.conns[cid] != nil || g.ended[cid] {
		return
	}
	now := time.Now()
	c := &guarded{user: user, tenant: role.Tenant, at: now}
	g.conns[cid] = c
	if s := g.senders[user]; s != nil && now.Before(s.until) {
		g.kick(cid)
		return
	}
	ofTenant, ofSession := g.bounds.Connections(role.Tenant)
	if ofTenant <= 0 {
		ofTenant = g.bounds.All * 3 / 4
	}
	tenant, session := role.Tenant, role.Tenant+"/"+role.Session
	switch {
	case role.Session != "" && ofSession > 0 && g.open[session] >= ofSession:
		g.exceed(cid, c, role, ofSession, "session "+role.Session+" of tenant "+tenant, now)
		return
	case g.open[tenant] >= ofTenant:
		g.exceed(cid, c, role, ofTenant, "tenant "+tenant, now)
		return
	}
	if c.counts = []string{tenant}; role.Session != "" {
		c.counts = append(c.counts, session)
	}
	for _, of := range c.counts {
		g.open[of]++
	}
}

// exceed closes a connection beyond the limit after a while. A client that is
// cut off reconnects at once, and connecting costs the server more than an open
// connection; so it stays open for a while, if there is room.
func (g *guard) exceed(cid uint64, c *guarded, role rights.Role, limit int, of string, now time.Time) {
	if g.said.Take(c.user, now) {
		g.log.Warn("too many NATS connections; those above the quota connections are closed: let its processes share one, or raise the quota in the policy file",
			slog.String("of", of), slog.Int("connections", limit), slog.String("credential", role.User()), slog.String("key", c.user))
	}
	wait := g.bounds.Excess
	if g.srv.NumClients() > g.bounds.All/2 {
		wait = 0
	}
	c.excess = time.AfterFunc(wait, func() { g.kick(cid) })
}

func (g *guard) disconnected(cid uint64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.ended != nil {
		g.ended[cid] = true
	}
	c := g.conns[cid]
	if c == nil {
		return
	}
	delete(g.conns, cid)
	if c.excess != nil {
		c.excess.Stop()
	}
	for _, of := range c.counts {
		if g.open[of]--; g.open[of] == 0 {
			delete(g.open, of)
		}
	}
}

// kick closes a connection without waiting: its read loop may be blocked.
func (g *guard) kick(cid uint64) {
	go func() { _ = g.srv.DisconnectClientByID(cid) }() // it may be gone
}

func (g *guard) run(ctx context.Context) {
	tick := time.NewTimer(guardEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-tick.C:
			look, next := false, guardEvery
			if g.bounds.Messages > 0 {
				look, next = g.tick(g.received(), now)
			}
			if g.crowded(now) || look {
				g.look(now)
			}
			g.full.look(g.srv, now)
			next = g.watchSubscribers(now, next)
			tick.Reset(next)
		}
	}
}

// tick reports whether a credential may exceed its rate, and when to call it
// again. total is how many messages clients have sent.
func (g *guard) tick(total int64, now time.Time) (look bool, next time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	rate, burst, grown := float64(g.bounds.Messages), float64(total-g.ticked), float64(total-g.looked)
	if next = guardEvery; burst >= inUse*now.Sub(g.tickAt).Seconds() {
		next = guardTick
	}
	g.ticked, g.tickAt = total, now
	if now.Before(g.due) && burst < rate/burstOf {
		return false, next
	}
	g.looked, g.due = total, now.Add(guardEvery)
	g.forget(now)
	return burst >= rate/burstOf || grown >= rate*guardEvery.Seconds()/2, next
}

// crowded reports whether a tenant may have too many subscriptions. Each look
// takes time for each connection, so there is one a second at most.
func (g *guard) crowded(now time.Time) bool {
	if now.Sub(g.summed) < time.Second || int(g.srv.NumSubscriptions()) <= g.bounds.Subscriptions {
		return false
	}
	g.summed = now
	return true
}

// look finds credentials that exceed their rate, and tenants that have too many
// subscriptions.
func (g *guard) look(now time.Time) {
	all, err := g.srv.Connz(&server.ConnzOptions{Account: g.account, Limit: 1 << 16})
	if err != nil {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.sumSubscriptions(all.Conns, now)
	if g.bounds.Messages <= 0 {
		return
	}
	sent, since := map[string]int64{}, map[string]time.Time{}
	for _, c := range all.Conns {
		if known := g.conns[c.Cid]; known != nil {
			sent[known.user] += c.InMsgs - known.sent
			if at, ok := since[known.user]; !ok || known.at.Before(at) {
				since[known.user] = known.at
			}
			known.sent, known.at = c.InMsgs, now
		}
	}
	for user, n := range sent {
		if !g.take(user, n, since[user], now) {
			g.keepOut(user, now, "a credential exceeds its message rate; its connections are closed, and it is kept out: send fewer, or raise --nats-messages",
				slog.Int("messages_per_second", g.bounds.Messages))
		}
	}
}

// received returns how many messages clients have sent in the account.
func (g *guard) received() int64 {
	stat, err := g.srv.AccountStatz(&server.AccountStatzOptions{Accounts: []string{g.account}, IncludeUnused: true})
	if err != nil || len(stat.Accounts) == 0 {
		return 0
	}
	return stat.Accounts[0].Received.Msgs
}

// take takes messages from a credential's rate: what it sent since the last
// look is compared with what it may have sent since then. That can be long ago:
// nothing is looked at while the account sends little.
func (g *guard) take(user string, n int64, since, now time.Time) bool {
	rate := float64(g.bounds.Messages)
	s := g.senders[user]
	if s == nil {
		if float64(n) < rate/2 {
			return true // too few for an entry
		}
		s = &sender{tokens: rate, at: since}
		g.senders[user] = s
	}
	s.tokens = min(rate, s.tokens+rate*now.Sub(s.at).Seconds()-float64(n))
	s.at = now
	return s.tokens >= 0
}

// keepOut closes a credential's connections, and new ones for a while. The log
// says why. The caller holds mu.
func (g *guard) keepOut(user string, now time.Time, why string, about ...slog.Attr) {
	s := g.senders[user]
	if s == nil {
		s = &sender{at: now}
		g.senders[user] = s
	}
	if now.Before(s.until) {
		return // its connections are being closed
	}
	s.pause = min(max(g.bounds.Pause, 2*s.pause), longestPause)
	s.until, s.tokens = now.Add(s.pause), float64(g.bounds.Messages)
	if g.said.Take(user, now) {
		g.log.Warn("a credential is kept out", slog.String("reason", why), slog.String("key", user), slog.Duration("kept_out", s.pause), slog.GroupAttrs("about", about...))
	}
	for cid, c := range g.conns {
		if c.user == user {
			g.kick(cid)
		}
	}
}

// forget drops senders that have behaved for longer than they were kept out.
func (g *guard) forget(now time.Time) {
	for user, s := range g.senders {
		if now.Sub(s.at) > 2*time.Second && now.After(s.until.Add(4*s.pause)) {
			delete(g.senders, user)
		}
	}
}

// bearer returns the public key and role in a JWT that the server has accepted.
// The zero role has no bounds.
func bearer(token string) (user string, role rights.Role) {
	var claims struct {
		Name    string `json:"name"`
		Subject string `json:"sub"`
	}
	err := assertion.Unverified(token, &claims)
	if err == nil {
		role, err = rights.ParseUser(claims.Name)
	}
	if err != nil {
		return "", rights.Role{}
	}
	return claims.Subject, role
}
