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
// the board, a [responder.Board]; pages draw from the board (view.go, rows.go,
// templates). Each view that is open, which is what one person sees of one
// listing, has a feed (feed.go): it draws the rows that changed, once for all
// who look at that view, and a browser's event stream (stream.go) carries them.
// The browser puts them into its list, and fetches the ask in focus when that is
// what changed (static/live.js).
package web
