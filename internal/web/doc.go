// Package web is the inbox in a browser: it shows what waits, live, and sends
// back what a person decides.
//
// It decides how an ask looks and how a form becomes a reply. It leaves to the
// broker which answer counts, and to its caller the listener, TLS and the
// limits on headers. It promises that agent text never becomes markup, script
// or a remote request; that nothing of any ask is shown without a valid
// cookie; that every page works without JavaScript; and that what a person has
// typed is never thrown away by somebody else's answer.
//
// The way of an ask through the package: [Server.Run] watches the bus and keeps
// the board (board.go); pages draw from the board (view.go, templates); a
// browser's event stream (stream.go) only says that the board has changed, and
// the browser then fetches its page again and takes over what differs
// (static/app.js).
package web
