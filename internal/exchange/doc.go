// Package exchange swaps a token that somebody already has for a credential of
// one session: that of a Kubernetes service account, of an OIDC issuer, or an
// API token.
//
// An [Issuer] verifies the token and decides by a rules file whose credential it
// is worth; it runs in the small process that can reach the signing keys. A
// gateway forwards with [Swap] and decides nothing. What a role may do, and how
// a credential is signed, is for others.
//
// It promises that a credential never outlives the token it was given for, that
// it covers one session and never more than the rule says, that a claim never
// becomes a wildcard, that no token and no credential is logged,
// and that a credential can be read by the process that asked for it alone.
package exchange
