package httpapi

import (
	"bufio"
	"net/http"
	"strings"
	"testing"
)

// Interim responses are for Node's fetch alone, and only if nothing is between: nginx took one for the
// response, and handed over the outcome when the connection ended, minutes later.
func TestInterimResponsesAreForNodeWithoutAProxy(t *testing.T) {
	t.Parallel()
	const rest = "accept: */*\r\naccept-language: *\r\nsec-fetch-mode: cors\r\nuser-agent: node\r\naccept-encoding: gzip, deflate\r\ncontent-length: 2\r\n\r\n{}"
	for name, c := range map[string]struct {
		head  string
		takes bool
	}{
		"Node 20":                        {"POST /x HTTP/1.1\r\nhost: 127.0.0.1:8420\r\nconnection: keep-alive\r\n" + rest, true},
		"undici":                         {"POST /x HTTP/1.1\r\nhost: 127.0.0.1:8420\r\nconnection: keep-alive\r\nuser-agent: undici\r\n\r\n", true},
		"Python":                         {"POST /x HTTP/1.1\r\nhost: 127.0.0.1:8420\r\nconnection: keep-alive\r\nuser-agent: Python-urllib/3.13\r\n\r\n", false},
		"nginx, connections kept":        {"POST /x HTTP/1.1\r\nHost: 127.0.0.1:8420\r\n" + rest, false},
		"nginx, HTTP/1.1":                {"POST /x HTTP/1.1\r\nHost: 127.0.0.1:8420\r\nConnection: close\r\n" + rest, false},
		"nginx, HTTP/1.0":                {"POST /x HTTP/1.0\r\nHost: 127.0.0.1:8420\r\nConnection: keep-alive\r\n" + rest, false},
		"a proxy with its own keepalive": {"POST /x HTTP/1.1\r\nHost: 127.0.0.1:8420\r\nConnection: keep-alive\r\nX-Forwarded-For: 10.0.0.7\r\n" + rest, false},
		"a proxy that names itself":      {"POST /x HTTP/1.1\r\nHost: 127.0.0.1:8420\r\nConnection: keep-alive\r\nVia: 1.1 edge\r\n" + rest, false},
	} {
		r, err := http.ReadRequest(bufio.NewReader(strings.NewReader(c.head)))
		if err != nil {
			t.Fatal(err)
		}
		if takes := takesInterim(r); takes != c.takes {
			t.Errorf("%s: takes interim responses: %t, want %t", name, takes, c.takes)
		}
	}
}
