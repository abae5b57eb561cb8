package certificate_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/server/certificate"
	"github.com/askbus/askbus/internal/testkit/certtest"
)

// notes collects log records.
type notes struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (n *notes) Write(p []byte) (int, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.buf.Write(p)
}

func (n *notes) count(text string) int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return strings.Count(n.buf.String(), text)
}

// opened opens a certificate for bus.example that is valid for an hour.
func opened(t *testing.T) (ca *certtest.CA, pair certtest.Pair, k *certificate.Keeper, said *notes) {
	t.Helper()
	ca, said = certtest.New(t), &notes{}
	pair = ca.Fresh(time.Hour, "bus.example")
	k, err := certificate.Open(certificate.Files{Cert: pair.Cert, Key: pair.Key}, certificate.Options{Logger: slog.New(slog.NewTextHandler(said, nil))})
	if err != nil {
		t.Fatal(err)
	}
	return ca, pair, k, said
}

// shown returns the serial of the certificate that a new connection gets.
func shown(t *testing.T, config *tls.Config, roots *x509.CertPool) string {
	t.Helper()
	client, server := net.Pipe()
	defer client.Close()
	go func() {
		c := tls.Server(server, config)
		_ = c.HandshakeContext(context.WithoutCancel(t.Context()))
		_ = c.Close()
	}()
	c := tls.Client(client, &tls.Config{RootCAs: roots, ServerName: "bus.example"})
	if err := c.HandshakeContext(t.Context()); err != nil {
		t.Fatal(err)
	}
	if c.ConnectionState().Version != tls.VersionTLS13 {
		t.Error("not TLS 1.3")
	}
	return c.ConnectionState().PeerCertificates[0].SerialNumber.String()
}

func TestNewConnectionsSeeTheNewCertificate(t *testing.T) {
	t.Parallel()
	ca, pair, k, said := opened(t)
	first := k.Leaf()
	for _, config := range []*tls.Config{k.HTTP(), k.NATS()} {
		if got := shown(t, config, ca.Pool); got != first.SerialNumber.String() {
			t.Errorf("shown %s", got)
		}
	}
	second := ca.Issue(pair, time.Hour, "bus.example")
	if err := k.Reload(); err != nil {
		t.Fatal(err)
	}
	for _, config := range []*tls.Config{k.HTTP(), k.NATS()} {
		if got := shown(t, config, ca.Pool); got != second.SerialNumber.String() {
			t.Errorf("after it changed: shown %s", got)
		}
	}
	if said.count("read the TLS certificate again") != 1 || said.count(certificate.Fingerprint(second)) != 1 {
		t.Error("the change is not told, or twice")
	}
}

func TestABrokenCertificateNeverReplacesOneThatWorks(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(*certtest.CA, certtest.Pair) error{
		"no files": func(_ *certtest.CA, p certtest.Pair) error { return os.Remove(p.Cert) },
		"no PEM":   func(_ *certtest.CA, p certtest.Pair) error { return os.WriteFile(p.Cert, []byte("nonsense"), 0o600) },
		"empty":    func(_ *certtest.CA, p certtest.Pair) error { return os.WriteFile(p.Key, nil, 0o600) },
		"another key": func(ca *certtest.CA, p certtest.Pair) error {
			key, err := os.ReadFile(ca.Fresh(time.Hour).Key)
			if err != nil {
				return err
			}
			return os.WriteFile(p.Key, key, 0o600)
		},
		"expired":  func(ca *certtest.CA, p certtest.Pair) error { ca.Issue(p, -time.Minute, "bus.example"); return nil },
		"too long": func(_ *certtest.CA, p certtest.Pair) error { return os.WriteFile(p.Cert, make([]byte, 2<<20), 0o600) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ca, pair, k, said := opened(t)
			first := k.Leaf()
			if err := spoil(ca, pair); err != nil {
				t.Fatal(err)
			}
			for range 3 {
				if err := k.Reload(); err == nil {
					t.Error("no error")
				}
			}
			if got := shown(t, k.HTTP(), ca.Pool); got != first.SerialNumber.String() {
				t.Errorf("shown %s", got)
			}
			if said.count("the previous one stays in use") != 1 {
				t.Errorf("said %d times", said.count("the previous one stays in use"))
			}
			if _, err := certificate.Open(certificate.Files{Cert: pair.Cert, Key: pair.Key}, certificate.Options{}); err == nil {
				t.Error("a process starts with it")
			}
			// A repaired pair is used.
			mended := ca.Issue(pair, time.Hour, "bus.example")
			if err := k.Reload(); err != nil {
				t.Error(err)
			}
			if got := shown(t, k.HTTP(), ca.Pool); got != mended.SerialNumber.String() {
				t.Errorf("mended, shown %s", got)
			}
		})
	}
}

func TestASignalReloadsTheFiles(t *testing.T) {
	t.Parallel()
	ca, pair, k, said := opened(t)
	ctx, cancel := context.WithCancel(t.Context())
	again, done := make(chan os.Signal), make(chan error, 1)
	go func() { done <- k.Run(ctx, again) }()
	for range 100 { // each is sent when the previous one is done
		next := ca.Issue(pair, time.Hour, "bus.example")
		again <- syscall.SIGHUP
		again <- syscall.SIGHUP
		if !k.Leaf().Equal(next) {
			t.Fatal("a signal did not read the files")
		}
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
	if said.count("expires") == 0 {
		t.Error("nobody is warned of a certificate that ends in an hour")
	}
}

func TestAnOwnCertificateIsKeptAndRenewed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	files, ca := certificate.OwnFiles(dir)
	now := time.Now()
	own := func(at time.Time, must ...string) bool {
		t.Helper()
		made, err := certificate.Own(dir, must, []string{"laptop"}, at)
		if err != nil {
			t.Fatal(err)
		}
		return made
	}
	if !own(now, "localhost", "127.0.0.1", "::1") || own(now, "localhost", "127.0.0.1", "::1") || own(now.Add(690*24*time.Hour), "::1") {
		t.Error("it is not made once and then kept")
	}
	k, err := certificate.Open(files, certificate.Options{})
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(ca)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(text)
	for _, host := range []string{"localhost", "127.0.0.1", "[::1]", "laptop"} {
		if _, err := k.Leaf().Verify(x509.VerifyOptions{Roots: roots, DNSName: host}); err != nil {
			t.Error(err)
		}
	}
	if info, err := os.Stat(files.Key); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the key's mode: %v %v", info.Mode(), err)
	}
	// The CA can sign nothing else: its key is stored nowhere.
	for _, name := range []string{files.Cert, files.Key, ca} {
		text, _ := os.ReadFile(name)
		for block, rest := pem.Decode(text); block != nil; block, rest = pem.Decode(rest) {
			if block.Type != "CERTIFICATE" && name != files.Key {
				t.Errorf("%s holds a key", name)
			}
		}
	}
	if _, err := tls.LoadX509KeyPair(ca, files.Key); err == nil {
		t.Error("the key of the certificate is that of its CA")
	}
	if !own(now, "10.0.0.7") || !own(now.Add(701*24*time.Hour), "10.0.0.7") {
		t.Error("it is not made again for another address, or at its end")
	}
	if err := os.Remove(files.Key); err != nil {
		t.Fatal(err)
	}
	if !own(now.Add(701*24*time.Hour), "10.0.0.7") {
		t.Error("half of it counts as whole")
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "*.new")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}
