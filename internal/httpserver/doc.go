// Package httpserver serves HTTP so that nobody who connects takes what others
// need: every listener of a process goes through it.
//
// It decides how many connections there may be (in all, of one remote address,
// of one credential, and of nobody in particular), how long headers and
// bodies may take, and which hosts a server may answer for ([KnownHost]). It leaves who may do what to the handlers, which tell it
// whose connection a request came on ([Identify]).
//
// It promises (safety) that connections never take more descriptors than
// [Limits.Connections], so that the rest of the process keeps its own; and
// (liveness) that a connection which sends half a request is closed by its
// deadline, and that callers who are known are served while others flood.
package httpserver
