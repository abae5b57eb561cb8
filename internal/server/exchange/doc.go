// Package exchange exchanges an existing token for a credential of one session:
// the token of a Kubernetes service account, of an OIDC issuer, or an API
// token.
//
// An [Issuer] verifies the token and decides by a rules file which credential
// it grants; it runs in the small process that can read the signing keys. A
// gateway forwards with [Swap] and decides nothing. Permissions and signing are
// left to others.
//
// It promises that a credential never outlives its token, that it covers one
// session and never more than the rule says, that a claim never becomes a
// wildcard, that no token and no credential is logged, and that only the
// process that requested a credential can read it.
package exchange
