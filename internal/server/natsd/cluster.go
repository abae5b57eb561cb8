package natsd

import (
	"crypto/ed25519"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math/big"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/askbus/askbus/internal/server/rights"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/nats-io/nats-server/v2/server"
)

// Cluster makes a server one of several that keep copies of each other's
// streams. Their directories share their keys; see [rights.ShareKey].
type Cluster struct {
	Node   string   // the name of this node, unique in the cluster
	Addr   string   // host:port for the other nodes
	Routes []string // host:port of all nodes, with or without this one
}

// ParseCluster parses the list of nodes, name=host:port each, of which node is
// this one. It listens for the others at listen or, if that is empty, at its
// address in the list.
func ParseCluster(nodes []string, node, listen string) (*Cluster, error) {
	c := &Cluster{Node: node, Addr: listen}
	seen := map[string]bool{}
	for _, n := range nodes {
		name, addr, ok := strings.Cut(n, "=")
		if _, _, err := net.SplitHostPort(addr); !ok || err != nil || !ask.ValidToken(name) {
			return nil, fmt.Errorf("invalid node %q: use name=host:port, the name from A-Z a-z 0-9 _ -", n)
		}
		if seen[name] {
			return nil, fmt.Errorf("two nodes are named %s; names must be unique", name)
		}
		seen[name] = true
		c.Routes = append(c.Routes, addr)
		if name == node && listen == "" {
			c.Addr = addr
		}
	}
	if !seen[node] {
		return nil, fmt.Errorf("node %q is not in the list of nodes: set --node to one of them", node)
	}
	return c, nil
}

// caughtUp returns what this node of a cluster still lacks: streams that it has
// not copied from the others, or a leader.
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

// healthReply records the server's health reply.
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

// apply sets the cluster in the server's options. Only a process with the key
// can be a node or read the traffic between nodes.
func (c *Cluster) apply(o *server.Options, key rights.Key) error {
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
	if o.Cluster.TLSConfig, err = routeTLS(key); err != nil {
		return err
	}
	o.Cluster.TLSTimeout = tlsTimeout
	for _, r := range c.Routes {
		o.Routes = append(o.Routes, &url.URL{Scheme: "nats", User: url.UserPassword(routeUser, routePassword(key)), Host: r})
	}
	return nil
}

// routeName is the name in the certificate of every node: any process with the
// key is a node, on any host.
const routeName = "route.askbus.internal"

// routeTLS lets the nodes of a cluster prove that they have its key: each makes
// a certificate for itself and signs it with a key derived from it. The
// certificate does not expire; a new key ends it.
func routeTLS(k rights.Key) (*tls.Config, error) {
	signer := ed25519.NewKeyFromSeed(k.Derive("route-tls"))
	from, to := time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC)
	ca := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "askbus cluster"}, NotBefore: from, NotAfter: to,
		IsCA: true, BasicConstraintsValid: true, MaxPathLenZero: true, KeyUsage: x509.KeyUsageCertSign,
	}
	leaf := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: routeName}, DNSNames: []string{routeName}, NotBefore: from, NotAfter: to,
		BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	public, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		return nil, fmt.Errorf("certificate for routes: %w", err)
	}
	caDER, err := x509.CreateCertificate(nil, ca, ca, signer.Public(), signer)
	if err != nil {
		return nil, fmt.Errorf("certificate for routes: %w", err)
	}
	leafDER, err := x509.CreateCertificate(nil, leaf, ca, public, signer)
	if err != nil {
		return nil, fmt.Errorf("certificate for routes: %w", err)
	}
	root, err := x509.ParseCertificate(caDER)
	if err != nil {
		return nil, fmt.Errorf("certificate for routes: %w", err)
	}
	roots := x509.NewCertPool()
	roots.AddCert(root)
	return &tls.Config{
		MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{{Certificate: [][]byte{leafDER}, PrivateKey: private}}, SessionTicketsDisabled: true,
		RootCAs: roots, ServerName: routeName, ClientCAs: roots, ClientAuth: tls.RequireAndVerifyClientCert,
	}, nil
}

// routePassword returns the password between nodes of a cluster.
func routePassword(k rights.Key) string {
	return base64.RawURLEncoding.EncodeToString(k.Derive("route"))
}
