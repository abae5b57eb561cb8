// Package slack posts asks to Slack: a card where the team talks, edited to its outcome wherever it
// was answered.
//
// It decides how a card looks in Block Kit and how it stays within Slack's limits, which channel or
// person an ask is posted to, what a click or a typed reply means, and who the person is. It leaves
// to [responder.Server] which replica posts, receipts and repeats, and to the broker which answer
// counts and who may give it.
//
// Safety: no text of an agent or a person can mention, link or format anything on a card; an
// unsigned request is refused before it is parsed; membership in a channel grants nothing.
// Liveness: every call fits Slack's limits, so that no card keeps its buttons because its edit was
// refused; a click that Slack lost can be repeated, and an event that Slack repeats counts once,
// without memory shared between replicas.
package slack
