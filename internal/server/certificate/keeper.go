package certificate

import (
	"cmp"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// Files are the PEM files of a process's TLS. A changed file is read again.
type Files struct {
	Cert     string // the certificate, then the intermediates up to its CA
	Key      string // its private key
	ClientCA string // CAs of NATS clients, which must then present a certificate; empty: they need none
}

const (
	interval = 10 * time.Second    // between two looks at the files
	soon     = 14 * 24 * time.Hour // how long before its end a certificate is warned of, each day
	maxFile  = 1 << 20             // bytes
)

// Options tunes a [Keeper]. The zero value is ready to use.
type Options struct {
	Logger *slog.Logger     // default: discard
	Now    func() time.Time // default: time.Now
	Renew  func() error     // called each day before a look at the files, to renew them in time; default: none
}

// Keeper holds the certificate that new connections use. It is safe for
// concurrent use.
type Keeper struct {
	files   Files
	opts    Options
	current atomic.Pointer[loaded]

	mu      sync.Mutex // held while files are read
	stamp   [sha256.Size]byte
	suspect [sha256.Size]byte // digest of files that did not match at the last look
	said    [sha256.Size]byte // digest of files that were reported
	daily   time.Time         // time of the last daily work
}

// loaded is the result of reading the files.
type loaded struct {
	leaf       *x509.Certificate
	http, nats *tls.Config
}

// Open reads files, which must match and hold a certificate that has not
// expired.
func Open(files Files, opts Options) (*Keeper, error) {
	opts.Logger = cmp.Or(opts.Logger, slog.New(slog.DiscardHandler))
	if opts.Now == nil {
		opts.Now = time.Now
	}
	k := &Keeper{files: files, opts: opts, daily: opts.Now()}
	stamp, next, err := k.read()
	if err != nil {
		return nil, err
	}
	k.stamp = stamp
	k.current.Store(next)
	return k, nil
}

// Leaf returns the certificate that new connections use.
func (k *Keeper) Leaf() *x509.Certificate { return k.current.Load().leaf }

// HTTP returns the configuration of HTTP listeners. They use HTTP/1.1: limits
// count connections, and one HTTP/2 connection could carry any number of
// requests.
func (k *Keeper) HTTP() *tls.Config {
	c := base()
	c.GetConfigForClient = func(*tls.ClientHelloInfo) (*tls.Config, error) { return k.current.Load().http, nil }
	c.NextProtos = []string{"http/1.1"}
	return c
}

// NATS returns the configuration of the NATS listener. With a client CA it
// requires a certificate of every client.
func (k *Keeper) NATS() *tls.Config {
	c := base()
	c.GetConfigForClient = func(*tls.ClientHelloInfo) (*tls.Config, error) { return k.current.Load().nats, nil }
	c.ClientAuth = k.clientAuth() // nats-server tells clients
	return c
}

func (k *Keeper) clientAuth() tls.ClientAuthType {
	if k.files.ClientCA == "" {
		return tls.NoClientCert
	}
	return tls.RequireAndVerifyClientCert
}

// base is common to all: Go's own choice of cipher suites and curves, TLS 1.3
// with every peer that supports it.
func base() *tls.Config { return &tls.Config{MinVersion: tls.VersionTLS12} }

// read reads the files. stamp is their digest.
func (k *Keeper) read() (stamp [sha256.Size]byte, next *loaded, err error) {
	sum, texts := sha256.New(), [3][]byte{}
	var missing error
	for i, name := range []string{k.files.Cert, k.files.Key, k.files.ClientCA} {
		if name == "" {
			continue
		}
		text, err := readFile(name)
		missing = errors.Join(missing, err)
		texts[i] = text
		part := sha256.Sum256(text)
		sum.Write(part[:])
	}
	sum.Sum(stamp[:0])
	if missing != nil {
		return stamp, nil, missing
	}
	next, err = k.parse(texts[0], texts[1], texts[2])
	return stamp, next, err
}

func (k *Keeper) parse(cert, key, clients []byte) (*loaded, error) {
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil { // the error never quotes a key
		return nil, fmt.Errorf("certificate %s with key %s: %w", k.files.Cert, k.files.Key, err)
	}
	leaf := pair.Leaf
	if now := k.opts.Now(); now.After(leaf.NotAfter) {
		return nil, fmt.Errorf("certificate %s expired at %s; renew it", k.files.Cert, leaf.NotAfter.UTC().Format(time.RFC3339))
	}
	l := &loaded{leaf: leaf, http: base(), nats: base()}
	l.http.Certificates, l.nats.Certificates = []tls.Certificate{pair}, []tls.Certificate{pair}
	l.http.NextProtos = []string{"http/1.1"}
	// A resumed session presents no certificates: neither a changed one of
	// ours, nor a client's.
	l.nats.SessionTicketsDisabled = true
	if k.files.ClientCA != "" {
		l.nats.ClientAuth, l.nats.ClientCAs = k.clientAuth(), x509.NewCertPool()
		if !l.nats.ClientCAs.AppendCertsFromPEM(clients) {
			return nil, fmt.Errorf("no certificate in %s, the file of client CAs", k.files.ClientCA)
		}
	}
	return l, nil
}

// Reload reads the files now. After an error the previous certificate stays.
func (k *Keeper) Reload() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.reload(true)
}

// reload reads the files. Certificate and key are two files, and seldom written
// at the same moment: a mismatch is reported if it persists at the next reload,
// or at once.
func (k *Keeper) reload(atOnce bool) error {
	stamp, next, err := k.read()
	switch {
	case err == nil && stamp == k.stamp:
		k.suspect, k.said = stamp, stamp
		return nil
	case err == nil:
		k.stamp, k.suspect, k.said = stamp, stamp, stamp
		k.current.Store(next)
		k.opts.Logger.Info("read the TLS certificate again", slog.String("file", k.files.Cert), slog.String("sha256", Fingerprint(next.leaf)), slog.Time("expires", next.leaf.NotAfter))
		return nil
	case (atOnce || stamp == k.suspect) && stamp != k.said:
		k.said = stamp
		k.opts.Logger.Error("the new TLS certificate does not work; the previous one stays in use", slog.Any("error", err))
	}
	k.suspect = stamp
	return err
}

// Run looks at the files until ctx ends, and at once when it receives from
// again, such as a SIGHUP.
func (k *Keeper) Run(ctx context.Context, again <-chan os.Signal) error {
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-again:
			k.everyDay(true)
			_ = k.Reload() // it logs the error
		case <-tick.C:
			k.everyDay(false)
			k.mu.Lock()
			_ = k.reload(false) // it logs the error
			k.mu.Unlock()
		}
	}
}

// everyDay renews what can be renewed, and warns before a certificate expires.
func (k *Keeper) everyDay(now bool) {
	at := k.opts.Now()
	if !now && at.Sub(k.daily) < 24*time.Hour {
		return
	}
	k.daily = at
	if k.opts.Renew != nil {
		if err := k.opts.Renew(); err != nil {
			k.opts.Logger.Error("cannot renew the TLS certificate", slog.Any("error", err))
		}
	}
	if ends := k.Leaf().NotAfter; ends.Sub(at) < soon && k.opts.Renew == nil {
		k.opts.Logger.Error("the TLS certificate is about to expire: write a new one to its files, which are read again", slog.String("file", k.files.Cert), slog.Time("expires", ends))
	}
}

func readFile(name string) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // only read
	text, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err == nil && len(text) > maxFile {
		err = fmt.Errorf("%s is longer than 1 MiB", name)
	}
	return text, err
}
