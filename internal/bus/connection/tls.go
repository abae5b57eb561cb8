package connection

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"syscall"

	"github.com/nats-io/nats.go"
)

// overTLS returns the options for a credential's TLS fields. Files are read at
// each connect.
func overTLS(c Credential) ([]nats.Option, error) {
	if (c.CertFile == "") != (c.KeyFile == "") {
		return nil, errors.New("a client certificate and its key go together: give both files, or none")
	}
	if c.CA == "" && c.CAFile == "" && c.ServerName == "" && c.CertFile == "" {
		return nil, nil
	}
	opts := []nats.Option{nats.Secure(&tls.Config{MinVersion: tls.VersionTLS12, ServerName: c.ServerName})}
	switch {
	case c.CAFile != "":
		opts = append(opts, nats.RootCAs(c.CAFile))
	case c.CA != "":
		pool := x509.NewCertPool()
		if !pool.AppendCertsFromPEM([]byte(c.CA)) {
			return nil, errors.New("no certificate in the credential's ca")
		}
		opts = append(opts, func(o *nats.Options) error { o.TLSConfig.RootCAs = pool; return nil })
	}
	if c.CertFile != "" {
		opts = append(opts, nats.ClientCert(c.CertFile, c.KeyFile))
	}
	return opts, nil
}

// ErrCrowded means that a server closed a new connection at once.
var ErrCrowded = errors.New("the server closes new connections: it has as many as it takes (max_connections), or is stopping")

// explain adds to an error of a new connection what it means.
func explain(err error) error {
	if err == nil {
		return nil
	}
	if errors.Is(err, nats.ErrSecureConnWanted) {
		return fmt.Errorf("the server does not speak TLS, which the URL or a CA file requires: %w", err)
	}
	if _, ok := errors.AsType[x509.UnknownAuthorityError](err); ok {
		return fmt.Errorf("%w; name the file of its CA in ASKBUS_NATS_CA_FILE, if this is the right server", err)
	}
	if _, ok := errors.AsType[x509.HostnameError](err); ok {
		return fmt.Errorf("%w; connect to a name that is in it, or set that name in ASKBUS_NATS_SERVER_NAME", err)
	}
	// With TLS 1.3 a server refuses a client certificate after the handshake.
	refused, ok := errors.AsType[*net.OpError](err)
	if ok && refused.Op == "remote error" && strings.Contains(refused.Error(), "certificate") || errors.Is(err, nats.ErrTLS) && strings.Contains(err.Error(), "after TLS handshake") {
		return fmt.Errorf("%w: the server requires a client certificate that it trusts; set its files in ASKBUS_NATS_CERT_FILE and ASKBUS_NATS_KEY_FILE", err)
	}
	// A server that has too many connections says so and closes the new one; mostly our own write fails before we read that.
	if errors.Is(err, syscall.EPIPE) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, io.EOF) || strings.Contains(err.Error(), "connections exceeded") {
		return fmt.Errorf("%w: %w", ErrCrowded, err)
	}
	return err
}
