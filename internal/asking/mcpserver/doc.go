// Package mcpserver offers askbus to agents as MCP tools: ask a human, wait on, withdraw, and list
// open questions.
//
// It decides how long a call waits, which ask a repeated call belongs to, and the wording for
// models. It leaves formats to pkg/dialect, every decision about an ask to the broker, and
// authentication to the HTTP server that mounts it. Only this package uses the MCP SDK.
//
// It promises (safety) that a dropped, cancelled or timed-out call withdraws nothing, and that no
// result looks like a human's answer unless a human gave it; and (liveness) that every call ends by
// its own deadline, whatever client and network do.
package mcpserver
