// Package respondertest has the suites that every surface must pass.
//
// [Run] is for surfaces that post. It covers what people do to a post (click
// twice, too late, without permission), and what happens to the surface
// (crashes, a foreign service that is down or refuses, redelivery, replicas
// that come and go).
//
// [RunLive] is for live screens: they must show the pending asks, remove each
// one however it ends, and be correct again after the bus was unreachable.
//
// Both start a real bus for each case. A surface's own test provides a
// [Surface] with a fake of its foreign service, or a [Screen].
package respondertest
