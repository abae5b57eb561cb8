package wire

import (
	"net/http"

	"github.com/askbus/askbus/pkg/ask"
)

// Codes of refusals that exist only over HTTP.
const (
	CodeMethod      = "method_not_allowed"
	CodeMediaType   = "unsupported_media_type"
	CodeUpgrade     = "upgrade_required"
	CodeSlowBody    = "body_timeout"
	CodeMisdirected = "misdirected"
	CodePending     = "pending"
	CodeScope       = "insufficient_scope" // of an OAuth token; RFC 6750 has the name
)

// HTTPStatus maps a code to its HTTP status; NATS service errors carry the same
// number. An unknown code, which a newer peer may send, maps to 500.
func HTTPStatus(code string) int {
	switch code {
	case ask.CodeVoted: // known to libraries only; a broker replies with the status
		return http.StatusAccepted
	case ask.CodeInvalid:
		return http.StatusBadRequest
	case ask.CodeUnauthorized:
		return http.StatusUnauthorized
	case ask.CodeForbidden, CodeScope:
		return http.StatusForbidden
	case ask.CodeNotFound:
		return http.StatusNotFound
	case ask.CodeResolved, ask.CodeIDReused, ask.CodeConflict:
		return http.StatusConflict
	case ask.CodeExpired:
		return http.StatusGone
	case ask.CodeTooLarge:
		return http.StatusRequestEntityTooLarge
	case ask.CodeQuota:
		return http.StatusTooManyRequests
	case ask.CodeUnavailable, ask.CodeLedgerFull, ask.CodeNobody:
		return http.StatusServiceUnavailable
	case CodeMethod:
		return http.StatusMethodNotAllowed
	case CodeMediaType:
		return http.StatusUnsupportedMediaType
	case CodeUpgrade:
		return http.StatusUpgradeRequired
	case CodeSlowBody:
		return http.StatusRequestTimeout
	case CodeMisdirected:
		return http.StatusMisdirectedRequest
	case CodePending:
		return http.StatusGatewayTimeout
	}
	return http.StatusInternalServerError
}
