// Command scene records the picture at the top of the README: an agent asks in
// one pane of a terminal, a person answers in the other, and the card in the
// browser folds. It drives the askbus binary, tmux and Chromium, nothing is
// drawn by hand: a frame is what tmux and the page show at that moment, side by
// side. Only the pauses are the script's, so a slow machine makes the same film.
//
// hack/scene runs it.
package main
