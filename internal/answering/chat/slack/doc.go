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
//
// Everything that a click needs travels in the card: a button's value and a block's id name the ask,
// its life, the question and the option, and the answer_id is derived from channel, message, event
// and person. Slack gives a click to any connection, never repeats a lost one, and repeats events up
// to three times, so any replica must handle anything.
//
// slack-go makes the calls and checks signatures. Sockets are ours (socket.go), because its Socket
// Mode client leaves a hole at each routine disconnect and notices a dead connection after up to
// 60 s. So is decoding: slack-go's loses the whole click over one block that it does not know.
package slack
