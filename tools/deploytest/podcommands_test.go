//go:build linux

package deploytest_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
)

const mutual = `
tls: { nats: { existingSecret: nats-tls, clientSecret: nats-client } }
credentials: { generate: false, existing: { keys: k, broker: b, web: w, gateway: g, test: t } }
`

// What an operator types into kubectl exec works in the pod of a server that requires client
// certificates: real processes with the arguments, variables and mounts of the rendered container.
func TestCommandsInAServersPodShowItsClientCertificate(t *testing.T) {
	t.Parallel()
	for name, shape := range map[string]string{"embedded": "", "cluster": "shape: cluster\nnats: { replicas: 1 }\n"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m, err := render(t.Context(), "askbus", shape+mutual)
			if err != nil {
				t.Fatal(err)
			}
			s := inPod(t, all[*appsv1.StatefulSet](&m)[0].Spec.Template.Spec)
			s.start()
			if name == "embedded" {
				s.must(3, "ask", "--question", "Ship it?", "--option", "Yes", "--id", "a1", "--session", "s1", "--wait", "0")
				s.answered("answer", "s1/a1", "--select", "q1=o1")
				s.must(0, "login")
			}
			// Its exit code is that of the whole deployment, which lacks its other roles.
			out, _ := s.command("doctor", "--no-ask", "--output", "json").Output()
			if want := "the server's certificate is valid until"; !strings.Contains(string(out), want) {
				t.Errorf("askbus doctor does not say %q: %s", want, out)
			}
			s.env = slices.DeleteFunc(s.env, func(e string) bool { return strings.HasPrefix(e, "ASKBUS_NATS_") })
			if out, _ := s.command("doctor", "--no-ask").CombinedOutput(); !strings.Contains(string(out), "requires a client certificate") {
				t.Errorf("the server lets commands in without a certificate: %s", out)
			}
		})
	}
}

// inPod returns the program as the only container of a pod runs it, at paths of this machine.
func inPod(t *testing.T, pod corev1.PodSpec) shipped {
	t.Helper()
	path, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	root, c := t.TempDir(), pod.Containers[0]
	s := shipped{t: t, path: path, work: root, state: filepath.Join(root, "data", "askbus"), health: []string{"health", "--addr"}}
	here := func(text string) string {
		for _, m := range c.VolumeMounts {
			at := strings.TrimSuffix(m.MountPath, "/auth") // the argument names the directory above
			for _, prefix := range []string{"", "--dir=", "--key-of="} {
				if rest, ok := strings.CutPrefix(text, prefix+at); ok && (rest == "" || rest[0] == '/') {
					return prefix + root + at + rest
				}
			}
		}
		if flag, addr, ok := strings.Cut(text, "=0.0.0.0:"); ok && addr != "" {
			return flag + "=127.0.0.1:0"
		}
		return text
	}
	for _, a := range c.Args {
		s.up = append(s.up, here(a))
	}
	s.env = []string{"HOME=" + root, "USER=askbus"}
	for _, e := range c.Env {
		if e.ValueFrom == nil {
			s.env = append(s.env, e.Name+"="+here(e.Value))
		}
	}
	ca := newCA(t)
	for _, v := range pod.Volumes {
		if v.Secret == nil {
			continue
		}
		at := c.VolumeMounts[slices.IndexFunc(c.VolumeMounts, func(m corev1.VolumeMount) bool { return m.Name == v.Name })].MountPath
		if v.Name == "keys" {
			if out, err := askbus(t, "auth", "init", "--dir", filepath.Join(root, filepath.Dir(at))).CombinedOutput(); err != nil {
				t.Fatalf("keys: %v: %s", err, out)
			}
			continue
		}
		ca.issue(filepath.Join(root, at))
	}
	return s
}

// ca is what cert-manager would be.
type ca struct {
	t    *testing.T
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func newCA(t *testing.T) ca {
	t.Helper()
	c := ca{t, &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "CA of a test"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().AddDate(1, 0, 0),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}, newECKey(t)}
	der, err := x509.CreateCertificate(rand.Reader, c.cert, c.cert, c.key.Public(), c.key)
	if err != nil {
		t.Fatal(err)
	}
	c.cert.Raw = der
	return c
}

// issue writes the files of a Secret of type kubernetes.io/tls: for the names of the chart's
// Service, and for clients.
func (c ca) issue(dir string) {
	c.t.Helper()
	key := newECKey(c.t)
	der, err := x509.CreateCertificate(rand.Reader, &x509.Certificate{
		SerialNumber: big.NewInt(2), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().AddDate(0, 6, 0), DNSNames: []string{"askbus.default.svc"},
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}, c.cert, key.Public(), c.key)
	if err != nil {
		c.t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		c.t.Fatal(err)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		c.t.Fatal(err)
	}
	for name, block := range map[string]*pem.Block{"tls.crt": {Type: "CERTIFICATE", Bytes: der}, "tls.key": {Type: "PRIVATE KEY", Bytes: private}, "ca.crt": {Type: "CERTIFICATE", Bytes: c.cert.Raw}} {
		if err := os.WriteFile(filepath.Join(dir, name), pem.EncodeToMemory(block), 0o600); err != nil {
			c.t.Fatal(err)
		}
	}
}

func newECKey(t *testing.T) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}
