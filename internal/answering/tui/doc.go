// Package tui is the inbox in a terminal: the list of waiting asks, the card of one ask, and the
// ways to answer it, with the keys of the web inbox.
//
// It decides the layout and the meaning of keys. It leaves the content of a card to
// pkg/card, the waiting asks to the kit's board, and which answer counts to the bus. It
// promises that a draft and its caret survive every update and reconnect, that nothing is sent
// without the person's action, and that agents' text cannot control the terminal: present has
// cleaned it.
//
// Package prompt is the same inbox a line at a time: a screen that is redrawn is useless to a screen
// reader and in a pipe, and form libraries that offer both leave out descriptions and previews.
package tui
