package role

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/askbus/askbus/internal/cli"
	"github.com/askbus/askbus/internal/process/httpserver"
	"github.com/askbus/askbus/pkg/ask"
)

// callsSocket is where "askbus up" passes on the platform's calls of a chat while it is being connected. Only the user of
// the directory can take them there.
func (c *chatEntry) callsSocket(dir string) string {
	return filepath.Join(dir, "chats", c.served()+".sock")
}

// connectingPath is below a chat's path: which calls go to the process that connects it, whatever chat runs already.
const connectingPath = "/connecting/"

// connecting takes the platform's calls of a chat that is being connected, and shows that they arrive.
type connecting struct {
	at       string // where it listens, for people
	app      switched
	path     string // of the check, which nobody can guess, and
	expected string // what it answers
	close    func()
}

var errConnects = errors.New("a process listens there")

// listenUnix listens at a socket, whose folder it makes. One of a process that was killed it replaces.
func listenUnix(ctx context.Context, name string) (net.Listener, error) {
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return nil, err
	}
	if conn, err := (&net.Dialer{}).DialContext(ctx, "unix", name); err == nil {
		_ = conn.Close()
		return nil, errConnects
	}
	_ = os.Remove(name)
	return (&net.ListenConfig{}).Listen(ctx, "unix", name)
}

// takeCalls listens for a chat that is being connected: where "askbus up" of the directory passes calls on, or else at the
// chat's own address.
func (c *chatEntry) takeCalls(ctx context.Context, a *cli.App) (*connecting, error) {
	here, err := cli.ReadContext(a.Dir)
	in := &connecting{path: "/" + c.Type + connectingPath + rand.Text(), expected: rand.Text(), close: func() {}}
	var ln net.Listener
	if err == nil && served(ctx, here.Ops["up"]) {
		if ln, err = listenUnix(ctx, c.callsSocket(a.Dir)); errors.Is(err, errConnects) {
			return nil, cli.Usage("another \"%s\" runs in %s: end it first", a.Hint("connect "+c.Type), a.Dir)
		}
		in.at = here.HTTPURL
	} else {
		ln, err = (&net.ListenConfig{}).Listen(ctx, "tcp", *c.HTTPAddr)
		in.at = "http://" + *c.HTTPAddr
	}
	if err != nil {
		return nil, fmt.Errorf("cannot take the calls of %s: %w", c.Name, err)
	}
	in.serve(ctx, ln)
	return in, nil
}

// serve takes the calls that come to a listener, until close.
func (in *connecting) serve(ctx context.Context, ln net.Listener) {
	mux := http.NewServeMux()
	mux.Handle("/", &in.app)
	mux.HandleFunc("GET "+in.path, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, in.expected) })
	srv := &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second, ReadTimeout: time.Minute}
	go func() { _ = srv.Serve(ln) }() // ends with close
	in.close = func() {
		grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		defer cancel()
		_ = srv.Shutdown(grace) // after the call with the code is answered: the platform would repeat it
		_ = srv.Close()
	}
}

// check reports whether an address leads to this process, from here: it is https with a certificate that is valid for
// everybody. With plain it may be one in a network of one's own, without TLS or with a certificate of own CAs.
func (in *connecting) check(ctx context.Context, address string, plain bool, own *x509.CertPool) error {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "https" && (u.Scheme != "http" || !plain) || u.Hostname() == "" || u.User != nil {
		return cli.Usage("invalid address %q: give one like https://askbus.example.com", address)
	}
	if httpserver.LoopbackHost(u.Host) && !plain {
		return cli.Usage("others cannot reach %s: give an address that is reachable from outside", u.Host)
	}
	ctx, cancel := context.WithTimeout(ctx, 15*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address+in.path, nil)
	if err != nil {
		return cli.Usage("invalid address %q: %w", address, err)
	}
	transport := &http.Transport{DisableKeepAlives: true, Proxy: http.ProxyFromEnvironment}
	if plain {
		transport.TLSClientConfig = &tls.Config{RootCAs: own, MinVersion: tls.VersionTLS12}
	}
	client := &http.Client{
		Transport:     transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	res, err := client.Do(req)
	if err != nil {
		return fmt.Errorf("%s does not answer: %w; make it lead to %s, then run this again", address, err, in.at)
	}
	defer res.Body.Close() //nolint:errcheck // read as far as it matters
	if got, err := io.ReadAll(io.LimitReader(res.Body, 1<<10)); err != nil || string(got) != in.expected {
		return fmt.Errorf("%s answers (%s), but does not lead here: make it lead to %s, paths unchanged, then run this again", address, ask.CleanText(res.Status), in.at)
	}
	return nil
}

// maxCode bounds the calls that are looked at for a pairing code, in bytes.
const maxCode = 64 << 10

// mayPair reports whether a call may say a pairing code. Its body is then as it was.
func (c *chatEntry) mayPair(r *http.Request) bool {
	if c.PairsByCalls == nil || r.Method != http.MethodPost {
		return false
	}
	read, err := io.ReadAll(io.LimitReader(r.Body, maxCode+1))
	r.Body = struct {
		io.Reader
		io.Closer
	}{io.MultiReader(bytes.NewReader(read), r.Body), r.Body}
	return err == nil && len(read) <= maxCode && c.PairsByCalls(read)
}

// passing passes calls on to a process that connects the chat, if there is one: those that check the address, those that
// may say a pairing code, and all if no chat runs. All others are for the chat that runs, which goes on meanwhile.
func (c *chatEntry) passing(dir string, running *switched) http.Handler {
	name := c.callsSocket(dir)
	proxy := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(&url.URL{Scheme: "http", Host: c.Type})
			r.Out.Host = r.In.Host
		},
		Transport: &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "unix", name)
		}},
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		conn, err := (&net.Dialer{}).DialContext(r.Context(), "unix", name)
		if err == nil { // not of a process that was killed
			_ = conn.Close()
			if running.to.Load() == nil || strings.HasPrefix(r.URL.Path, "/"+c.Type+connectingPath) || c.mayPair(r) {
				proxy.ServeHTTP(w, r)
				return
			}
		}
		running.ServeHTTP(w, r)
	})
}
