package natsd_test

import (
	"testing"

	asks "github.com/askbus/askbus/internal/bus/ledger"
	"github.com/askbus/askbus/internal/server/natsd"
	"github.com/askbus/askbus/internal/server/rights"
	"github.com/askbus/askbus/internal/testkit/natstest"
)

// The figures of a server follow what it does; and of a cluster they tell a copy that is not current and
// streams without a leader.
func TestFigures(t *testing.T) {
	t.Parallel()
	t.Run("alone", func(t *testing.T) {
		t.Parallel()
		b := natstest.Start(t, natstest.Options{MaxStore: 1 << 30})
		before := b.Figures()
		b.Connect(rights.Role{Name: rights.RoleGateway})
		natstest.Eventually(t, "the connection is counted", func() bool { return b.Figures().Connections > before.Connections })
		f := b.Figures()
		if !f.Healthy || f.Budget != 1<<30 || f.DiskFree <= 0 || f.Streams < 6 || f.MaxConnections <= f.Connections || f.Opened < int64(f.Connections) || f.Subscriptions == 0 || f.Leaderless+f.Behind != 0 {
			t.Errorf("%+v", f)
		}
	})
	t.Run("in a cluster", func(t *testing.T) {
		t.Parallel()
		servers := natstest.Cluster(t)
		if _, err := asks.Open(t.Context(), natstest.Connect(t, servers[0], rights.Role{Name: rights.RoleLedger}), asks.Options{Partitions: 3, Replicas: 3}); err != nil {
			t.Fatal(err)
		}
		sum := func(of ...*natsd.Server) (leaderless, behind int) {
			for _, s := range of {
				f := s.Figures()
				leaderless, behind = leaderless+f.Leaderless, behind+f.Behind
			}
			return leaderless, behind
		}
		natstest.Eventually(t, "all is well", func() bool {
			leaderless, behind := sum(servers...)
			return leaderless+behind == 0 && servers[0].Figures().Routes > 0
		})
		servers[2].Close()
		natstest.Eventually(t, "copies are behind", func() bool {
			leaderless, behind := sum(servers[:2]...)
			return leaderless == 0 && behind > 0
		})
		servers[1].Close()
		natstest.Eventually(t, "nobody leads", func() bool {
			leaderless, _ := sum(servers[0])
			return leaderless > 0
		})
	})
}
