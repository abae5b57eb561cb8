// Package acp stands between an editor and an agent that speak the Agent
// Client Protocol on standard input and output, and lets people answer the
// agent's questions from any screen.
//
// It decides which messages are questions (elicitation/create in form mode and
// session/request_permission, of versions 1 and 2), whether the editor is shown
// them, too, and whose answer counts. It leaves shapes to pkg/dialect, the
// truth about an ask to the broker, and processes to cmd.
//
// It promises (safety) that every other message passes byte for byte, that each
// question of the agent gets exactly one response, that an editor whose dialog
// was too late is told to close it and its answer goes no further, and that
// nothing but a person's choice becomes a permission; and (liveness) that a bus
// which is away never keeps an editor's answer from its agent, and that an ask
// is withdrawn when the editor, the agent or the turn that waits for it is gone.
package acp
