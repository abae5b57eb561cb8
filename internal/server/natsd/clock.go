package natsd

import (
	"context"
	"fmt"
	"log/slog"
	"time"
	_ "unsafe" // for go:linkname

	"github.com/askbus/askbus/internal/bus/servertime"
	"github.com/askbus/askbus/internal/process/backoff"
	"github.com/askbus/askbus/internal/server/identity"
	"github.com/askbus/askbus/internal/server/rights"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
)

const (
	// clockTick is how often a node checks that its wall clock was not set, and
	// that it leads nothing while its clock is wrong. An election takes at least
	// 4 s, so a node that has just started knows before it can lead.
	clockTick = 100 * time.Millisecond

	// clockEvery is how often it compares its clock with the other nodes'.
	clockEvery = time.Second

	// wallStep is the difference between the wall clock and the monotonic clock
	// that means that the wall clock was set, or the machine slept.
	wallStep = servertime.MaxSkew / 2
)

// clockWatch keeps a node of a cluster with a wrong clock from leading: the
// leader of a stream fires the timers of its asks. It stores its copies and
// votes like every node.
type clockWatch struct {
	srv     *server.Server
	node    string
	ledger  string // account
	log     *slog.Logger
	nc      *nats.Conn
	servers *servertime.Servers
	compare func() // asks all nodes for their time

	follows bool      // it must not lead now
	began   time.Time // with a monotonic clock, which measures whether the wall clock was set
	end     func()    // of the loop that compares
}

// watchClock starts the comparison of clocks in a cluster.
func (s *Server) watchClock(c *Cluster, accounts *identity.Accounts, log *slog.Logger) error {
	w := &clockWatch{
		srv: s.srv, node: c.Node, ledger: accounts.Keys[identity.Ledger], log: log, began: time.Now(),
		servers: servertime.NewServers(time.Now, len(c.Routes)),
	}
	cred, err := s.Issuer().Credential("", rights.Role{Name: rights.RoleClock})
	if err == nil {
		w.nc, err = nats.Connect("", nats.UserCredentialBytes([]byte(cred.Creds)), nats.CustomInboxPrefix(cred.InboxPrefix), nats.InProcessServer(s.srv), nats.MaxReconnects(-1), nats.Name("askbus clock"))
	}
	if err != nil {
		return fmt.Errorf("comparison of clocks: %w", err)
	}
	pinger, err := servertime.NewPinger(w.nc, time.Now, w.note)
	if err != nil {
		w.nc.Close()
		return err
	}
	w.compare = func() {
		ctx, cancel := context.WithTimeout(context.Background(), clockTick)
		defer cancel()
		_ = pinger.Ping(ctx, func(replied map[string]bool) bool { return len(replied) >= len(w.servers.Names()) }) // silent nodes are not compared
	}
	w.end = startLoop(w.run)
	s.clock = w
	s.closes = append(s.closes, w.close)
	return nil
}

func (w *clockWatch) close() {
	w.end()
	w.nc.Close()
}

func (w *clockWatch) note(node string, r servertime.Reading) {
	if by := w.servers.Note(node, r); by.Abs() > servertime.MaxSkew {
		w.log.Warn("a server's clock was set, or its machine slept", slog.String("server", node), slog.Duration("by", by))
	}
}

// err says that this node's clock is wrong.
func (w *clockWatch) err() error {
	if w == nil {
		return nil
	}
	if ahead := w.servers.Wrong(w.node); ahead != 0 {
		return fmt.Errorf("the clock of this server, %s, is %s; it stores copies and does not lead until that is corrected: set it by NTP", w.node, servertime.Off(ahead))
	}
	return nil
}

func (w *clockWatch) run(ctx context.Context) {
	var compared time.Time
	said := ""
	for on := true; on; on = backoff.Sleep(ctx, clockTick) == nil {
		if w.wasSet() || time.Since(compared) >= clockEvery {
			compared = time.Now()
			w.compare()
		}
		w.lead(w.servers.Wrong(w.node) == 0)
		said = w.say(said)
	}
}

// wasSet reports whether this machine's wall clock was set since the last call.
func (w *clockWatch) wasSet() bool {
	now := time.Now()
	by := now.Round(0).Sub(w.began.Round(0)) - now.Sub(w.began)
	w.began = now
	return by.Abs() > wallStep
}

// say logs a verdict that differs from the last one.
func (w *clockWatch) say(said string) string {
	now := ""
	if err := w.servers.Err(); err != nil {
		now = err.Error()
	}
	wrong := w.servers.Wrong(w.node) != 0
	switch {
	case (now == "") == (said == ""):
		return said
	case now == "":
		w.log.Info("the clocks of the cluster's servers agree again")
	case wrong:
		w.log.Error("this server's clock is wrong; it does not lead until that is corrected", slog.String("error", now))
	default:
		w.log.Error("the clocks of the cluster's servers differ", slog.String("error", now))
	}
	return now
}

// lead allows or forbids this node to lead. While it is forbidden, each call
// also covers what was created since, and gives up what it leads.
func (w *clockWatch) lead(may bool) {
	if may && !w.follows {
		return
	}
	w.follows = !may
	for _, node := range raftNodes(w.srv, w.ledger) {
		node.SetObserver(!may) // an observer votes, and is never elected
		if !may && node.Leader() {
			if err := node.StepDown(); err != nil {
				w.log.Warn("cannot give up leadership", slog.String("group", node.Group()), slog.Any("error", err))
			}
		}
	}
}

// raftNodes returns this node's parts in the groups of an account's streams and
// consumers, and in the group that manages them all.
func raftNodes(srv *server.Server, account string) []server.RaftNode {
	var nodes []server.RaftNode
	for _, of := range []string{account, ""} { // empty: the system account
		status := srv.Raftz(&server.RaftzOptions{AccountFilter: of})
		if status == nil {
			continue
		}
		for _, groups := range *status {
			for name := range groups {
				if node := lookupRaftNode(srv, name); node != nil {
					nodes = append(nodes, node)
				}
			}
		}
	}
	return nodes
}

// lookupRaftNode is the server's method of that name. Nothing that it exports
// makes a running node an observer, as it does itself before it shuts down. A
// server without this method fails the build.
//
//go:linkname lookupRaftNode github.com/nats-io/nats-server/v2/server.(*Server).lookupRaftNode
func lookupRaftNode(srv *server.Server, group string) server.RaftNode
