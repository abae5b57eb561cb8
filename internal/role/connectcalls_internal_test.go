package role

import (
	"encoding/json"
	"encoding/pem"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"github.com/askbus/askbus/internal/cli"
	"github.com/askbus/askbus/internal/process/config"
)

// A chat whose calls may come from a network of one's own takes an address with the certificate that "askbus up --tls"
// made.
func TestAnAddressMayHaveTheCertificateOfTheDirectory(t *testing.T) {
	t.Parallel()
	in := &connecting{path: "/email/connecting/x", expected: "yes"}
	srv := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "yes") }))
	t.Cleanup(srv.Close)
	dir := t.TempDir()
	ca := filepath.Join(dir, "ca.pem")
	text, err := json.Marshal(cli.Context{NATSCAFile: ca})
	if err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string][]byte{"ca.pem": pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: srv.Certificate().Raw}), "context.json": text} {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := in.check(t.Context(), srv.URL, true, (&cli.App{Common: config.Common{Dir: dir}}).InboxCAs()); err != nil {
		t.Error(err)
	}
	if err := in.check(t.Context(), srv.URL, true, (&cli.App{Common: config.Common{Dir: t.TempDir()}}).InboxCAs()); err == nil {
		t.Error("another directory takes it as well")
	}
}
