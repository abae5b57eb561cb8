package cli_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/askbus/askbus/internal/cli"
)

// Whoever gives the address of something else is told which, and that it may be the wrong one.
func TestAnotherServerIsNoInbox(t *testing.T) {
	t.Parallel()
	other := httptest.NewServer(http.NotFoundHandler())
	defer other.Close()
	err := cli.CallInbox(t.Context(), other.URL, "/begin", "", struct{}{}, &struct{}{})
	if host := strings.TrimPrefix(other.URL, "http://"); err == nil || err.Error() != host+" replied 404 Not Found; is it askbus?" {
		t.Error(err)
	}
}
