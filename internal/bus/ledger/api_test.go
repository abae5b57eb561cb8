package ledger_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/askbus/askbus/internal/bus/ledger"
	"github.com/askbus/askbus/internal/server/rights"
	"github.com/askbus/askbus/internal/testkit/natstest"
	"github.com/askbus/askbus/pkg/ask"
)

// A refused write says what was seen: one busy server neither chooses a leader
// nor has a full disk.
func TestARefusedWriteSaysWhatWasSeen(t *testing.T) {
	t.Parallel()
	b := start(t, ledger.Options{})
	line := b.Line()
	led, err := ledger.Open(t.Context(), line.Connect(rights.Role{Name: rights.RoleLedger}), ledger.Options{Logger: natstest.Logger()})
	if err != nil {
		t.Fatal(err)
	}
	k := key("s1", "a1")
	q := question(t, k, led.Now())
	resume := line.Stall()
	_, err = led.Store(t.Context(), q)
	resume()
	if e, ok := errors.AsType[*ask.Error](err); !ok || e.Code != ask.CodeUnavailable || !strings.Contains(e.Detail, "did not acknowledge") || strings.Contains(e.Detail, "leader") || strings.Contains(e.Detail, "disk") {
		t.Errorf("the server is slow: %v", err)
	}

	_, name := b.place(k)
	if err := b.js.DeleteStream(t.Context(), name); err != nil {
		t.Fatal(err)
	}
	_, err = led.Store(t.Context(), q)
	if e, ok := errors.AsType[*ask.Error](err); !ok || e.Code != ask.CodeUnavailable || !strings.Contains(e.Detail, "no server stores") {
		t.Errorf("nobody leads: %v", err)
	}
}
