package httpapi

import (
	"github.com/askbus/askbus/pkg/dialect"
)

// The CloudEvents types of the event pair at /v1/events; its frames on a socket
// have the same names.
const (
	typePairRequest  = "ask:question:request"
	typePairResponse = "ask:question:response"
	typePairPending  = "ask:question:pending" // ours: nobody has answered yet
)

// eventPair and interact are dialects with paths of their own.
func eventPair() dialect.Dialect {
	d, _ := dialect.Lookup("event-pair") // which it has
	return d
}

func interactDialect() dialect.Dialect {
	d, _ := dialect.Lookup("interact") // which it has
	return d
}
