// Package prompt asks a person at a terminal, a line at a time: for screen readers, for terminals
// that can only print, and for questions that are also asked elsewhere. It supports every kind of
// question.
//
// It decides what is printed and how typed lines are parsed. It leaves the content of a card to
// pkg/card, the rules of replies to pkg/ask, and sending to its caller. It promises to
// print only lines of text: no color, no cursor movement, no overwriting.
package prompt
