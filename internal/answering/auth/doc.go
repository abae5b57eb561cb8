// Package auth says who is signed in, and what they may see and decide:
// people's sessions at the web inbox, the access that a sign-in at a provider
// gives ([Rules]), and the one-time login links that were used. It keeps
// sessions and links in shared state, so that they apply at every replica and
// after a restart. Packages openid and passkey authenticate people.
//
// A session's id is a secret of its browser: shared state holds its hash, and
// the provider's tokens encrypted. Safety: a session that was ended, was idle
// for too long or is too old is refused at every replica within a second, and
// everybody is refused where the broker was unreachable for a minute.
package auth
