package natsd

import (
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strconv"

	"github.com/nats-io/nats-server/v2/server"
)

// Cluster makes a server one of several that keep copies of each other's
// streams. Their directories share one key; see [ShareKey].
type Cluster struct {
	Node   string   // the name of this node, unique in the cluster
	Addr   string   // host:port for the other nodes
	Routes []string // host:port of all nodes; this one may be among them
}

const clusterName, routeUser = "askbus", "route"

// apply puts the cluster into the server's options. Only who has the key can
// be a node.
func (c *Cluster) apply(o *server.Options, key Key) error {
	host, port, err := net.SplitHostPort(c.Addr)
	if err != nil {
		return fmt.Errorf("cluster address %q: %w", c.Addr, err)
	}
	number, err := strconv.Atoi(port)
	if err != nil {
		return fmt.Errorf("cluster address %q: %w", c.Addr, err)
	}
	o.ServerName = c.Node
	o.Cluster = server.ClusterOpts{Name: clusterName, Host: host, Port: number, Username: routeUser, Password: key.Password(routeUser), NoAdvertise: true}
	for _, r := range c.Routes {
		o.Routes = append(o.Routes, &url.URL{Scheme: "nats", User: url.UserPassword(routeUser, key.Password(routeUser)), Host: r})
	}
	return nil
}

// ShareKey gives directory to the key of directory from, making both if they
// are not there.
func ShareKey(from, to string) error {
	for _, dir := range []string{from, to} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return fmt.Errorf("share key: %w", err)
		}
	}
	if _, err := LoadKey(from); err != nil {
		return err
	}
	data, err := os.ReadFile(filepath.Join(from, keyFile))
	if err != nil {
		return fmt.Errorf("share key: %w", err)
	}
	if err := writeSynced(filepath.Join(to, keyFile), data); err != nil {
		return fmt.Errorf("share key: %w", err)
	}
	return nil
}
