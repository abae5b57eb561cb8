// Package programstatus tells the terminal that a program waits for a person:
// the Program Status Protocol, OSC 7501, which terminals and multiplexers show
// beside the window.
//
// It decides what is written and how it is wrapped for tmux. It leaves to the
// caller when something waits. It promises to write nothing but whole reports
// to the controlling terminal, never to wait for it, and to take a report back
// when the last wait is over. Terminals that know nothing of it ignore it.
package programstatus
