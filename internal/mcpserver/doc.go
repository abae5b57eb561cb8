// Package mcpserver offers askbus to agents as MCP tools: ask a human, wait on,
// withdraw, and list what is open.
//
// It decides how long a call waits, which ask a repeated call belongs to, and
// in which words a model reads what happened. It leaves shapes to pkg/dialect,
// every decision about an ask to the broker, and who may call to the HTTP door
// that it is mounted in. The MCP SDK is spoken here and nowhere else.
//
// It promises (safety) that a call which is dropped, cancelled or over its time
// withdraws nothing, and that no result looks like a human's answer unless a
// human gave it; and (liveness) that every call ends by its own deadline,
// whatever client and network do.
package mcpserver
