package natsd

import (
	"fmt"
	"net"
	"strconv"

	"github.com/nats-io/nats-server/v2/server"
)

// listenToLeaves lets servers of other regions connect, which must have a
// credential for that. They are not told of further addresses: each names all
// servers of the bus.
func listenToLeaves(o *server.Options, opts Options) error {
	host, port, err := listenAddr(opts.LeafAddr)
	if err != nil {
		return fmt.Errorf("leaf address: %w", err)
	}
	o.LeafNode = server.LeafNodeOpts{Host: host, Port: port, NoAdvertise: true, TLSConfig: opts.TLS, TLSTimeout: tlsTimeout}
	return nil
}

// LeafAddr returns the address for leaf nodes, host:port; empty without one.
func (s *Server) LeafAddr() string {
	v, err := s.srv.Varz(nil)
	if err != nil || v.LeafNode.Port == 0 {
		return ""
	}
	return net.JoinHostPort(v.LeafNode.Host, strconv.Itoa(v.LeafNode.Port))
}
