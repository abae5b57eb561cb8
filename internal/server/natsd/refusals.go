package natsd

import (
	"sync/atomic"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// refusals counts the connections that the server refused because it had as many as it takes. The
// server has no such figure, and logs the first of a minute only; but it remembers its last
// closedClients closed connections, and why. So of a second in which more were closed, only that
// many are counted.
type refusals struct {
	total  atomic.Int64
	last   uint64 // id of the last one that was counted
	looked time.Time
}

// look counts those since its last call, at most once a second.
func (r *refusals) look(srv *server.Server, now time.Time) {
	if now.Sub(r.looked) < time.Second {
		return
	}
	r.looked = now
	closed, err := srv.Connz(&server.ConnzOptions{State: server.ConnClosed, Limit: closedClients})
	if err != nil {
		return
	}
	counted := r.last
	for _, c := range closed.Conns {
		if c.Reason == server.MaxConnectionsExceeded.String() && c.Cid > counted {
			r.total.Add(1)
			r.last = max(r.last, c.Cid)
		}
	}
}
