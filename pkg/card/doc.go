// Package card is the view model of every surface: one ask, seen by one person at one time,
// becomes a [Card]. Web, terminal, chat and the text form show the same things in the same order
// and words.
//
// It decides the texts and their language, what is marked and how, what this person may do and why
// not, which keys work, and what is asked again after a reply. It leaves the look (HTML, cells,
// blocks) to the surface. What a surface cannot render it shows as [Card.Text].
//
// It is pure: the time and the viewer are arguments. All text on a card is clean: nothing written
// by an agent or a person can control a terminal or change the direction of the text around it.
// Fields called ID, Value or Key are raw identifiers that go back to the bus; they are never shown.
package card
