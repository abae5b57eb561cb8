// Package gateway puts together what agents and foreign screens reach over HTTP:
// the API (package httpapi), the WebSocket (wsapi) and the panel to embed
// (panel). They stand behind one control of who may call and how much (access),
// and ask through one client (asking).
//
// It decides which paths there are. It leaves to pkg/dialect how words map, to
// the broker which answer counts, and to pkg/client and pkg/responder how
// nothing is lost on the bus.
//
// It promises that a connection that drops withdraws nothing, and that memory is
// bounded by the limits in [Options]: bodies, requests, sockets, and what waits
// for a slow socket. It keeps no state that a replica would need: any number may
// serve the same tokens.
package gateway
