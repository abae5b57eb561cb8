// Package guard stands between an MCP client and a server, and asks a person before the tool calls that its rules
// name. It is for agents that have no permission prompt of their own.
//
// It decides which calls wait for a person, and what their client is told meanwhile. It leaves the card of a
// permission to hook/hostcall, and which answer counts to the broker. Every other message passes unchanged.
//
// It promises (safety) that a call that needs a person is carried out only after a person allowed it, and at most
// once, whatever fails; and that a message that can be read in two ways is refused. (Liveness) every call has a
// response within the guard's wait, or when the server answers.
package guard
