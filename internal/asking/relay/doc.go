// Package relay stands between an editor and an agent that speak JSON-RPC in lines on standard input and output. It
// lets people answer the agent's questions from any screen, beside the editor's own dialog.
//
// A [Protocol] says which messages are questions, and what outcomes and answers look like; this package says whose answer
// counts. It leaves the state of an ask to the broker, and processes to its caller.
//
// It promises (safety) that every other message is forwarded byte for byte, that each question of the agent gets at most
// one response, and exactly one unless the agent withdrew it, that an editor whose dialog was too late is told to close it
// and its answer is dropped, and that only a person's choice becomes a permission; and (liveness) that an unreachable bus
// never delays an editor's answer, and that an ask is withdrawn when the editor, the agent or its turn has ended.
package relay
