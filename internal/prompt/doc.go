// Package prompt asks a person at a terminal, a line at a time: for screen
// readers, for terminals that can only print, and for a question that is
// answered beside something else. Every kind of question is complete here.
//
// It decides what is printed and what a typed line means. It leaves what a card
// says to internal/present, the rules of replies to pkg/ask, and what happens
// to a reply to its caller. It promises to print lines of text and nothing
// else: no colour, no cursor, no text that is drawn over.
package prompt
