package audit_test

import (
	"testing"

	"github.com/askbus/askbus/internal/bus/audit"
)

// A record of a vote may be missing; the end has it, and who searches for the voter finds that.
func TestASearchForAPersonFindsWhereTheyVoted(t *testing.T) {
	t.Parallel()
	end := audit.Record{
		Actor:  &audit.Actor{Principal: "oidc:tom", Credential: "UTOM", For: "oidc:ana"},
		Object: &audit.Object{ID: "t1", Principal: "oidc:eve"},
		Decision: &audit.Decision{Votes: []audit.Vote{
			{Principal: "oidc:tom", Credential: "UTOM"},
			{Principal: "oidc:mei", Credential: "UMEI", Token: "t2", For: "oidc:jo"},
		}},
	}
	for who, found := range map[string]bool{"oidc:tom": true, "oidc:ana": true, "oidc:eve": true, "oidc:mei": true, "oidc:jo": true, "oidc:me": false} {
		if q := (audit.Query{Principal: who}); q.Wants(&end) != found {
			t.Errorf("a search for %s: found is %t", who, !found)
		}
	}
	for key, found := range map[string]bool{"UTOM": true, "UMEI": true, "t1": true, "t2": true, "UANA": false} {
		if q := (audit.Query{Key: key}); q.Wants(&end) != found {
			t.Errorf("a search for what was done with %s: found is %t", key, !found)
		}
	}
}
