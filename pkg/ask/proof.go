package ask

import "strings"

// Proofs say how it is known who acted ([By.Proof]). A surface may say more
// behind its word, as in "slack-signature".
const (
	ProofCredential = "credential" // a responder's own credential, no person's
	ProofToken      = "token"      // an API token
	ProofLink       = "link"       // a one-time login link
	ProofOS         = "os"         // the user of an operating system
	ProofSSHKey     = "ssh-key"
	ProofSlack      = "slack"
	ProofOIDC       = "oidc"
	ProofPasskey    = "passkey"
	ProofProxy      = "proxy" // a proxy in front of the web inbox says who it is
)

// How strong proofs are, the weakest first. Those of one strength stand in for
// each other.
const (
	weak     = iota // nobody in particular
	atHost          // somebody at the agent's own host, or with a token
	onSystem        // a user of an operating system
	signedIn        // a person who signed in
)

// strength is that of a proof. One that is not known proves nothing.
func strength(proof string) int {
	switch {
	case proof == ProofHostDialog, proof == ProofAskerTerminal, proof == ProofToken:
		return atHost
	case proof == ProofOS, proof == ProofLink, proof == ProofProxy, proof == "local": // as older outcomes say
		return onSystem
	case proof == ProofSSHKey, proof == ProofOIDC, proof == ProofPasskey, proof == ProofSlack, strings.HasPrefix(proof, ProofSlack+"-"):
		return signedIn
	}
	return weak
}

// MinProofs are the values of [Ask.MinProof], the weakest first. The last four
// are of one strength.
func MinProofs() []string {
	return []string{ProofHostDialog, ProofOS, ProofSSHKey, ProofSlack, ProofOIDC, ProofPasskey}
}

// Proves reports whether it is known as well as an ask demands who acted. An
// empty demand is none.
func (b By) Proves(demand string) bool {
	return strength(b.Proof) >= strength(demand)
}

// Needs says in words what a minimal proof demands, such as "needs a sign-in by
// SSH key, Slack, OpenID Connect or passkey"; empty when it demands nothing.
func Needs(demand string) string {
	switch strength(demand) {
	case signedIn:
		return "needs a sign-in by SSH key, Slack, OpenID Connect or passkey"
	case onSystem:
		return "needs a sign-in, or the user of this machine"
	case atHost:
		return "needs a person, at least at the agent's own host"
	}
	return ""
}
