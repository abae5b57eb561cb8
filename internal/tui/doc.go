// Package tui is the inbox in a terminal: the list of what waits, the card of
// one ask, and the ways to answer it, with the keys of the web inbox.
//
// It decides what is drawn and what a key means. It leaves what a card says to
// internal/present, what waits to the kit's board, and which answer counts to
// the bus. It promises that a half-typed answer and its caret survive every
// update and every reconnect, that nothing is sent which the person did not
// send, and that text of agents is text: it comes clean from present.
package tui
