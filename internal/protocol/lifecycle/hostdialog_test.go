package lifecycle_test

import (
	"errors"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/protocol/lifecycle"
	"github.com/askbus/askbus/pkg/ask"
)

func TestOnlyAProvenPrincipalDecidesForAnAudience(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC)
	mei := ask.By{Principal: "os:mei", Groups: []string{"platform"}}
	for name, c := range map[string]struct {
		responder, proof string
		audience         []string
		refused          bool
	}{
		"the terminal's dialog, no audience":           {ask.ResponderNative, ask.ProofHostDialog, nil, false},
		"a form, no audience":                          {ask.ResponderElicit, ask.ProofHostDialog, nil, false},
		"the terminal's dialog names a principal":      {ask.ResponderNative, "local", []string{"os:mei"}, true},
		"the terminal's dialog names a group":          {ask.ResponderNative, ask.ProofHostDialog, []string{"group:platform"}, true},
		"a form names a principal":                     {ask.ResponderElicit, "oidc", []string{"os:mei"}, true},
		"the asker's own terminal, no audience":        {"cli", ask.ProofAskerTerminal, nil, false},
		"the asker's own terminal names a person":      {"cli", ask.ProofAskerTerminal, []string{"os:mei"}, true},
		"a surface that passes a host's dialog on":     {"gateway", ask.ProofHostDialog, []string{"os:mei"}, true},
		"a surface that proves who answers":            {"web", "local", []string{"os:mei"}, false},
		"a surface that proves somebody else answered": {"web", "local", []string{"os:ben"}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := ask.Ask{ID: "a", Tenant: "t", Session: "s", Audience: c.audience, Questions: []ask.Question{{Text: "Sure?", Kind: ask.KindText}}}
			a.Normalize()
			q := lifecycle.New(a, now)
			by := mei
			by.Responder, by.Proof = c.responder, c.proof
			for _, command := range []lifecycle.Command{
				lifecycle.Reply{Reply: ask.Reply{AnswerID: "1", By: by, Answers: []ask.Answer{{QuestionID: "q1", Text: "yes"}}}},
				lifecycle.Decline{Reply: ask.Reply{AnswerID: "1", By: by}, Reason: "no"},
			} {
				effect, err := lifecycle.Decide(q, command, now)
				if got := errors.Is(err, ask.ErrForbidden); got != c.refused || c.refused != (effect == nil) {
					t.Errorf("%T: effect %v, error %v; refused should be %v", command, effect, err, c.refused)
				}
			}
		})
	}
}
