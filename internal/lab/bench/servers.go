package bench

import (
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/askbus/askbus/internal/bus/connection"
	"github.com/askbus/askbus/internal/protocol/assertion"
	"github.com/askbus/askbus/internal/server/natsd"
	"github.com/askbus/askbus/internal/server/rights"
	"github.com/nats-io/nats.go"
)

// servers is one server or a cluster in this process, with a full-rights user.
type servers struct {
	bed   *Bed
	urls  []string
	keys  *rights.Issuer
	alone *natsd.Server // the one server, if it is no cluster
}

// maxStore is the storage limit of started servers.
const maxStore = 64 << 30

// serve starts servers in a directory that is removed when the bed closes.
func (b *Bed) serve(dir string, nodes int, beside ...string) (*servers, error) {
	dir, err := os.MkdirTemp(dir, "askbus-bench-")
	if err != nil {
		return nil, fmt.Errorf("bench: %w", err)
	}
	b.later(func() {
		if err := os.RemoveAll(dir); err != nil {
			b.log.Warn("cannot remove the bench's directory", slog.String("dir", dir), slog.Any("error", err))
		}
	})
	s := &servers{bed: b}
	routes := make([]string, nodes)
	for i := range routes {
		if routes[i], err = freeAddr(); err != nil {
			return nil, err
		}
	}
	first := filepath.Join(dir, "n1")
	for i := range nodes {
		opts := natsd.Options{Dir: filepath.Join(dir, "n"+strconv.Itoa(i+1)), Addr: "127.0.0.1:0", MaxStore: maxStore, Admin: true, Logger: b.log, Beside: beside}
		if nodes > 1 { // nodes log errors until they have found each other
			opts.Logger = logger(nil)
			opts.Cluster = &natsd.Cluster{Node: "n" + strconv.Itoa(i+1), Addr: routes[i], Routes: routes}
		}
		if i > 0 {
			if err := rights.ShareKey(first, opts.Dir); err != nil {
				return nil, fmt.Errorf("bench: %w", err)
			}
		}
		srv, err := natsd.Start(opts)
		if err != nil {
			return nil, fmt.Errorf("bench: %w", err)
		}
		b.later(srv.Close)
		s.urls = append(s.urls, srv.URL())
		if s.keys, err = rights.LoadIssuer(opts.Dir); err != nil {
			return nil, fmt.Errorf("bench: %w", err)
		}
		if nodes == 1 {
			s.alone = srv
		}
	}
	return s, nil
}

// dial connects with a role. As in "askbus up", its own parts connect in process, and agents by TCP.
func (s *servers) dial(r rights.Role) (*nats.Conn, error) {
	c, err := s.keys.Asserting(strings.Join(s.urls, ","), r, assertion.Anything())
	if err != nil {
		return nil, err
	}
	return connection.Connect(c, s.bed.log, s.via(r)...)
}

// asAdmin connects with full rights to the account of the streams, over the transport that like
// has: otherwise the floor's agents would be nearer to the server than those of askbus.
func (s *servers) asAdmin(like rights.Role) (*nats.Conn, error) {
	c, err := s.keys.Asserting(strings.Join(s.urls, ","), rights.Role{Name: rights.RoleLedgerAdmin}, assertion.Anything())
	if err != nil {
		return nil, err
	}
	return connection.Connect(c, s.bed.log, s.via(like)...)
}

// via returns the transport of a role: TCP for agents.
func (s *servers) via(r rights.Role) []nats.Option {
	if s.alone == nil || r.Name == rights.RoleAgent {
		return nil
	}
	return []nats.Option{nats.InProcessServer(s.alone)}
}

// freeAddr returns a free loopback address.
func freeAddr() (string, error) {
	ln, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // closed at once
	if err != nil {
		return "", fmt.Errorf("bench: %w", err)
	}
	defer ln.Close() //nolint:errcheck // nothing was sent
	return ln.Addr().String(), nil
}
