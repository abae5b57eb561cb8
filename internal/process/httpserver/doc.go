// Package httpserver serves HTTP with limits, so that no client can starve the others: every
// listener of a process uses it.
//
// It decides how many connections there may be (in total, per remote address, per credential, and
// unidentified), how long headers and bodies may take, and for which hosts a server may answer
// ([KnownHost]). It leaves authorization to the handlers, which report the caller of a connection
// ([Identify]).
//
// It promises (safety) that connections never use more descriptors than [Limits.Connections], so
// that the rest of the process keeps its own; and (liveness) that a connection which sends half a
// request is closed by its deadline, and that identified callers are served during a flood.
package httpserver
