package certificate

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/askbus/askbus/internal/process/file"
)

// The files of a self-made certificate, in a directory.
const (
	certFile = "tls.crt"
	keyFile  = "tls.key"
	caFile   = "tls-ca.crt"
)

const (
	ownLife   = 730 * 24 * time.Hour // iPhones refuse more than 825 days
	renewFrom = 30 * 24 * time.Hour  // before its end
	early     = time.Hour            // tolerance for clocks that are behind
)

// OwnFiles returns the files that [Own] writes into a directory, and the CA
// that clients trust.
func OwnFiles(dir string) (f Files, ca string) {
	return Files{Cert: filepath.Join(dir, certFile), Key: filepath.Join(dir, keyFile)}, filepath.Join(dir, caFile)
}

// Own makes a certificate in dir for names and IP addresses: those it must
// have, and those that it may have. An existing one with the required names
// that is valid for another month stays. The key that signed it is discarded: a
// client that trusts the CA file trusts this certificate and nothing else.
func Own(dir string, must, may []string, now time.Time) (made bool, err error) {
	files, ca := OwnFiles(dir)
	if ownGood(files, ca, must, now) {
		return false, nil
	}
	var hosts []string
	for _, h := range slices.Concat(must, may) {
		if !slices.Contains(hosts, h) {
			hosts = append(hosts, h)
		}
	}
	certPEM, keyPEM, caPEM, err := issue(hosts, now)
	if err != nil {
		return false, fmt.Errorf("make a certificate: %w", err)
	}
	// First the file that clients trust, last the one that the server presents.
	return true, errors.Join(file.Replace(ca, caPEM, 0o644), file.Replace(files.Key, keyPEM, 0o600), file.Replace(files.Cert, certPEM, 0o644))
}

// ownGood reports whether the files are complete and valid for hosts.
func ownGood(files Files, ca string, hosts []string, now time.Time) bool {
	k, err := Open(files, Options{Now: func() time.Time { return now.Add(renewFrom) }})
	if err != nil {
		return false
	}
	text, err := readFile(ca)
	if err != nil {
		return false
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(text)
	if _, err := k.Leaf().Verify(x509.VerifyOptions{Roots: roots, CurrentTime: now}); err != nil {
		return false
	}
	return !slices.ContainsFunc(hosts, func(h string) bool { return k.Leaf().VerifyHostname(asked(h)) != nil })
}

// asked formats a host for VerifyHostname.
func asked(host string) string {
	if ip := net.ParseIP(host); ip != nil && ip.To4() == nil {
		return "[" + host + "]"
	}
	return host
}

func issue(hosts []string, now time.Time) (certPEM, keyPEM, caPEM []byte, err error) {
	caKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, nil, err
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, nil, err
	}
	serial := func() *big.Int {
		n, _ := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127)) // never fails
		return n
	}
	from, to := now.Add(-early).UTC(), now.Add(ownLife).UTC()
	name := "askbus"
	if host, err := os.Hostname(); err == nil {
		name += " on " + host[:min(len(host), 40)] // a common name has at most 64 characters
	}
	caCert := &x509.Certificate{
		SerialNumber: serial(), Subject: pkix.Name{CommonName: name + " CA, " + now.UTC().Format(time.DateOnly)}, NotBefore: from, NotAfter: to,
		IsCA: true, BasicConstraintsValid: true, MaxPathLenZero: true, KeyUsage: x509.KeyUsageCertSign,
	}
	leaf := &x509.Certificate{
		SerialNumber: serial(), Subject: pkix.Name{CommonName: name}, NotBefore: from, NotAfter: to,
		BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	for _, h := range hosts {
		if ip := net.ParseIP(h); ip != nil {
			leaf.IPAddresses = append(leaf.IPAddresses, ip)
		} else {
			leaf.DNSNames = append(leaf.DNSNames, strings.ToLower(h))
		}
	}
	caDER, err := x509.CreateCertificate(rand.Reader, caCert, caCert, caKey.Public(), caKey)
	if err != nil {
		return nil, nil, nil, err
	}
	leafDER, err := x509.CreateCertificate(rand.Reader, leaf, caCert, key.Public(), caKey)
	if err != nil {
		return nil, nil, nil, err
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, nil, nil, err
	}
	block := func(what string, der []byte) []byte { return pem.EncodeToMemory(&pem.Block{Type: what, Bytes: der}) }
	caPEM = block("CERTIFICATE", caDER)
	return append(block("CERTIFICATE", leafDER), caPEM...), block("PRIVATE KEY", keyDER), caPEM, nil
}

// Fingerprint returns the SHA-256 of a certificate, formatted as in browsers
// and openssl.
func Fingerprint(c *x509.Certificate) string {
	sum := sha256.Sum256(c.Raw)
	parts := make([]string, len(sum))
	for i, b := range sum {
		parts[i] = fmt.Sprintf("%02X", b)
	}
	return strings.Join(parts, ":")
}
