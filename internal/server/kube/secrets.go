package kube

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
)

// ErrNone means that there is no Secret with that name.
var ErrNone = errors.New("no such Secret")

// Secrets reads and writes Secrets of one namespace, and sees whether its servers are ready.
type Secrets struct {
	api             *Client
	namespace, path string
}

// NewSecrets makes a client from the files of a service account and the host and port
// of the API server, as Kubernetes sets them in every pod.
func NewSecrets(dir, host, port string) (*Secrets, error) {
	api, err := New(dir, host, port)
	if err != nil {
		return nil, err
	}
	namespace, err := os.ReadFile(filepath.Join(dir, "namespace"))
	if err != nil {
		return nil, fmt.Errorf("this pod has no service account token: %w", err)
	}
	name := strings.TrimSpace(string(namespace))
	return &Secrets{api, name, "/api/v1/namespaces/" + url.PathEscape(name) + "/secrets"}, nil
}

// secret is the part of a Secret that is used here.
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

// Read returns the data of a Secret, or [ErrNone].
func (c *Secrets) Read(ctx context.Context, name string) (map[string][]byte, error) {
	var s secret
	err := c.do(ctx, http.MethodGet, "/"+url.PathEscape(name), "", nil, &s)
	return s.Data, err
}

// Create creates a Secret, or returns [ErrExists] if there is one with that
// name.
func (c *Secrets) Create(ctx context.Context, name string, labels map[string]string, data map[string][]byte) error {
	s := secret{"v1", "Secret", &metadata{name, labels}, data}
	return c.do(ctx, http.MethodPost, "", "application/json", s, nil)
}

// ErrExists means that the Secret already exists.
var ErrExists = errors.New("the Secret already exists")

// Write creates a Secret, or replaces the keys of data in an existing one.
func (c *Secrets) Write(ctx context.Context, name string, labels map[string]string, data map[string][]byte) error {
	err := c.do(ctx, http.MethodPatch, "/"+url.PathEscape(name), "application/merge-patch+json", secret{Data: data}, nil)
	if errors.Is(err, ErrNone) {
		err = c.Create(ctx, name, labels, data)
	}
	return err
}

func (c *Secrets) do(ctx context.Context, method, path, contentType string, in, out any) error {
	err := c.api.Do(ctx, method, c.path+path, contentType, in, out)
	if refused, ok := errors.AsType[*StatusError](err); ok {
		switch {
		case refused.Code == http.StatusNotFound && path != "":
			return ErrNone
		case refused.Code == http.StatusConflict:
			return ErrExists
		}
	}
	if err != nil {
		return fmt.Errorf("%s Secret: %w", method, err)
	}
	return nil
}
