package role

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/askbus/askbus/internal/cli"
	"github.com/askbus/askbus/internal/process/config"
	"github.com/askbus/askbus/internal/process/httpserver"
	"github.com/askbus/askbus/internal/server/certificate"
	"github.com/askbus/askbus/internal/server/natsd"
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
func (r *Process) secure(s *config.Listen) error {
	r.insecure = s.Insecure
	if (s.TLS.CertFile == "") != (s.TLS.KeyFile == "") {
		return cli.Usage("--tls-cert-file and --tls-key-file go together: a certificate and its key")
	}
	if s.TLS.CertFile == "" {
		if s.TLS.ClientCAFile != "" {
			return cli.Usage("--tls-client-ca-file needs --tls-cert-file and --tls-key-file")
		}
		return nil
	}
	return r.keep(certificate.Files{Cert: s.TLS.CertFile, Key: s.TLS.KeyFile, ClientCA: s.TLS.ClientCAFile}, s.TLS.CertFile, nil)
}

// keep serves the certificate of files, and makes the directory's commands trust the CAs in trust.
func (r *Process) keep(files certificate.Files, trust string, renew func() error) (err error) {
	if r.tls, err = certificate.Open(files, certificate.Options{Logger: r.Log, Renew: renew}); err != nil {
		return cli.Usage("TLS: %w", err)
	}
	r.metrics.Certificate(func() time.Time { return r.tls.Leaf().NotAfter })
	if r.After.NATSCAFile, err = filepath.Abs(trust); err != nil {
		return fmt.Errorf("TLS: %w", err)
	}
	return nil
}

// secureOwn is secure for a process that may make its own certificate.
func (r *Process) secureOwn(ctx context.Context, s *upSettings) error {
	if !s.TLS.Own {
		return r.secure(&s.Listen)
	}
	if s.TLS.CertFile != "" || s.TLS.KeyFile != "" {
		return cli.Usage("--tls makes a certificate, and --tls-cert-file names one; use one of them")
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
	if err := r.keep(files, ca, renew); err != nil {
		return err
	}
	r.ownFingerprint = certificate.Fingerprint(r.tls.Leaf())
	return nil
}

// names returns the names and addresses of this process: must has the configured ones, may those of
// this machine.
func (r *Process) names(s *upSettings, primary string) (must, may []string) {
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
	for _, at := range []string{r.a.HTTP.URL, s.Gateway.Gateway.URL} {
		if u, err := url.Parse(at); err == nil && u.Hostname() != "" {
			must = append(must, strings.ToLower(u.Hostname()))
		}
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
func certificateLines(a *cli.App, r *Process, s upSettings) string {
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
func (r *Process) guard(what, addr, flag string) error {
	if r.tls != nil || r.insecure || httpserver.LoopbackHost(addr) {
		return nil
	}
	return cli.Usage("%s address %s can be reached from other machines without TLS: anybody on the network path could read and change questions and answers. "+
		"Give --tls-cert-file and --tls-key-file (or --tls to \"askbus up\"), or an address of this machine with %s, such as 127.0.0.1:0. "+
		"If a proxy terminates TLS, or the network is trusted, use --insecure or ASKBUS_INSECURE=true", what, addr, flag)
}

// listen opens an HTTP listener with a sticky port, with TLS if there is a certificate. Without, it
// opens the same port of the other loopback address as well: browsers take a name below localhost,
// such as that of the pages, for ::1 first, where another user of the machine could listen.
func (r *Process) listen(ctx context.Context, what, addr, lastURL string) (net.Listener, error) {
	const flag = "--http-addr"
	if err := r.guard(what, addr, flag); err != nil {
		return nil, err
	}
	_, port, _ := net.SplitHostPort(addr)
	for try := 1; ; try++ {
		ln, err := listen(ctx, r.a, what, addr, flag, lastURL)
		if err != nil {
			return nil, err
		}
		if r.tls != nil {
			return httpserver.Secure(ln, r.tls.HTTP()), nil
		}
		var other string
		if other, r.twin, err = twin(ctx, ln); err == nil {
			return ln, nil
		}
		_ = ln.Close()
		if port != "0" || try == 10 {
			return nil, fmt.Errorf("a browser would find this inbox at %s as well: %w", other, natsd.ListenError(what, other, flag, err))
		}
		lastURL = "" // another port
	}
}

// twin listens at the port of ln and the other loopback address. It is nil if ln is not at a
// loopback address, or if this machine lacks the other one, so that nobody can have it.
func twin(ctx context.Context, ln net.Listener) (addr string, other net.Listener, err error) {
	host, port, err := net.SplitHostPort(ln.Addr().String())
	if err != nil {
		return "", nil, err
	}
	others := map[string]string{"127.0.0.1": "::1", "::1": "127.0.0.1"}
	if others[host] == "" {
		return "", nil, nil
	}
	addr = net.JoinHostPort(others[host], port)
	other, err = (&net.ListenConfig{}).Listen(ctx, "tcp", addr)
	if errors.Is(err, syscall.EADDRNOTAVAIL) || errors.Is(err, syscall.EAFNOSUPPORT) {
		return addr, nil, nil
	}
	return addr, other, err
}

// httpURL returns the URL at which people reach a listener.
func (r *Process) httpURL(ln net.Listener) string {
	if tcp, ok := ln.Addr().(*net.TCPAddr); ok && tcp.IP.IsUnspecified() && r.linkHost != "" {
		_, port, _ := net.SplitHostPort(tcp.String())
		return "https://" + net.JoinHostPort(r.linkHost, port)
	}
	return httpURL(ln)
}

// noteTrust records in context.json how the directory's commands verify the server: by the name in
// its certificate, if they reach it by another name.
func (r *Process) noteTrust(at string) {
	if r.tls == nil {
		return
	}
	leaf := r.tls.Leaf()
	if u, err := url.Parse(at); err == nil && leaf.VerifyHostname(u.Hostname()) == nil {
		return
	}
	switch {
	case len(leaf.DNSNames) > 0:
		r.After.NATSServerName = strings.Replace(leaf.DNSNames[0], "*", "askbus", 1)
	case len(leaf.IPAddresses) > 0:
		r.After.NATSServerName = leaf.IPAddresses[0].String()
	}
}
