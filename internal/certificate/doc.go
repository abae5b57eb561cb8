// Package certificate holds the TLS certificate of a process's listeners.
//
// It decides which certificate and which client CA a new connection sees
// ([Keeper]), when files are read again, and makes a certificate for processes
// that were given none ([Own]). It leaves who listens where to its callers.
//
// It promises (safety) that files which do not fit together, or a certificate
// that has expired, never replace one that works, and that no private key
// leaves its file other than into a handshake; and (liveness) that a working
// new certificate is shown to connections that begin after the next look at the
// files. Connections that are open go on with what they began with.
package certificate
