package natsd

import (
	"time"

	"github.com/askbus/askbus/internal/process/metrics"
	"github.com/nats-io/nats-server/v2/server"
)

// figuresFor is how long figures are kept, so that many scrapes cost no more than one.
const figuresFor = 5 * time.Second

// Figures returns what the metrics say of the server, at most a few seconds old.
func (s *Server) Figures() metrics.Server {
	s.figuresMu.Lock()
	defer s.figuresMu.Unlock()
	if time.Since(s.figuresAt) < figuresFor {
		return s.figures
	}
	f := metrics.Server{Healthy: s.Healthy() == nil, Routes: s.srv.NumRoutes()}
	if free, err := freeDisk(s.dir); err == nil {
		f.DiskFree = free
	}
	if v, err := s.srv.Varz(nil); err == nil {
		f.Connections, f.MaxConnections, f.Opened = v.Connections, v.MaxConn, int64(v.TotalConnections) //nolint:gosec // a count
		f.SlowConsumers, f.Subscriptions = v.SlowConsumers, int64(v.Subscriptions)
	}
	if s.guard != nil {
		f.Refused = s.guard.full.total.Load()
	}
	s.claims.Lock()
	js, err := s.srv.Jsz(&server.JSzOptions{Accounts: true, Streams: true, Limit: 1024})
	s.claims.Unlock()
	if err == nil {
		f.Bytes, f.Budget = int64(js.Store), js.Config.MaxStore                           //nolint:gosec // bytes of a disk
		f.Messages, f.Streams, f.Consumers = int64(js.Messages), js.Streams, js.Consumers //nolint:gosec // a count
		f.APIErrors = int64(js.API.Errors)                                                //nolint:gosec // a count
		for _, a := range js.AccountDetails {
			for i := range a.Streams {
				leaderless, behind := groupOf(a.Streams[i].Cluster, s.srv.Name())
				f.Leaderless += leaderless
				f.Behind += behind
			}
		}
		if s.clustered && (js.Meta == nil || js.Meta.Leader == "") {
			f.Leaderless++
		}
	}
	s.figures, s.figuresAt = f, time.Now()
	return f
}

// groupOf judges the Raft group of a stream: whether it has no leader, and how many copies this server, if
// it leads, does not know to be current. Others do not know.
func groupOf(c *server.ClusterInfo, own string) (leaderless, behind int) {
	switch {
	case c == nil: // not in a cluster
		return 0, 0
	case c.Leader == "":
		return 1, 0
	case c.Leader != own:
		return 0, 0
	}
	for _, p := range c.Replicas {
		if p != nil && (!p.Current || p.Offline) {
			behind++
		}
	}
	return 0, behind
}
