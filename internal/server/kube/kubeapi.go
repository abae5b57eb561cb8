// Package kube calls the API server of the cluster that this pod runs in, with
// the pod's own service account.
//
// It knows how a pod finds the server and authenticates, and leaves the requests
// to its callers: the job that makes a deployment's credentials and, if the rules
// ask for token reviews, the issuer.
package kube

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
	"os"
	"path/filepath"
	"strings"
	"time"
)

// Dir is where Kubernetes puts a pod's token.
const Dir = "/var/run/secrets/kubernetes.io/serviceaccount"

// maxReply bounds a reply: an object has at most about 1 MiB.
const maxReply = 4 << 20

// Client calls the API server. It is safe for concurrent use.
type Client struct {
	base, tokenFile string
	http            *http.Client
}

// New makes a client from the files of a service account and the host and port
// of the API server, as Kubernetes sets them in every pod.
func New(dir, host, port string) (*Client, error) {
	if host == "" || port == "" {
		return nil, errors.New("this is not a pod: KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not set")
	}
	ca, err := os.ReadFile(filepath.Join(dir, "ca.crt"))
	if err != nil {
		return nil, fmt.Errorf("this pod mounts no service account's token: %w", err)
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(ca) {
		return nil, fmt.Errorf("%s holds no certificate", filepath.Join(dir, "ca.crt"))
	}
	return &Client{
		base: "https://" + net.JoinHostPort(host, port), tokenFile: filepath.Join(dir, "token"),
		http: &http.Client{
			Timeout:   15 * time.Second,
			Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}, ForceAttemptHTTP2: true},
		},
	}, nil
}

// StatusError is an error response of the API server.
type StatusError struct {
	Code    int    // of HTTP
	Status  string // of HTTP
	Message string // of the API server; empty if a proxy replied
}

func (e *StatusError) Error() string { return e.Status + ": " + e.Message }

// Do sends in as JSON, unless it is nil, and decodes the reply into out, unless
// that is nil. An error response is a [*StatusError].
func (c *Client) Do(ctx context.Context, method, path, contentType string, in, out any) error {
	var body io.Reader
	if in != nil {
		data, err := json.Marshal(in)
		if err != nil {
			return err
		}
		body = bytes.NewReader(data)
	}
	req, err := http.NewRequestWithContext(ctx, method, c.base+path, body)
	if err != nil {
		return err
	}
	token, err := os.ReadFile(c.tokenFile) // Kubernetes replaces it every hour
	if err != nil {
		return fmt.Errorf("the service account's token: %w", err)
	}
	req.Header.Set("Authorization", "Bearer "+strings.TrimSpace(string(token)))
	if contentType != "" {
		req.Header.Set("Content-Type", contentType)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close() //nolint:errcheck // read only
	reply, err := io.ReadAll(io.LimitReader(resp.Body, maxReply))
	if err != nil {
		return err
	}
	if resp.StatusCode/100 != 2 {
		var status struct {
			Message string `json:"message"`
		}
		_ = json.Unmarshal(reply, &status) // a proxy's page has none
		return &StatusError{resp.StatusCode, resp.Status, status.Message}
	}
	if out == nil {
		return nil
	}
	return json.Unmarshal(reply, out)
}
