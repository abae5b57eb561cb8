// Package programstatus tells the terminal that a program waits for a person,
// with the Program Status Protocol, OSC 7501, which terminals and multiplexers
// show next to the window.
//
// It decides what is written and how it is wrapped for tmux. Its caller decides
// when. It promises to write only whole reports to the controlling terminal,
// never to block on it, and to clear the report when the last wait ends.
// Terminals without support ignore it. bubbletea writes OSC 7501 itself
// from 2.1 on, and may replace this package for the screen then.
package programstatus
