package wire

import "strconv"

// protocol is [Protocol] as text, so that a test can link a build of another number:
// -ldflags "-X github.com/askbus/askbus/internal/protocol/wire.protocol=3".
var protocol = "2" //nolint:gochecknoglobals // for the linker

// Protocol is the number of what brokers, surfaces, gateways and agents' entrances
// must agree on: the layout of the ledger, and what its messages mean. Raise it when
// two builds that read a question differently must not share a bus.
func Protocol() int {
	n, _ := strconv.Atoi(protocol) // nothing speaks 0
	return n
}

// HeaderProtocol has [Protocol] in every reply of a broker, and in every request of our
// programs: a broker refuses another number before it stores anything.
const HeaderProtocol = "Askbus-Protocol"

// ProtocolText is [Protocol] as the value of [HeaderProtocol].
func ProtocolText() string { return protocol }
