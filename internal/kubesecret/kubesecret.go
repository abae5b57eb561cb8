// Package kubesecret reads and writes Secrets of the namespace that this pod
// runs in, with the pod's own service account.
//
// It is for the job that makes a deployment's credentials, the only process of
// askbus that talks to the API server: it needs the verbs create, get and patch
// on Secrets and nothing else. It decides nothing about what a Secret holds.
package kubesecret

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// ErrNone means that there is no Secret of that name.
var ErrNone = errors.New("no such Secret")

// Dir is where Kubernetes puts a pod's token.
const Dir = "/var/run/secrets/kubernetes.io/serviceaccount"

// maxReply bounds what is read of a reply: a Secret holds at most 1 MiB.
const maxReply = 4 << 20

// Client reads and writes Secrets of one namespace.
type Client struct {
	url, tokenFile string
	http           *http.Client
}

// New makes a client from the files of a service account and the host and port
// of the API server, as Kubernetes sets them in every pod.
func New(dir, host, port string) (*Client, error) {
	if host == "" || port == "" {
		return nil, errors.New("this is not a pod: KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not set")
	}
	namespace, err := os.ReadFile(filepath.Join(dir, "namespace"))
	if err != nil {
		return nil, fmt.Errorf("this pod mounts no service account's token: %w", err)
	}
	ca, err := os.ReadFile(filepath.Join(dir, "ca.crt"))
	if err != nil {
		return nil, fmt.Errorf("the API server's certificate: %w", err)
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(ca) {
		return nil, fmt.Errorf("%s holds no certificate", filepath.Join(dir, "ca.crt"))
	}
	return &Client{
		url:       "https://" + net.JoinHostPort(host, port) + "/api/v1/namespaces/" + url.PathEscape(strings.TrimSpace(string(namespace))) + "/secrets",
		tokenFile: filepath.Join(dir, "token"),
		http: &http.Client{
			Timeout:   15 * time.Second,
			Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}, ForceAttemptHTTP2: true},
		},
	}, nil
}

// secret is the part of a Secret that matters here.
type secret struct {
	APIVersion string            `json:"apiVersion,omitempty"`
	Kind       string            `json:"kind,omitempty"`
	Metadata   *metadata         `json:"metadata,omitempty"`
	Data       map[string][]byte `json:"data,omitempty"`
}

type metadata struct {
	Name   string            `json:"name,omitempty"`
	Labels map[string]string `json:"labels,omitempty"`
}

// Read returns what a Secret holds, or [ErrNone].
func (c *Client) Read(ctx context.Context, name string) (map[string][]byte, error) {
	var s secret
	err := c.do(ctx, http.MethodGet, "/"+url.PathEscape(name), "", nil, &s)
	return s.Data, err
}

// Create makes a Secret. It is an [ErrExists] when there is one of that name.
func (c *Client) Create(ctx context.Context, name string, labels map[string]string, data map[string][]byte) error {
	s := secret{"v1", "Secret", &metadata{name, labels}, data}
	return c.do(ctx, http.MethodPost, "", "application/json", s, nil)
}

// ErrExists means that somebody else made the Secret first.
var ErrExists = errors.New("the Secret exists")

// Write makes a Secret, or replaces the keys of data in one that is there.
func (c *Client) Write(ctx context.Context, name string, labels map[string]string, data map[string][]byte) error {
	err := c.do(ctx, http.MethodPatch, "/"+url.PathEscape(name), "application/merge-patch+json", secret{Data: data}, nil)
	if errors.Is(err, ErrNone) {
		err = c.Create(ctx, name, labels, data)
	}
	return err
}

func (c *Client) do(ctx context.Context, method, path, contentType string, in, out any) error {
	var body io.Reader
	if in != nil {
		data, err := json.Marshal(in)
		if err != nil {
			return err
		}
		body = bytes.NewReader(data)
	}
	req, err := http.NewRequestWithContext(ctx, method, c.url+path, body)
	if err != nil {
		return err
	}
	token, err := os.ReadFile(c.tokenFile) // it is replaced every hour
	if err != nil {
		return fmt.Errorf("the service account's token: %w", err)
	}
	req.Header.Set("Authorization", "Bearer "+strings.TrimSpace(string(token)))
	if contentType != "" {
		req.Header.Set("Content-Type", contentType)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return fmt.Errorf("%s Secret: %w", method, err)
	}
	defer resp.Body.Close() //nolint:errcheck // read only
	reply, err := io.ReadAll(io.LimitReader(resp.Body, maxReply))
	if err != nil {
		return fmt.Errorf("%s Secret: %w", method, err)
	}
	switch {
	case resp.StatusCode == http.StatusNotFound && path != "":
		return ErrNone
	case resp.StatusCode == http.StatusConflict:
		return ErrExists
	case resp.StatusCode/100 != 2:
		var status struct {
			Message string `json:"message"`
		}
		_ = json.Unmarshal(reply, &status) // a proxy's page has none
		return fmt.Errorf("%s Secret: %s: %s", method, resp.Status, status.Message)
	case out == nil:
		return nil
	}
	return json.Unmarshal(reply, out)
}
