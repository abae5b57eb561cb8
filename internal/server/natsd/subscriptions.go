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

// isRefusedSubscription reports whether a line of the server says that it
// refused a subscription.
func isRefusedSubscription(line string) bool { return strings.Contains(line, maximumSubscriptions) }
