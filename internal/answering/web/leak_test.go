package web_test

import (
	"bufio"
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strconv"
	"testing"

	"github.com/askbus/askbus/internal/testkit/natstest"
	"github.com/askbus/askbus/pkg/responder"
)

// TestTwoThousandStreamsLeaveNothing is not parallel: it counts the process's
// goroutines and connections.
func TestTwoThousandStreamsLeaveNothing(t *testing.T) {
	b := natstest.Start(t, natstest.Options{Memory: true})
	r, err := responder.New(b.Responder("web"), "web", responder.Options{Logger: natstest.Logger()})
	if err != nil {
		t.Fatal(err)
	}
	l := &live{t: t, srv: httptest.NewUnstartedServer(nil), ready: make(chan struct{}), users: map[string]user{}}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- l.Run(ctx, r) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Run: %v", err)
		}
	})
	u := l.as(mei)
	b.LeavesNothing(t, func(i int) error {
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, l.srv.URL+"/events?q="+strconv.Itoa(i%50), nil)
		if err != nil {
			return err
		}
		res, err := u.client.Do(req)
		if err != nil {
			return err
		}
		defer res.Body.Close()
		lines := bufio.NewScanner(res.Body)
		for lines.Scan() {
			if lines.Text() == "event: hello" {
				return nil
			}
		}
		return errors.New(res.Status)
	})
}
