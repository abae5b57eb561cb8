package httpserver_test

import (
	"testing"

	"github.com/askbus/askbus/internal/process/httpserver"
)

func TestOnlyKnownHostsAreServed(t *testing.T) {
	t.Parallel()
	for host, known := range map[string]bool{
		"localhost:8423": true, "LOCALHOST.": true, "inbox.localhost": true, "127.0.0.1:80": true, "127.8.8.8": true, "[::1]:80": true, "[::ffff:127.0.0.1]": true,
		"ask.example": true, "ask.example.:443": true, "Other.example:1": true, "port.example:99": true,
		"evil.example": false, "localhost.evil.example": false, "127.0.0.1.evil.example": false, "10.0.0.1": false, "": false, "127.0.0.1:8420.evil.example": false, "localhost:x.localhost": false, "ask.example:443.evil": false, "[::1]:80x": false, "a:b:c.localhost": false, "evil/.localhost": false, "127.0.0.1:": true, "ask.example.evil": false, "xask.example": false, "[::2]": false,
	} {
		if got := httpserver.KnownHost(host, "ask.example:443", []string{"other.example", "port.example:99"}); got != known {
			t.Errorf("%q is known: %v", host, got)
		}
	}
}
