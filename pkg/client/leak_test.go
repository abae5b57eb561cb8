package client_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/server/rights"
	"github.com/askbus/askbus/internal/testkit/natstest"
	"github.com/askbus/askbus/pkg/client"
)

// TestTwoThousandAsksLeaveNothing is not parallel: it counts goroutines and
// subscriptions of the process. It closes nothing.
func TestTwoThousandAsksLeaveNothing(t *testing.T) {
	b := natstest.Start(t, natstest.Options{Memory: true})
	b.AnswerAll("web")
	c, err := client.New(b.Connect(rights.Role{Name: rights.RoleOperator}), client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	b.LeavesNothing(t, func(i int) error {
		s, a := c.Session("acme", fmt.Sprint("s", i%100)), textual(fmt.Sprint("a", i), time.Hour)
		switch i % 3 {
		case 0:
			_, err := s.AskAndWait(t.Context(), a)
			return err
		case 1: // nothing waits
			_, err := s.AskToWait(t.Context(), a)
			return err
		}
		if _, err := s.Ask(t.Context(), a); err != nil {
			return err
		}
		_, err := s.Wait(t.Context(), a.ID)
		return err
	})
}
