// Package codex is the protocol of Codex's app-server as package relay needs it: which requests of the server are
// questions, and what an answer looks like. Requests are approvals of commands, file changes, permissions and calls of MCP
// tools, questions of the tool request_user_input, and forms of MCP servers.
//
// The shapes are those of "codex app-server generate-ts" (0.169.0): JSON-RPC without the member "jsonrpc". The server
// itself tells its client with serverRequest/resolved that a request was answered, so a client's dialog closes when
// somebody answered elsewhere; the same notification ends a request whose turn was interrupted.
package codex
