package httpapi

import (
	"github.com/askbus/askbus/pkg/dialect"
)

// The CloudEvents types of the event pair at /v1/events; frames on a socket have the same names.
const (
	typePairRequest  = "ask:question:request"
	typePairResponse = "ask:question:response"
	typePairPending  = "ask:question:pending" // our extension: nobody has answered yet
)

// eventPair and interact are dialects with their own paths.
func eventPair() dialect.Dialect {
	d, _ := dialect.Lookup("event-pair") // exists
	return d
}

func interactDialect() dialect.Dialect {
	d, _ := dialect.Lookup("interact") // exists
	return d
}
