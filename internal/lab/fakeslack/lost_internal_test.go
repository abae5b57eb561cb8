package fakeslack

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"
)

// A call whose caller is gone before it is handled has no effect: a replica that
// was killed posts nothing afterwards.
func TestACallOfADeadClientIsLost(t *testing.T) {
	t.Parallel()
	s, err := Start(Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for name, want := range map[string]int{"alive": 1, "dead": 0} {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		if name == "dead" {
			cancel()
		}
		r := httptest.NewRequestWithContext(ctx, http.MethodPost, "/api/auth.test", http.NoBody)
		r.SetPathValue("method", name)
		s.serveAPI(httptest.NewRecorder(), r)
		if n := s.Count(name); n != want {
			t.Errorf("%s: %d calls, want %d", name, n, want)
		}
	}
}
