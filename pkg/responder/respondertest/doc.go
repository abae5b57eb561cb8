// Package respondertest has a suite for each kind of surface.
//
// [Run] is for surfaces that post. It covers what people do to a post (click
// twice, too late, without permission), and what happens to the surface
// (crashes, a foreign service that is down or refuses, redelivery, replicas
// that come and go). Every chat, push and both examples run it, and every chat
// runs [RunChat] as well.
//
// [RunLive] is for live screens: they must show the pending asks, remove each
// one however it ends, and be correct again after the bus was unreachable. The
// inbox, the terminal and the line prompt run it. The WebSocket screens of the
// gateway do not: a gateway's credential, not a person, answers there.
//
// A surface names the cases that it cannot have, each with its reason
// ([Without]).
//
// Both start a real bus for each case. A surface's own test provides a
// [Surface] with a fake of its foreign service, or a [Screen].
package respondertest
