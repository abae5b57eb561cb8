package ledger_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/askbus/askbus/internal/bus/ledger"
	"github.com/askbus/askbus/internal/protocol/subject"
	"github.com/askbus/askbus/internal/server/rights"
	"github.com/askbus/askbus/internal/testkit/natstest"
	"github.com/askbus/askbus/pkg/ask"
)

func TestATokenOfWorkIsCheckedWithoutTheLedger(t *testing.T) {
	t.Parallel()
	b := natstest.Start(t, natstest.Options{Memory: true})
	nc := b.Connect(rights.Role{Name: rights.RoleLedger})
	led, err := ledger.Open(t.Context(), nc, ledger.Options{Logger: natstest.Logger()})
	if err != nil {
		t.Fatal(err)
	}
	group := ledger.Group{Type: "slack"}
	work, other := ledger.NewWork(led), ledger.NewWork(led)
	if _, err := work.Next(t.Context(), group, subject.Question, 1); err != nil {
		t.Fatal(err)
	}
	// Another broker shares the key, and so reaches the ledger.
	k := ask.Key{Tenant: "acme", Session: "s1", ID: "a1"}
	token := ledger.MakeToken(t, work, group, "$JS.ACK."+subject.Stream(subject.Partition(k.Tenant, k.Session, 4))+".slack-q.1.1.1.1.1")
	if err := other.Settle(t.Context(), group, token, subject.VerbDone, 0); errors.Is(err, ask.ErrInvalid) {
		t.Errorf("a token of another broker: %v", err)
	}
	nc.Close()
	if err := work.Settle(t.Context(), group, token, subject.VerbDone, 0); errors.Is(err, ask.ErrInvalid) || err == nil {
		t.Errorf("a valid token without a ledger: %v", err)
	}
	for name, bad := range map[string]string{
		"made up":                token[:3] + "AAAA" + token[7:],
		"of another subject":     strings.Replace(token, ".1.1.1.1.1", ".1.1.1.1.2", 1),
		"cut":                    token[:20],
		"long":                   token + strings.Repeat("1", 1000),
		"with another signature": strings.Repeat("A", 22) + token[22:],
		"empty":                  "",
	} {
		if err := work.Settle(t.Context(), group, bad, subject.VerbDone, 0); !errors.Is(err, ask.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := work.Settle(t.Context(), ledger.Group{Type: "web"}, token, subject.VerbDone, 0); !errors.Is(err, ask.ErrInvalid) {
		t.Errorf("another type's: %v", err)
	}
}
