package ledger_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/bus/ledger"
	"github.com/askbus/askbus/internal/protocol/subject"
	"github.com/askbus/askbus/internal/testkit/natstest"
)

// A replica gives work back, and other asks are stored before anybody takes it. The server forgot that
// it was given back, until its lease was over.
func TestWorkThatIsGivenBackIsHandedOutWhateverIsStored(t *testing.T) {
	t.Parallel()
	b := start(t, ledger.Options{Lease: time.Hour})
	work, group := ledger.NewWork(b.led), ledger.Group{Type: "slack"}
	b.store(t, key("s1", "a1"))
	items, err := work.Next(t.Context(), group, subject.Question, 10)
	if err != nil || len(items) != 1 {
		t.Fatalf("%d items, %v", len(items), err)
	}
	if err := work.Settle(t.Context(), group, items[0].Token, subject.VerbLater, 0); err != nil {
		t.Fatal(err)
	}
	for i := range 100 { // the server queues what is given back 10 ms later
		b.store(t, key("s1", fmt.Sprint("b", i)))
	}
	natstest.Eventually(t, "it is handed out again", func() bool {
		items, err := work.Next(t.Context(), group, subject.Question, 10)
		if err != nil {
			t.Fatal(err)
		}
		for i := range items {
			if items[i].State.Ask.ID == "a1" {
				return true
			}
		}
		return false
	})
}
