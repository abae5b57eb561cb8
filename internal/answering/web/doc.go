// Package web is the inbox in a browser: it shows pending asks, live, and sends
// the person's answers to the bus.
//
// It decides how an ask looks and how a form becomes a reply. It leaves to the
// broker which answer counts, and to its caller the listener, TLS and the
// limits on headers. It promises that agent text never becomes markup, script
// or a remote request; that no part of an ask is shown without a valid cookie;
// that every page works without JavaScript; and that another person's answer
// never discards what somebody has typed.
//
// [Server.Run] watches the bus and keeps the board, a [board.Board]. Pages
// are drawn from the board (view.go, rows.go, templates). Each open view, which
// is what one person sees of one listing, has a feed (feed.go). The feed draws
// the changed rows once for all browsers at that view, and the event stream of
// each browser (stream.go) carries them. The browser inserts them into its
// list, and fetches the ask in focus again if it changed (static/live.js).
package web
