// Package gateway serves what agents and foreign screens use over HTTP: the API (package httpapi),
// the WebSocket (wsapi) and the embeddable panel (panel). They share access control and limits
// (access), and one client on the bus (asking).
//
// It decides which paths there are. It leaves the mapping of formats to pkg/dialect, which answer
// counts to the broker, and reliable delivery on the bus to pkg/client and pkg/responder.
//
// It promises that a disconnect withdraws nothing, and that the limits in [Options] bound memory:
// bodies, requests, sockets, and the queue of a slow socket. It keeps no state that another replica
// needs: any number may serve the same tokens.
package gateway
