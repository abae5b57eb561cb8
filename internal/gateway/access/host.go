package access

import (
	"net/http"
	"strings"

	"github.com/askbus/askbus/internal/gateway/token"
	"github.com/askbus/askbus/pkg/ask"
)

// HostHeader carries the token of an agent's host beside the agent's own in
// Authorization. What a host's dialog answered counts only with it. Pages may
// not send it: it is not among the headers that CORS allows.
const HostHeader = "Askbus-Host-Authorization"

// NoHost is why an answer of a host's dialog that came with an agent's token
// alone does not count.
const NoHost = "what the dialog of an agent's host answered counts only with the host's own token: send it as \"" + HostHeader +
	": Bearer askb_…\" beside the agent's (\"askbus token issue --role host --session S\" makes one)"

// Host is the token of the host that sends a request about a session; false
// when the request has none. A token that is not a host's, or another
// session's, is an [*ask.Error].
func (a *Control) Host(r *http.Request, tenant, session string) (token.Token, bool, error) {
	value := r.Header.Get(HostHeader)
	if value == "" {
		return token.Token{}, false, nil
	}
	scheme, secret, _ := strings.Cut(value, " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return token.Token{}, false, ask.Refuse(ask.CodeUnauthorized, "%s is not like \"Bearer askb_…\"", HostHeader)
	}
	t, err := a.check(r, strings.TrimSpace(secret))
	if err != nil {
		return token.Token{}, false, err
	}
	own, _ := t.Session()
	switch {
	case t.Role != token.Host:
		return token.Token{}, false, ask.Refuse(ask.CodeForbidden, "the token in %s has the role %s; a host's dialog answers with one of the role host", HostHeader, t.Role)
	case t.Tenant != tenant || own != session:
		return token.Token{}, false, ask.Refuse(ask.CodeForbidden, "the token in %s %s; session %s of tenant %s is beyond it", HostHeader, t.Scope(), session, tenant)
	}
	return t, true, nil
}
