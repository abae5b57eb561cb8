// Package chat has what every chat shares: where an ask is posted ([Routes]), where it is already posted ([Posted],
// [Sessions]), how a message of it is answered, corrected and edited ([Surface]), whether words are an answer ([Listen]),
// what words in a thread come to ([Thread], [Surface.Take]) and how several questions are answered with buttons, one after
// the other ([Stepwise]), what an outcome's message says ([Summarize]), and who a member of the chat is ([People]).
//
// A chat itself is its cards, its transport and its identity: see packages slack and telegram.
package chat
