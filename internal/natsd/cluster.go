package natsd

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/askbus/askbus/internal/identity"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/nats-io/nats-server/v2/server"
)

// Cluster makes a server one of several that keep copies of each other's
// streams. Their directories share their keys; see [ShareKey].
type Cluster struct {
	Node   string   // the name of this node, unique in the cluster
	Addr   string   // host:port for the other nodes
	Routes []string // host:port of all nodes; this one may be among them
}

// ParseCluster reads which nodes there are: name=host:port for each, of which
// node is this one. It listens for the others at listen, or at its address in
// the list when that is empty.
func ParseCluster(nodes []string, node, listen string) (*Cluster, error) {
	c := &Cluster{Node: node, Addr: listen}
	seen := map[string]bool{}
	for _, n := range nodes {
		name, addr, ok := strings.Cut(n, "=")
		if _, _, err := net.SplitHostPort(addr); !ok || err != nil || !ask.ValidToken(name) {
			return nil, fmt.Errorf("invalid node %q: use name=host:port, the name from A-Z a-z 0-9 _ -", n)
		}
		if seen[name] {
			return nil, fmt.Errorf("two nodes are called %s; give each a name of its own", name)
		}
		seen[name] = true
		c.Routes = append(c.Routes, addr)
		if name == node && listen == "" {
			c.Addr = addr
		}
	}
	if !seen[node] {
		return nil, fmt.Errorf("node %q is not in the list of nodes: say with --node which of them this is", node)
	}
	return c, nil
}

// caughtUp says what this node of a cluster still lacks: streams that it has
// not read from the others, or a leader.
func caughtUp(srv *server.Server) error {
	var w healthReply
	srv.HandleHealthz(&w, &http.Request{Method: http.MethodGet, URL: &url.URL{Path: "/healthz"}})
	if w.status == 0 || w.status == http.StatusOK {
		return nil
	}
	var said struct {
		Error string `json:"error"`
	}
	_ = json.Unmarshal(w.body, &said)
	return fmt.Errorf("this node has not caught up with its cluster: %s", said.Error)
}

// healthReply takes what the server says of its health.
type healthReply struct {
	status int
	header http.Header
	body   []byte
}

func (w *healthReply) Header() http.Header {
	if w.header == nil {
		w.header = http.Header{}
	}
	return w.header
}

func (w *healthReply) WriteHeader(status int) { w.status = status }

func (w *healthReply) Write(b []byte) (int, error) {
	w.body = append(w.body, b...)
	return len(b), nil
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
	o.Cluster = server.ClusterOpts{Name: clusterName, Host: host, Port: number, Username: routeUser, Password: routePassword(key), NoAdvertise: true}
	for _, r := range c.Routes {
		o.Routes = append(o.Routes, &url.URL{Scheme: "nats", User: url.UserPassword(routeUser, routePassword(key)), Host: r})
	}
	return nil
}

// ShareKey gives directory to the keys of directory from, making those if they
// are not there.
func ShareKey(from, to string) error {
	if _, err := LoadKey(from); err != nil {
		return err
	}
	if from == to {
		return nil
	}
	return identity.Share(from, to)
}

// routePassword is what nodes of a cluster say to each other.
func routePassword(k Key) string { return base64.RawURLEncoding.EncodeToString(k.Derive("route")) }
