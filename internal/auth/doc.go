// Package auth says who is signed in, and what they may see and decide: the
// sessions of people at the web inbox, what a sign-in elsewhere is worth here
// ([Rules]), and which one-time login links were used. It keeps sessions and
// links in shared state, so that they hold at every replica and after a restart.
// How a provider and a passkey prove who somebody is, is in openid and passkey.
//
// A session's id is a secret that only its browser has: shared state holds its
// hash, and the provider's tokens sealed. Safety: a session that was ended, has
// been idle for too long or is too old counts at no replica once that is known
// there, which takes less than a second, and nobody is let in where the broker
// was not reached for a minute.
package auth
