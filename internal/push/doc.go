// Package push is the surface that rings phones and browsers whose page is
// closed: web push (RFC 8030, 8291, 8292), as a responder type of its own on
// the kit's Serve, so that of several replicas one rings.
//
// It decides which subscriptions an ask rings and what a notice says; what an
// answer does is the inbox's, which the notice leads to. Subscriptions lie in
// shared state, where the inbox puts them ([Store]). A subscription that its
// push service calls gone is deleted.
//
// It promises: only hosts of push services are called; a subscription rings
// only for asks that its person may answer, and that were asked after it was
// made; while nobody has subscribed, it takes no work.
package push
