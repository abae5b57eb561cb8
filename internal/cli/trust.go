package cli

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net/http"
	"os"
	"path/filepath"

	"github.com/askbus/askbus/internal/server/certificate"
	"github.com/askbus/askbus/internal/server/rights"
	"github.com/askbus/askbus/pkg/client"
)

// Trust sets how the server of a credential is verified and which client certificate we present.
// Settings override the credential, which overrides the context.json of the same server.
func (a *App) Trust(c client.Credential) client.Credential {
	switch {
	case a.NATS.CAFile != "":
		c.CA, c.CAFile = "", a.NATS.CAFile
	case c.CA == "" && c.CAFile == "":
		ctx, err := ReadContext(a.Dir)
		if err == nil && ctx.NATSCAFile != "" && c.URL == ctx.NATSURL {
			c.CAFile = ctx.NATSCAFile
			c.ServerName = cmp.Or(c.ServerName, ctx.NATSServerName)
		}
	}
	c.ServerName = cmp.Or(a.NATS.ServerName, c.ServerName)
	if a.NATS.CertFile != "" || a.NATS.KeyFile != "" {
		c.CertFile, c.KeyFile = a.NATS.CertFile, a.NATS.KeyFile
	}
	return c
}

// CarryTrust adds the CA of a certificate that "askbus up" made to a credential, so that it works
// on other machines without another file.
func (a *App) CarryTrust(c rights.Credential) rights.Credential {
	ctx, err := ReadContext(a.Dir)
	_, ca := certificate.OwnFiles(a.Dir)
	if own, abs := filepath.Abs(ca); err != nil || abs != nil || ctx.NATSCAFile != own || c.URL != ctx.NATSURL {
		return c
	}
	if text, err := os.ReadFile(ca); err == nil {
		c.CA = string(text)
	}
	return c
}

// InboxCAs returns the system's CAs and those of the directory's processes.
func (a *App) InboxCAs() *x509.CertPool {
	ctx, err := ReadContext(a.Dir)
	if err != nil || ctx.NATSCAFile == "" {
		return nil
	}
	roots, err := x509.SystemCertPool()
	if err != nil {
		roots = x509.NewCertPool()
	}
	if text, err := os.ReadFile(ctx.NATSCAFile); err == nil {
		roots.AppendCertsFromPEM(text)
	}
	return roots
}

// Trusting returns an HTTP client that trusts the CAs of a file, or the system's.
func Trusting(file string) (*http.Client, error) {
	transport := &http.Transport{Proxy: http.ProxyFromEnvironment, ForceAttemptHTTP2: true}
	if file != "" {
		ca, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		roots := x509.NewCertPool()
		if !roots.AppendCertsFromPEM(ca) {
			return nil, errors.New("no certificate in " + file)
		}
		transport.TLSClientConfig = &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}
	}
	return &http.Client{Transport: transport}, nil
}
