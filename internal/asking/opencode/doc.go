// Package opencode stands beside a server of opencode and asks people what it asks: its questions and its
// permissions. opencode's own dialogs stay open, and the first answer counts.
//
// It decides what is pending on the server, which of that is an ask, and what an outcome means to opencode. It
// leaves the shape of questions to pkg/dialect, the words of a permission to hostcall, and the state of an ask to
// the broker.
//
// The server's lists are what counts; its events only say when to read them, and which request a person decided in
// opencode. Requests exist in two generations of its API, and in both at once: /question and /permission for one
// directory, and the same below /api.
//
// It promises (safety) that only a person's choice permits anything, that a request is asked once, also by two
// bridges of one server and by a bridge that was killed and started again, and that no answer counts after a
// decision in opencode that the bridge knows of; and (liveness) that what is decided or left in opencode, or lost with
// its server, is withdrawn.
package opencode
