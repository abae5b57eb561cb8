// Package slack puts asks into Slack: a card where the team talks, edited to
// its outcome wherever it was answered.
//
// It decides what a card says in Block Kit and how it stays within Slack's
// limits, which channel or person an ask goes to, what a click or a typed reply
// means, and who the person is. It leaves to [responder.Server] which replica
// posts, receipts and repeats, and to the broker which answer counts and who may
// give it.
//
// Safety: nothing that an agent or a person wrote can mention, link or format
// anything on a card; an unsigned request is refused before it is read as
// anything; membership in a channel is no authority. Liveness: every call fits
// Slack's limits, so that no card keeps live buttons because its edit was
// refused; what Slack lost (a click) can be done again, and what Slack repeats
// (an event) counts once, without memory shared between replicas.
package slack
