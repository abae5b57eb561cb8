package hook_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/asking/hook"
	"github.com/askbus/askbus/internal/server/rights"
	"github.com/askbus/askbus/internal/testkit/natstest"
)

// TestTwoThousandHooksLeaveNothing is not parallel: it counts goroutines of the process.
func TestTwoThousandHooksLeaveNothing(t *testing.T) {
	bus := natstest.Start(t, natstest.Options{Memory: true})
	bus.AnswerAll("web")
	h := hook.New(natstest.Opener{Conn: bus.Connect(rights.Role{Name: rights.RoleGateway})}, hook.Options{Logger: natstest.Logger()})
	srv := httptest.NewServer(h.Handler(func(*http.Request) (func(session string) (hook.Call, error), error) {
		return func(session string) (hook.Call, error) { return hook.Call{Tenant: "acme", Session: session}, nil }, nil
	}))
	t.Cleanup(srv.Close)
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 4}}
	t.Cleanup(client.CloseIdleConnections)
	bus.LeavesNothing(t, func(i int) error {
		body := strings.NewReplacer("s-1", fmt.Sprint("s-", i%50), "toolu_9", fmt.Sprint("toolu_", i)).Replace(before)
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, srv.URL+hook.Path, strings.NewReader(body))
		if err != nil {
			return err
		}
		res, err := client.Do(req)
		if err != nil {
			return err
		}
		defer res.Body.Close()
		if res.StatusCode == http.StatusOK {
			return nil
		}
		why := res.Header.Get("Askbus-Reason")
		err = fmt.Errorf("status %s: %s", res.Status, why)
		if strings.Contains(why, "the broker does not answer") || strings.Contains(why, "try again") {
			return &natstest.UnavailableError{After: time.Second, Err: err}
		}
		return err
	})
}
