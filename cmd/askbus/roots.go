package main

import (
	"crypto/x509"
	"os"

	"golang.org/x/crypto/x509roots/fallback/bundle"
)

// systemRoots are the places where systems keep the certificates of authorities
// (crypto/x509 reads the same), and the variables that name others.
//
//nolint:gochecknoglobals // a table
var systemRoots = []string{
	"/etc/ssl/certs", "/etc/pki/tls/certs", "/etc/ssl/cert.pem", "/etc/ssl/ca-bundle.pem", "/etc/pki/tls/cacert.pem",
	"/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem", "/System/Library/Keychains",
}

// bringRoots makes the authorities that the program carries known where the
// system has none, as in an image of this binary alone. Those of a system come
// first. Package fallback does it in each process, which costs a command that
// runs at every call of a tool a megabyte and milliseconds.
func bringRoots() {
	if os.Getenv("SSL_CERT_FILE") == "" && os.Getenv("SSL_CERT_DIR") == "" {
		for _, place := range systemRoots {
			if hasEntries(place) {
				return
			}
			if info, err := os.Stat(place); err == nil && info.Mode().IsRegular() && info.Size() > 0 {
				return
			}
		}
	}
	pool := x509.NewCertPool()
	for root := range bundle.Roots() {
		cert, err := x509.ParseCertificate(root.Certificate)
		if err != nil {
			continue // of a kind that this version of Go does not know
		}
		if root.Constraint == nil {
			pool.AddCert(cert)
		} else {
			pool.AddCertWithConstraint(cert, root.Constraint)
		}
	}
	x509.SetFallbackRoots(pool)
}

// hasEntries says whether a directory has anything in it. It reads one name: systems have hundreds.
func hasEntries(dir string) bool {
	d, err := os.Open(dir)
	if err != nil {
		return false
	}
	defer d.Close() //nolint:errcheck // only read
	names, _ := d.Readdirnames(1)
	return len(names) > 0
}
