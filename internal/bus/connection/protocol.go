package connection

import (
	"errors"

	"github.com/askbus/askbus/internal/protocol/wire"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/nats-io/nats.go"
)

// ErrProtocol means that the broker speaks another protocol number than this
// program. Trying again does not help: surfaces and entrances stop.
var ErrProtocol = errors.New("another protocol number")

// protocolError is an [*ask.Error] and [ErrProtocol].
type protocolError struct{ refusal *ask.Error }

func (e *protocolError) Error() string { return e.refusal.Error() }

func (e *protocolError) Unwrap() []error { return []error{e.refusal, ErrProtocol} }

// checkProtocol refuses the reply of a broker of another protocol number. One that
// does not say its number is believed: it is from before, or not ours.
func checkProtocol(reply *nats.Msg) error {
	said := reply.Header.Get(wire.HeaderProtocol)
	if said == "" || said == wire.ProtocolText() {
		return nil
	}
	e := ask.Refuse(ask.CodeForbidden, "this program speaks protocol %s of askbus, and the broker speaks %s: run the same release of both; docs/compatibility.md says in which order to upgrade", wire.ProtocolText(), ask.Clip(said, 20))
	return &protocolError{wire.AsError(e)}
}
