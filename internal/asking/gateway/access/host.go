package access

import (
	"net/http"
	"strings"

	"github.com/askbus/askbus/internal/asking/gateway/token"
	"github.com/askbus/askbus/pkg/ask"
)

// hostHeader carries the token of an agent's host, in addition to the agent's own in Authorization.
// Answers of a host's dialog count only with it. Web pages cannot send it: CORS does not allow it.
const hostHeader = "Askbus-Host-Authorization"

// NoHost explains why an answer of a host's dialog does not count with only an agent's token.
const NoHost = "answers of the dialog of an agent's host count only with the host's own token: send it as \"" + hostHeader +
	": Bearer askb_…\" in addition to the agent's (\"askbus token issue --role host --session S\" makes one)"

// Host returns the token of the host that sends a request about a session; false if there is none.
// A token with another role or for another session is an [*ask.Error].
func (a *Control) Host(r *http.Request, tenant, session string) (token.Token, bool, error) {
	value := r.Header.Get(hostHeader)
	if value == "" {
		return token.Token{}, false, nil
	}
	scheme, secret, _ := strings.Cut(value, " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return token.Token{}, false, ask.Refusal(ask.CodeUnauthorized, ask.FaultBadHostHeader, hostHeader)
	}
	t, err := a.check(r, strings.TrimSpace(secret))
	if err != nil {
		return token.Token{}, false, err
	}
	own, _ := t.Session()
	switch {
	case t.Role != token.Host:
		return token.Token{}, false, ask.Refusal(ask.CodeForbidden, ask.FaultHostRole, hostHeader, t.Role)
	case t.Tenant != tenant || own != session:
		return token.Token{}, false, ask.Refusal(ask.CodeForbidden, ask.FaultHostBeyond, hostHeader, t.Scope(), "session "+session+" of tenant "+tenant)
	}
	return t, true, nil
}
