package webhooks_test

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/askbus/askbus/internal/answering/webhooks"
)

func TestEveryFaultOfAFileIsNamed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, text := range map[string]string{"good": secret, "bad": "hunter2"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	parse := func(text string) error {
		_, err := webhooks.ParseFile([]byte(text), dir, slog.New(slog.DiscardHandler))
		return err
	}
	if err := parse("callbacks:\n  - { name: a, url: 'https://a.example/', secret_file: good }\nsurfaces:\n  - { name: a, tenant: acme, url: 'http://10.0.0.1/', secret_file: good, allow_private: true }\n"); err != nil {
		t.Error(err)
	}
	for text, want := range map[string]string{
		"callbacks: [{ name: 'a b', url: 'https://a.example/', secret_file: good }]":                                                        "callbacks[0].name",
		"callbacks: [{ name: a, url: 'https://a.example/', secret_file: good }, { name: a, url: 'https://b.example/', secret_file: good }]": "callbacks[1].name",
		"callbacks: [{ name: a, tenant: '*', url: 'https://a.example/', secret_file: good }]":                                               "callbacks[0].tenant",
		"callbacks: [{ name: a, url: 'http://a.example/', secret_file: good }]":                                                             "allow_private",
		"callbacks: [{ name: a, url: 'ftp://a.example/', secret_file: good }]":                                                              "callbacks[0].url",
		"callbacks: [{ name: a, url: 'https://a.example/' }]":                                                                               "callbacks[0].secret_file",
		"callbacks: [{ name: a, url: 'https://a.example/', secret_file: none }]":                                                            "callbacks[0].secret_file",
		"callbacks: [{ name: a, url: 'https://a.example/', secret_file: bad }]":                                                             "whsec_",
		"surfaces: [{ name: a, url: 'https://a.example/', secret_file: good, tokens: [x] }]":                                                "surfaces[0].tokens",
		"callbacks: [{ name: a, url: 'https://a.example/t', secret_file: good, format: ntfy }]":                                             "callbacks[0].format",
		"surfaces: [{ name: a, url: 'https://a.example/t', secret_file: good, format: xml }]":                                               "surfaces[0].format",
		"surfaces: [{ name: a, url: 'https://a.example/', secret_file: good, format: ntfy }]":                                               "surfaces[0].url",
		"surfaces: [{ name: a, url: 'https://a.example/t/json', secret_file: good, format: ntfy }]":                                         "surfaces[0].url",
		"surfaces: [{ name: a, url: 'https://a.example/t', secret_file: good, token_file: good }]":                                          "surfaces[0].token_file",
		"surfaces: [{ name: a, url: 'https://a.example/t', secret_file: good, format: ntfy, token_file: none }]":                            "surfaces[0].token_file",
		"surfaces: [{ name: a, url: 'https://a.example/t', secret_file: good, language: zh }]":                                              "surfaces[0].language",
		"callbacks: [{ name: a, url: 'https://a.example/', secret_file: good, address: x }]":                                                "address",
	} {
		if err := parse(text); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %v", text, err)
		}
	}
}
