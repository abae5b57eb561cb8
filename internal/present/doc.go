// Package present is the view model that every surface draws: one ask, seen by
// one person at one time, becomes a [Card]. Web, terminal, chat and the text
// form show the same things in the same order and words.
//
// It decides what is said, in which language, what is marked and how, what this
// person may do and why not, which keys work, and what is asked again after a
// reply. How that looks (HTML, cells, blocks) is for the surface. What a surface
// cannot draw it shows as [Card.Text].
//
// It is pure: the time and the viewer are arguments. All text on a card is
// clean: nothing that an agent or a person wrote can steer a terminal or turn
// the direction of what stands beside it. Fields called ID, Value or Key hold
// identities as they are; they go back to the bus and are never shown.
package present
