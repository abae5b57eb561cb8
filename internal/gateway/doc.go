// Package gateway is the HTTP and WebSocket doors of askbus: agents ask
// through them in every dialect, and foreign screens show and answer.
//
// It decides who may knock (tokens), how a foreign request becomes an ask and
// an outcome a response, and how much one caller may take up. It leaves to
// pkg/dialect how words map, to the broker which answer counts, and to
// pkg/client and pkg/responder how nothing is lost on the bus.
//
// It promises that a connection that drops withdraws nothing, that an agent's
// token never answers, that every error is a problem body (RFC 9457), that no
// token is logged, and that memory is bounded by the limits in [Options]:
// bodies, requests, sockets, and what waits for a slow socket. It keeps no
// state that a replica would need: any number may serve the same tokens.
package gateway
