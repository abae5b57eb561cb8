package subject_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/askbus/askbus/internal/protocol/subject"
)

func TestRequestsAboutSharedState(t *testing.T) {
	t.Parallel()
	for s, want := range map[string]subject.StateRequest{
		"kvv1.agent.acme.s1.leases.put":                   {Role: subject.StateAgent, Tenant: "acme", Session: "s1", Bucket: "leases", Verb: subject.VerbPut, Key: subject.StateKey{Tenant: "acme", Name: "s1"}},
		"kvv1.responder.web.people-sessions.get.~.k1":     {Role: subject.StateResponder, Type: "web", Bucket: "people-sessions", Verb: subject.VerbGet, Key: subject.StateKey{Name: "k1"}},
		"kvv1.responder.web.snoozes.put.acme.s1.a1.mei":   {Role: subject.StateResponder, Type: "web", Bucket: "snoozes", Verb: subject.VerbPut, Key: subject.StateKey{Tenant: "acme", Name: "s1.a1.mei"}},
		"kvv1.responder.web.snoozes.list":                 {Role: subject.StateResponder, Type: "web", Bucket: "snoozes", Verb: subject.VerbList, Every: true},
		"kvv1.responder.web.snoozes.list.acme":            {Role: subject.StateResponder, Type: "web", Bucket: "snoozes", Verb: subject.VerbList, Key: subject.StateKey{Tenant: "acme"}},
		"kvv1.gateway.tokens.list.~":                      {Role: subject.StateGateway, Bucket: "tokens", Verb: subject.VerbList},
		"kvv1.operator.tokens.delete.~.k1":                {Role: subject.StateOperator, Bucket: "tokens", Verb: subject.VerbDelete, Key: subject.StateKey{Name: "k1"}},
		"kvv1.responder.state.people-sessions.get.acme.k": {Role: subject.StateResponder, Type: "state", Bucket: "people-sessions", Verb: subject.VerbGet, Key: subject.StateKey{Tenant: "acme", Name: "k"}},
	} {
		got, err := subject.ParseState(s)
		if err != nil || got != want || got.String() != s {
			t.Errorf("%s: %+v (%s), %v", s, got, got, err)
		}
	}
	for _, s := range []string{
		"", "kvv1", "kvv1.agent", "kvv1.agent.acme.s1.leases", "kvv1.agent.acme.s1.leases.put.k", "kvv1.agent.*.s1.leases.put", "kvv1.agent.~.s1.leases.put",
		"kvv1.root.tokens.get.~.k", "kvv1.gateway.tokens.get", "kvv1.gateway.tokens.get.~", "kvv1.gateway.tokens.get.~.*", "kvv1.gateway.tokens.get.*.k",
		"kvv1.gateway.tokens.watch.~.k", "kvv1.gateway.tokens.list.~.k", "kvv1.responder.>.tokens.get.~.k", "kvv1.responder.web", "kvv1.operator.tokens.get.~.a.b.c.d.e",
		"kvv1.operator.tokens.get.~.a..b", "kvv1.operator.tokens.get.$JS.a", "askv1.gateway.tokens.get.~.k",
	} {
		if r, err := subject.ParseState(s); err == nil {
			t.Errorf("%q is %+v", s, r)
		}
	}
}

func TestRepliesAboutSharedState(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		subject, reply string
		want           bool
	}{
		"an agent's own":            {"kvv1.agent.acme.s1.leases.put", "_INBOX.a.acme.s1.x", true},
		"another agent's":           {"kvv1.agent.acme.s1.leases.put", "_INBOX.a.acme.s2.x", false},
		"a responder's":             {"kvv1.responder.web.snoozes.get.acme.k", "_INBOX.r.web.x.y", true},
		"a responder's of a tenant": {"kvv1.responder.web.snoozes.get.acme.k", "_INBOX.rt.web.acme.x", true},
		"that of another tenant":    {"kvv1.responder.web.snoozes.get.acme.k", "_INBOX.rt.web.other.x", false},
		"another type's":            {"kvv1.responder.web.snoozes.get.acme.k", "_INBOX.r.slack.x", false},
		"the operator's":            {"kvv1.gateway.tokens.list.~", "_INBOX.op.x", false},
		"the ledger":                {"kvv1.operator.tokens.list.~", "ledgerv1.state.tokens.~.k", false},
		"a wildcard":                {"kvv1.operator.tokens.list.~", "_INBOX.op.>", false},
	} {
		r, err := subject.ParseState(c.subject)
		if err != nil {
			t.Fatal(err)
		}
		if got := subject.StateReplyAllowed(r, c.reply); got != c.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

func TestEveryBucketHasBounds(t *testing.T) {
	t.Parallel()
	for _, b := range subject.Buckets() {
		if b.MaxValue <= 0 || b.MaxTTL <= 0 || b.PerTenant <= 0 || b.Most < b.PerTenant || len(b.Grants) == 0 {
			t.Errorf("%+v", b)
		}
		for _, g := range b.Grants {
			if g.Role == subject.StateAgent && b.Name != subject.BucketLeases {
				t.Errorf("agents have rights in %s", b.Name)
			}
		}
	}
}

// The table in docs/protocol.md, section 10, is the same.
func TestTheProtocolHasTheTable(t *testing.T) {
	t.Parallel()
	doc, err := os.ReadFile("../../../docs/protocol.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range subject.Buckets() {
		verbs := map[subject.StateRole]string{}
		for _, g := range b.Grants {
			var words []string
			for _, v := range g.Verbs {
				words = append(words, string(v))
			}
			said := " " + strings.Join(words, " ")
			if g.Type != "" {
				said = " `" + g.Type + "`:" + said
			}
			if verbs[g.Role] != "" {
				verbs[g.Role] += ";"
			}
			verbs[g.Role] += said
		}
		none := ""
		if !b.NeedsTTL {
			none = ", or none"
		}
		row := fmt.Sprintf("| `%s` | %d | %d d%s | %d / %d |", b.Name, b.MaxValue, int(b.MaxTTL.Hours()/24), none, b.PerTenant, b.Most)
		for _, role := range []subject.StateRole{subject.StateAgent, subject.StateResponder, subject.StateGateway, subject.StateOperator} {
			row += verbs[role] + " |"
		}
		if !strings.Contains(string(doc), row+"\n") {
			t.Errorf("it lacks this row:\n%s", row)
		}
	}
}
