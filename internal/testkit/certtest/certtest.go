// Package certtest makes certificate authorities and certificates for tests.
package certtest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// CA signs certificates.
type CA struct {
	File string // PEM
	Pool *x509.CertPool

	t    testing.TB
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

// New makes a CA whose certificate is in a directory of the test.
func New(t testing.TB) *CA {
	t.Helper()
	key := newKey(t)
	template := &x509.Certificate{
		SerialNumber: serial(t), Subject: pkix.Name{CommonName: "CA of a test"}, NotBefore: time.Now().Add(-48 * time.Hour), NotAfter: time.Now().Add(48 * time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	ca := &CA{t: t, key: key, File: filepath.Join(t.TempDir(), "ca.crt"), Pool: x509.NewCertPool()}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err == nil {
		ca.cert, err = x509.ParseCertificate(der)
	}
	if err != nil {
		t.Fatal(err)
	}
	ca.Pool.AddCert(ca.cert)
	writePEM(t, ca.File, "CERTIFICATE", der)
	return ca
}

// Pair is the paths of a certificate and its key.
type Pair struct{ Cert, Key string }

// At returns the paths of a pair in a directory.
func At(dir string) Pair { return Pair{filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key")} }

// Issue writes a certificate for servers and clients at hosts, and its key. It
// expires after life, which may be negative.
func (ca *CA) Issue(p Pair, life time.Duration, hosts ...string) *x509.Certificate {
	ca.t.Helper()
	key := newKey(ca.t)
	template := &x509.Certificate{
		SerialNumber: serial(ca.t), Subject: pkix.Name{CommonName: "of a test"}, NotBefore: time.Now().Add(-24 * time.Hour), NotAfter: time.Now().Add(life),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	for _, h := range hosts {
		if ip := net.ParseIP(h); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, h)
		}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, ca.cert, key.Public(), ca.key)
	if err != nil {
		ca.t.Fatal(err)
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		ca.t.Fatal(err)
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		ca.t.Fatal(err)
	}
	writePEM(ca.t, p.Key, "PRIVATE KEY", keyDER)
	writePEM(ca.t, p.Cert, "CERTIFICATE", der)
	return leaf
}

// Fresh returns a pair in a new directory.
func (ca *CA) Fresh(life time.Duration, hosts ...string) Pair {
	ca.t.Helper()
	p := At(ca.t.TempDir())
	ca.Issue(p, life, hosts...)
	return p
}

func newKey(t testing.TB) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func serial(t testing.TB) *big.Int {
	t.Helper()
	n, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func writePEM(t testing.TB, file, what string, der []byte) {
	t.Helper()
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: what, Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
}
