package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/askbus/askbus/internal/certificate"
	"github.com/askbus/askbus/internal/config"
	"github.com/askbus/askbus/internal/httpserver"
	"github.com/askbus/askbus/internal/natsd"
	"github.com/askbus/askbus/pkg/client"
	"github.com/spf13/cobra"
)

func tlsFlags(s *config.Listen, cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&s.TLS.CertFile, "tls-cert-file", s.TLS.CertFile, "file (PEM) of the listeners' certificate; read again when it changes, and on SIGHUP")
	f.StringVar(&s.TLS.KeyFile, "tls-key-file", s.TLS.KeyFile, "file (PEM) of its key")
	f.BoolVar(&s.Insecure, "insecure", s.Insecure, "listen for other machines without TLS, such as behind a proxy that terminates it")
}

func clientCAFlag(s *config.Listen, cmd *cobra.Command) {
	cmd.Flags().StringVar(&s.TLS.ClientCAFile, "tls-client-ca-file", s.TLS.ClientCAFile, "file (PEM) of the CAs of NATS clients, which must then show a certificate")
}

// secure reads the certificate of the listeners, if one is configured.
func (r *running) secure(s *config.Listen) error {
	r.insecure = s.Insecure
	if (s.TLS.CertFile == "") != (s.TLS.KeyFile == "") {
		return usage("--tls-cert-file and --tls-key-file go together: a certificate and its key")
	}
	if s.TLS.CertFile == "" {
		if s.TLS.ClientCAFile != "" {
			return usage("--tls-client-ca-file needs --tls-cert-file and --tls-key-file")
		}
		return nil
	}
	return r.keep(certificate.Files{Cert: s.TLS.CertFile, Key: s.TLS.KeyFile, ClientCA: s.TLS.ClientCAFile}, s.TLS.CertFile, nil)
}

// keep serves the certificate of files, and makes the directory's commands trust the CAs in trust.
func (r *running) keep(files certificate.Files, trust string, renew func() error) (err error) {
	if r.tls, err = certificate.Open(files, certificate.Options{Logger: r.log, Renew: renew}); err != nil {
		return usage("TLS: %w", err)
	}
	r.metrics.Certificate(func() time.Time { return r.tls.Leaf().NotAfter })
	if r.after.NATSCAFile, err = filepath.Abs(trust); err != nil {
		return fmt.Errorf("TLS: %w", err)
	}
	return nil
}

// secureOwn is secure for a process that may make its own certificate.
func (r *running) secureOwn(ctx context.Context, s *upSettings) error {
	if !s.TLS.Own {
		return r.secure(&s.Listen)
	}
	if s.TLS.CertFile != "" || s.TLS.KeyFile != "" {
		return usage("--tls makes a certificate, and --tls-cert-file names one; use one of them")
	}
	if err := os.MkdirAll(r.a.Dir, 0o700); err != nil {
		return fmt.Errorf("TLS: %w", err)
	}
	primary := outward(ctx)
	must, may := r.names(s, primary)
	renew := func() error {
		_, err := certificate.Own(r.a.Dir, must, may, time.Now())
		return err
	}
	if err := renew(); err != nil {
		return fmt.Errorf("TLS: %w", err)
	}
	r.linkHost = primary
	files, ca := certificate.OwnFiles(r.a.Dir)
	files.ClientCA = s.TLS.ClientCAFile
	r.insecure = s.Insecure
	return r.keep(files, ca, renew)
}

// names returns the names and addresses of this process: must has the configured ones, may those of
// this machine.
func (r *running) names(s *upSettings, primary string) (must, may []string) {
	must = []string{"localhost", "127.0.0.1", "::1"}
	everywhere := false
	for _, addr := range append([]string{s.NATSAddr, s.HTTPAddr}, s.Web.Web.Hosts...) {
		host := httpserver.Host(addr)
		if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
			everywhere = true
		} else if host != "" {
			must = append(must, host)
		}
	}
	if u, err := url.Parse(r.a.HTTP.URL); err == nil && u.Hostname() != "" {
		must = append(must, strings.ToLower(u.Hostname()))
	}
	if host, err := os.Hostname(); err == nil && host == strings.Trim(host, "-_. ") && !strings.ContainsAny(host, "_ ") {
		may = append(may, strings.ToLower(host)) // a container has a new one each time
	}
	if everywhere {
		if primary != "" {
			must = append(must, primary)
		}
		addrs, _ := net.InterfaceAddrs() // optional
		for _, a := range addrs {
			if n, ok := a.(*net.IPNet); ok && n.IP.IsGlobalUnicast() {
				may = append(may, n.IP.String())
			}
		}
	}
	return must, may
}

// outward returns this machine's address for outgoing traffic, or "". It sends no packet.
func outward(ctx context.Context) string {
	conn, err := (&net.Dialer{}).DialContext(ctx, "udp4", "192.0.2.1:9")
	if err != nil {
		return ""
	}
	defer conn.Close() //nolint:errcheck // nothing was sent
	return httpserver.Host(conn.LocalAddr().String())
}

// certificateLines returns the fingerprint that a person compares with the browser's.
func (a *app) certificateLines(r *running, s upSettings) string {
	if r.tls == nil {
		return ""
	}
	leaf := r.tls.Leaf()
	lines := fmt.Sprintf("  TLS     certificate until %s, SHA-256\n          %s\n", leaf.NotAfter.Local().Format(time.DateOnly), certificate.Fingerprint(leaf))
	if s.TLS.Own {
		_, ca := certificate.OwnFiles(a.Dir)
		lines += "          (compare it with what the browser shows, or let the device trust " + ca + ")\n"
	}
	return lines
}

// guard refuses to listen for other machines without TLS, unless --insecure is set.
func (r *running) guard(what, addr, flag string) error {
	if r.tls != nil || r.insecure || httpserver.LoopbackHost(addr) {
		return nil
	}
	return usage("%s address %s can be reached from other machines without TLS: anybody on the network path could read and change questions and answers. "+
		"Give --tls-cert-file and --tls-key-file (or --tls to \"askbus up\"), or an address of this machine with %s, such as 127.0.0.1:0. "+
		"If a proxy terminates TLS, or the network is trusted, use --insecure or ASKBUS_INSECURE=true", what, addr, flag)
}

// listen opens an HTTP listener with a sticky port, with TLS if there is a certificate.
func (r *running) listen(ctx context.Context, what, addr, lastURL string) (net.Listener, error) {
	const flag = "--http-addr"
	if err := r.guard(what, addr, flag); err != nil {
		return nil, err
	}
	ln, err := r.a.listen(ctx, what, addr, flag, lastURL)
	if err != nil || r.tls == nil {
		return ln, err
	}
	return httpserver.Secure(ln, r.tls.HTTP()), nil
}

// httpURL returns the URL at which people reach a listener.
func (r *running) httpURL(ln net.Listener) string {
	if tcp, ok := ln.Addr().(*net.TCPAddr); ok && tcp.IP.IsUnspecified() && r.linkHost != "" {
		_, port, _ := net.SplitHostPort(tcp.String())
		return "https://" + net.JoinHostPort(r.linkHost, port)
	}
	return httpURL(ln)
}

// noteTrust records in context.json how the directory's commands verify the server: by the name in
// its certificate, if they reach it by another name.
func (r *running) noteTrust(at string) {
	if r.tls == nil {
		return
	}
	leaf := r.tls.Leaf()
	if u, err := url.Parse(at); err == nil && leaf.VerifyHostname(u.Hostname()) == nil {
		return
	}
	switch {
	case len(leaf.DNSNames) > 0:
		r.after.NATSServerName = strings.Replace(leaf.DNSNames[0], "*", "askbus", 1)
	case len(leaf.IPAddresses) > 0:
		r.after.NATSServerName = leaf.IPAddresses[0].String()
	}
}

// trust sets how the server of a credential is verified and which client certificate we present.
// Settings override the credential, which overrides the context.json of the same server.
func (a *app) trust(c client.Credential) client.Credential {
	switch {
	case a.NATS.CAFile != "":
		c.CA, c.CAFile = "", a.NATS.CAFile
	case c.CA == "" && c.CAFile == "":
		ctx, err := config.ReadContext(a.Dir)
		if err == nil && ctx.NATSCAFile != "" && c.URL == ctx.NATSURL {
			c.CAFile = ctx.NATSCAFile
			if c.ServerName == "" {
				c.ServerName = ctx.NATSServerName
			}
		}
	}
	if a.NATS.ServerName != "" {
		c.ServerName = a.NATS.ServerName
	}
	if a.NATS.CertFile != "" || a.NATS.KeyFile != "" {
		c.CertFile, c.KeyFile = a.NATS.CertFile, a.NATS.KeyFile
	}
	return c
}

// carryTrust adds the CA of a certificate that "askbus up" made to a credential, so that it works
// on other machines without another file.
func (a *app) carryTrust(c natsd.Credential) natsd.Credential {
	ctx, err := config.ReadContext(a.Dir)
	_, ca := certificate.OwnFiles(a.Dir)
	if own, abs := filepath.Abs(ca); err != nil || abs != nil || ctx.NATSCAFile != own || c.URL != ctx.NATSURL {
		return c
	}
	if text, err := os.ReadFile(ca); err == nil {
		c.CA = string(text)
	}
	return c
}

// inboxCAs returns the system's CAs and those of the directory's processes.
func (a *app) inboxCAs() *x509.CertPool {
	ctx, err := config.ReadContext(a.Dir)
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

// trusting returns an HTTP client that trusts the CAs of a file, or the system's.
func trusting(file string) (*http.Client, error) {
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
