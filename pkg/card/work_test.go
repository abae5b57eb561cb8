package card_test

import (
	"strings"
	"testing"
	"time"

	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/card"
)

func TestACardShowsTheAgentsWork(t *testing.T) {
	t.Parallel()
	of := func(agent ask.Agent, session string) *card.Card {
		a := ask.Ask{ID: "a", Tenant: "default", Session: session, Agent: agent, Questions: []ask.Question{{Text: "May I?", Kind: ask.KindBoolean}}}
		a.Normalize()
		return card.New(&ask.Record{State: ask.StatePending, Ask: a}, card.Viewer{}, time.Time{})
	}
	c := of(ask.Agent{Name: "builder", Repository: "acme/payments", Branch: "fix/ledger", Link: "https://git.example.com:8443/acme/payments"}, "3f2a91bc-5b6d-4c8e-9f00-112233445566")
	if got := c.Asker.Work(""); got != "acme/payments, branch fix/ledger" {
		t.Errorf("work %q", got)
	}
	if c.Asker.Host != "git.example.com" || c.Asker.Session != "3f2a91bc" {
		t.Errorf("%+v", c.Asker)
	}
	if head := c.Head(); !strings.HasPrefix(head, "builder asks · acme/payments, branch fix/ledger · session 3f2a91bc · ") {
		t.Errorf("head %q", head)
	}
	if got := of(ask.Agent{Branch: "main"}, "s1").Asker; got.Work("") != "branch main" || got.Session != "s1" {
		t.Errorf("%+v", got)
	}
	if got := of(ask.Agent{Link: "javascript:alert(1)"}, "s1").Asker; got.Link != "" || got.Work("") != "" {
		t.Errorf("a link that no broker lets through: %+v", got)
	}
}
