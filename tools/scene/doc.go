// Command scene records the picture at the top of the README: an agent asks in
// one pane of a terminal, a person answers in the other, and the card in the
// browser closes. It drives the askbus binary, tmux and Chromium. Each frame
// shows tmux and the page side by side, as they are at that moment. Only the
// script's pauses set the frames' delays, so a slow machine makes the same
// film.
//
// hack/scene runs it.
package main
