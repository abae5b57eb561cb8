// Package mattermost is the surface in Mattermost: a post with buttons for each ask, over its REST API.
//
// The server calls [App.Handler] when somebody presses a button or sends a dialog; these calls are not signed. Each button
// carries a code that this app made for this post, ask and button, and that no member can read; a dialog carries one that is
// also for the person who opened it, since its state passes through their machine. A bot can give its posts no key that it
// could find again, so a post gets its buttons when the bus knows where it is ([responder.Opener]).
package mattermost
