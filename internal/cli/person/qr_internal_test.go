package person

import (
	"bytes"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/askbus/askbus/internal/cli"
)

func TestAPhoneNeedsAnAddressThatItCanReach(t *testing.T) {
	t.Parallel()
	var said bytes.Buffer
	a := &cli.App{Stderr: &said}
	a.Dir = t.TempDir()
	for _, url := range []string{"http://127.0.0.1:8420", "http://[::1]:8420", "http://localhost:8420", "http://0.0.0.0:8420"} {
		err := reachable(t.Context(), a, url)
		if e, ok := errors.AsType[*cli.ExitError](err); !ok || e.Code != cli.ExitUsage || !strings.Contains(err.Error(), "give --url https://") {
			t.Errorf("%s: %v", url, err)
		}
	}
	if err := reachable(t.Context(), a, "http://asks.example.com"); err != nil || !strings.Contains(said.String(), "not https") {
		t.Errorf("http: %v, %q", err, said.String())
	}
}

func TestAPhoneIsToldTheFingerprintToCompare(t *testing.T) {
	t.Parallel()
	srv := httptest.NewTLSServer(http.NotFoundHandler())
	t.Cleanup(srv.Close)
	u, err := url.Parse(srv.URL)
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := served(t.Context(), u)
	if err == nil || !leaf.Equal(srv.Certificate()) {
		t.Errorf("a certificate that nobody trusts: %v, %v", leaf, err)
	}
	srv.Close()
	if leaf, err := served(t.Context(), u); err == nil || leaf != nil {
		t.Errorf("nobody listens: %v, %v", leaf, err)
	}
}

func TestAQRCodeIsSquareAndFitsATerminal(t *testing.T) {
	t.Parallel()
	code, err := QRCode("https://asks.example.com/login?t=" + strings.Repeat("x", 300))
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimRight(code, "\n"), "\n")
	width := utf8.RuneCountInString(strings.NewReplacer("\x1b[30;107m", "", "\x1b[0m", "").Replace(lines[0]))
	if width > 100 || (len(lines)*2-width)>>1 != 0 {
		t.Errorf("%d lines of %d characters", len(lines), width)
	}
	if _, err := QRCode(strings.Repeat("x", 5000)); err == nil {
		t.Error("a text that fits no code")
	}
}
