// Package acp is a proxy between an editor and an agent that speak the Agent Client Protocol on
// standard input and output. It lets people answer the agent's questions from any screen.
//
// It decides which messages are questions (elicitation/create in form mode and
// session/request_permission, of versions 1 and 2), whether the editor shows them as well, and
// whose answer counts. It leaves formats to pkg/dialect, the state of an ask to the broker, and
// processes to cmd.
//
// It promises (safety) that every other message is forwarded byte for byte, that each question of
// the agent gets exactly one response, that an editor whose dialog was too late is told to close it
// and its answer is dropped, and that only a person's choice becomes a permission; and (liveness)
// that an unreachable bus never delays an editor's answer, and that an ask is withdrawn when the
// editor, the agent or its turn has ended.
package acp
