// Package respondertest has the suites that every surface must pass.
//
// [Run] is for surfaces that post: what people
// do to a post (click twice, too late, without being allowed), and what happens
// to those who post (crashes, a foreign service that is away or refuses,
// redelivery, replicas that come and go).
//
// [RunLive] is for live screens: that they show what waits and take it back,
// whatever ended it, and are right again after the bus was away.
//
// Both start a real bus for each case. A surface's own test gives a [Surface]
// with a stand-in for its foreign service, or a [Screen].
package respondertest
