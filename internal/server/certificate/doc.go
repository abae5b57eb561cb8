// Package certificate holds the TLS certificate of a process's listeners.
//
// It decides which certificate and which client CA a new connection uses
// ([Keeper]) and when files are read again, and makes a certificate for
// processes without one ([Own]). It leaves listening to its callers.
//
// It promises (safety) that mismatched files, or an expired certificate, never
// replace a working one, and that no private key leaves its file other than
// into a handshake; and (liveness) that a new working certificate is used by
// connections that begin after the next look at the files. Open connections
// keep theirs.
package certificate
