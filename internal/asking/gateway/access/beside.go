package access

import (
	"net/http"

	"github.com/askbus/askbus/internal/asking/gateway/token"
)

// Caller authenticates a call of a handler next to the gateway's. The error is an [*ask.Error] with
// the status to refuse with.
func (a *Control) Caller(r *http.Request) (token.Token, error) {
	var c Caller
	if err := a.identify(r, &c); err != nil {
		a.Refused(r, &c.Token, err)
		return token.Token{}, Problem(err)
	}
	return c.Token, nil
}
