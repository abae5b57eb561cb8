// Package hostcall has the two formats in which the host of a coding agent reports that its tool is
// about to ask a person: the events of a hook, and the call of an agent SDK's permission callback.
// The command, the hook's HTTP handler and the gateway use them.
//
// It decides the response to a host for an outcome. It leaves the format of questions to
// pkg/dialect, and access control to its callers. It is pure, and it promises never to allow a tool
// without an answer.
package hostcall
