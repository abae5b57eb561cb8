// Package chat has what every chat shares: where an ask is posted ([Routes]), whether words are an answer ([Listen]), what an
// outcome's card says ([Verdict]), who a member of the chat is, and where an ask is already posted ([Posted]).
//
// A chat itself is its cards, its transport and its identity: see packages slack and telegram.
package chat
