package natsd

import (
	"log/slog"
	"strings"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// mostOfTenant is how many subscriptions all connections of a tenant may have.
const mostOfTenant = 100_000

// maximumSubscriptions is how the server logs a refused subscription: on the
// goroutine that reads what the client sends, and at most once in
// [refusalPause] for all clients of an account.
const maximumSubscriptions = "maximum subscriptions exceeded"

// refusalPause is how long a client is held up after such a line.
const refusalPause = 2 * time.Second

// ofRefused is how many such lines in a minute a credential may cause before it
// is kept out.
const ofRefused = 3

// refusedSubscription handles a refused subscription of a connection.
func (g *guard) refusedSubscription(cid uint64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	c, now := g.conns[cid], time.Now()
	if c == nil || g.refused.Take(c.user, now) {
		return
	}
	g.keepOut(c.user, now, "a credential continues to subscribe beyond its limit; its connections are closed, and it is kept out: use one subscription with a wildcard, or further connections")
}

// sumSubscriptions keeps out the credential with the most subscriptions of each
// tenant that has too many in all. The caller holds mu.
func (g *guard) sumSubscriptions(conns []*server.ConnInfo, now time.Time) {
	sums, users := map[string]int{}, map[string]map[string]int{}
	for _, info := range conns {
		c := g.conns[info.Cid]
		if c == nil {
			continue
		}
		sums[c.tenant] += int(info.NumSubs)
		if users[c.tenant] == nil {
			users[c.tenant] = map[string]int{}
		}
		users[c.tenant][c.user] += int(info.NumSubs)
	}
	for tenant, sum := range sums {
		if sum <= g.bounds.Subscriptions {
			continue
		}
		most := ""
		for user, n := range users[tenant] {
			if n > users[tenant][most] {
				most = user
			}
		}
		g.keepOut(most, now, "a tenant has too many subscriptions in all; the connections of the credential with the most are closed, and it is kept out: use subscriptions with wildcards",
			slog.String("tenant", tenant), slog.Int("subscriptions", sum), slog.Int("limit", g.bounds.Subscriptions))
	}
}

const (
	// countEvery is how often the server checks how much its clients subscribe.
	countEvery = time.Second

	// A connection that subscribes and unsubscribes in turn does so in most of
	// churnLooks intervals of churnLook.
	churnLooks = 20
	churnLook  = 50 * time.Millisecond
	mostLooks  = churnLooks * 3 / 4

	// fewOf is how many subscriptions were made for each message of a connection
	// that sends messages in between.
	fewOf = 50
)

// churn is what connections did since clients together subscribed more often
// than one credential may. The server counts subscriptions only for all of them,
// but a connection's time of last activity moves with messages and with
// subscriptions alone.
type churn struct {
	made  uint64 // at the first look
	at    time.Time
	last  time.Time
	looks int
	conns map[uint64]*activity
}

// activity is what one connection did.
type activity struct {
	last   time.Time
	msgs   int64
	subs   uint32
	active int   // intervals in which it did something
	silent int   // of those, without a message
	varied int   // of those, with another number of subscriptions afterwards
	sent   int64 // messages in all of them
}

// churns reports whether it subscribed in most intervals, when all connections
// made so many subscriptions.
func (a *activity) churns(made int64) bool {
	return a.silent >= mostLooks || a.active >= mostLooks && a.varied > 1 && a.sent*fewOf < made
}

// watchSubscribers keeps out the credentials that subscribe and unsubscribe in
// turn. It returns when to call it again.
func (g *guard) watchSubscribers(now time.Time, next time.Duration) time.Duration {
	if g.churn == nil {
		if g.subscribing(now) {
			g.churn = &churn{made: g.made, at: now, conns: map[uint64]*activity{}}
		}
		return next
	}
	if now.Sub(g.churn.last) >= churnLook {
		all, err := g.srv.Connz(&server.ConnzOptions{Account: g.account, Limit: 1 << 16})
		if err != nil {
			g.churn = nil
			return next
		}
		g.churn.check(all.Conns, now)
	}
	if g.churn.looks > churnLooks {
		g.endChurn(now)
		return next
	}
	return min(next, churnLook)
}

func (c *churn) check(conns []*server.ConnInfo, now time.Time) {
	for _, info := range conns {
		a := c.conns[info.Cid]
		switch {
		case a == nil:
			a = &activity{}
			c.conns[info.Cid] = a
		case info.LastActivity.After(a.last):
			a.active++
			if info.InMsgs == a.msgs {
				a.silent++
			}
			if info.NumSubs != a.subs {
				a.varied++
			}
			a.sent += info.InMsgs - a.msgs
		}
		a.last, a.msgs, a.subs = info.LastActivity, info.InMsgs, info.NumSubs
	}
	c.last = now
	c.looks++
}

// endChurn keeps out whoever did it, unless it is over.
func (g *guard) endChurn(now time.Time) {
	c := g.churn
	g.churn, g.made, g.counted = nil, g.subscriptions(), now
	made := int64(g.made - c.made) //nolint:gosec // a number of subscriptions
	if float64(made) < float64(g.bounds.Messages)*now.Sub(c.at).Seconds() {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	for cid, a := range c.conns {
		if known := g.conns[cid]; known != nil && a.churns(made) {
			g.keepOut(known.user, now, "a credential subscribes and unsubscribes all the time; its connections are closed, and it is kept out: subscribe once, with a wildcard",
				slog.Int("subscriptions_per_second", g.bounds.Messages))
		}
	}
}

// subscribing reports whether clients subscribed more often in the last second
// than one credential may.
func (g *guard) subscribing(now time.Time) bool {
	took := now.Sub(g.counted)
	if g.bounds.Messages <= 0 || took < countEvery {
		return false
	}
	before, first := g.made, g.counted.IsZero()
	g.made, g.counted = g.subscriptions(), now
	return !first && float64(g.made-before) > float64(g.bounds.Messages)*took.Seconds()
}

// subscriptions returns how many have been made since the server started.
func (g *guard) subscriptions() uint64 {
	all, err := g.srv.Subsz(nil)
	if err != nil || all.SublistStats == nil {
		return g.made
	}
	return all.NumInserts
}

// isRefusedSubscription reports whether a line of the server says that it
// refused a subscription.
func isRefusedSubscription(line string) bool { return strings.Contains(line, maximumSubscriptions) }
