package main

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/testkit/waittest"
)

// TestBodiesAreReadOnlyAfterAuthentication sends half a body to every handler that takes one:
// without a token it is refused long before the body's deadline.
func TestBodiesAreReadOnlyAfterAuthentication(t *testing.T) {
	t.Parallel()
	pl, _ := up(t)
	addr := strings.TrimPrefix(pl.context().HTTPURL, "http://")
	host := pl.token("--role", "host", "--session", "s1", "--principal", "os:ben")
	for _, path := range []string{
		"/v1/hook", "/t/askb_x_y/v1/hook", "/mcp", "/mcp?elicit=true", "/t/askb_x_y/mcp", "/v1/permission", "/t/askb_x_y/v1/permission", "/api/interact/ask", "/v1/asks",
		"/v1/asks?dialect=d1", "/v1/events", "/v1/asks/s1/a/answer", "/v1/asks/s1/a/decline", "/ask/default/s1/a/answer", "/ask/default/s1/a/decline",
	} {
		for _, credential := range []string{"", "Authorization: Bearer askb_no_no\r\n", "Askbus-Host-Authorization: Bearer " + host + "\r\n"} {
			conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", addr)
			if err != nil {
				t.Fatal(err)
			}
			if err := conn.SetDeadline(time.Now().Add(waittest.Limit)); err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: %s\r\n%sContent-Type: application/json\r\nContent-Length: 900000\r\n\r\n{", path, addr, credential)
			res, err := http.ReadResponse(bufio.NewReader(conn), nil)
			if err != nil {
				t.Errorf("%s: %v", path, err)
			} else {
				_ = res.Body.Close()
				if res.StatusCode != http.StatusUnauthorized && !strings.HasPrefix(path, "/ask/") {
					t.Errorf("%s, %q: %s", path, credential, res.Status)
				}
			}
			_ = conn.Close()
		}
	}
}
