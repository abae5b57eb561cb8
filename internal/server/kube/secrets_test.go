package kube_test

import (
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/askbus/askbus/internal/server/kube"
)

// api is a minimal API server for Secrets.
type api struct {
	mu      sync.Mutex
	secrets map[string]map[string]string // base64, as received
	refuse  int
}

func (a *api) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if r.Header.Get("Authorization") != "Bearer t0ken" || a.refuse != 0 {
		w.WriteHeader(max(a.refuse, http.StatusUnauthorized))
		fmt.Fprint(w, `{"message":"secrets is forbidden"}`)
		return
	}
	name := strings.TrimPrefix(strings.TrimPrefix(r.URL.Path, "/api/v1/namespaces/bus/secrets"), "/")
	var in struct {
		Kind     string `json:"kind"`
		Metadata struct {
			Name string `json:"name"`
		} `json:"metadata"`
		Data map[string]string `json:"data"`
	}
	body, _ := io.ReadAll(r.Body)
	_ = json.Unmarshal(body, &in)
	held, ok := a.secrets[name]
	switch {
	case r.Method == http.MethodPost && a.secrets[in.Metadata.Name] != nil:
		w.WriteHeader(http.StatusConflict)
	case r.Method == http.MethodPost && in.Kind == "Secret":
		a.secrets[in.Metadata.Name] = in.Data
		w.WriteHeader(http.StatusCreated)
	case !ok:
		w.WriteHeader(http.StatusNotFound)
	case r.Method == http.MethodPatch && r.Header.Get("Content-Type") == "application/merge-patch+json":
		maps.Copy(held, in.Data)
	case r.Method == http.MethodGet:
		_ = json.NewEncoder(w).Encode(map[string]any{"data": held})
	default:
		w.WriteHeader(http.StatusBadRequest)
	}
}

func start(t *testing.T) (*kube.Secrets, *api) {
	t.Helper()
	a := &api{secrets: map[string]map[string]string{}}
	srv := httptest.NewTLSServer(a)
	t.Cleanup(srv.Close)
	dir := t.TempDir()
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: srv.Certificate().Raw})
	for name, data := range map[string]string{"namespace": "bus", "ca.crt": string(ca), "token": "t0ken\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(data), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	host, port, err := net.SplitHostPort(srv.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	c, err := kube.NewSecrets(dir, host, port)
	if err != nil {
		t.Fatal(err)
	}
	return c, a
}

func TestASecretIsMadeReadAndReplaced(t *testing.T) {
	t.Parallel()
	c, _ := start(t)
	if _, err := c.Read(t.Context(), "askbus-keys"); !errors.Is(err, kube.ErrNone) {
		t.Errorf("none there: %v", err)
	}
	if err := c.Create(t.Context(), "askbus-keys", nil, map[string][]byte{"a": []byte("1"), "b": []byte("2")}); err != nil {
		t.Fatal(err)
	}
	if err := c.Create(t.Context(), "askbus-keys", nil, nil); !errors.Is(err, kube.ErrExists) {
		t.Errorf("made twice: %v", err)
	}
	if err := c.Write(t.Context(), "askbus-keys", nil, map[string][]byte{"b": []byte("3")}); err != nil {
		t.Fatal(err)
	}
	got, err := c.Read(t.Context(), "askbus-keys")
	if err != nil || string(got["a"]) != "1" || string(got["b"]) != "3" {
		t.Errorf("holds %q, %v", got, err)
	}
	if err := c.Write(t.Context(), "askbus-web", nil, map[string][]byte{"c": []byte("4")}); err != nil {
		t.Errorf("write a new one: %v", err)
	}
}

func TestWhatTheServerRefusesIsSaid(t *testing.T) {
	t.Parallel()
	c, a := start(t)
	a.refuse = http.StatusForbidden
	if err := c.Write(t.Context(), "x", nil, nil); err == nil || !strings.Contains(err.Error(), "secrets is forbidden") {
		t.Errorf("refused: %v", err)
	}
	if _, err := kube.NewSecrets(t.TempDir(), "10.0.0.1", "443"); err == nil || !strings.Contains(err.Error(), "token") {
		t.Errorf("no token: %v", err)
	}
	if _, err := kube.NewSecrets(t.TempDir(), "", ""); err == nil || !strings.Contains(err.Error(), "not a pod") {
		t.Errorf("no pod: %v", err)
	}
}
