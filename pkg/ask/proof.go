package ask

import "strings"

// Proofs say how it is known who acted ([By.Proof]). A surface may append a
// suffix, as in "slack-signature".
const (
	ProofCredential = "credential" // a responder's own credential, not a person's
	ProofToken      = "token"      // an API token
	ProofLink       = "link"       // a one-time login link
	ProofOS         = "os"         // the user of an operating system
	ProofSSHKey     = "ssh-key"
	ProofSlack      = "slack"
	ProofTelegram   = "telegram"
	ProofDiscord    = "discord"
	ProofFeishu     = "feishu"
	ProofTeams      = "teams"
	ProofMattermost = "mattermost"
	ProofEmailLink  = "email-link" // who opened a link that was mailed to them
	ProofEmail      = "email"      // a reply by mail, vouched for by the server that received it
	ProofOIDC       = "oidc"
	ProofPasskey    = "passkey"
	ProofWebhook    = "webhook" // a program that an operator registered: nobody in particular
	ProofProxy      = "proxy"   // a proxy in front of the web inbox names the person
)

// The strengths of proofs, the weakest first. Proofs of equal strength are
// interchangeable: an agent knows that it wants a sign-in, not which one its
// people have. To allow just one, use an audience whose principals come from
// there. A token is weaker than a user of the system, because nothing proves that
// the secret stayed with the one to whom it was handed; a proxy's claim is as
// strong as one, because the bus cannot see how the proxy knows. A link in a mail
// is as strong as any link: who has it acts with it, and mails are forwarded. A
// reply by mail is weaker, because mail servers vouch for domains.
const (
	weak     = iota // nobody in particular
	atHost          // somebody at the agent's own host, or with a token
	onSystem        // a user of an operating system
	signedIn        // a person who signed in
)

// strength returns the strength of a proof. An unknown one proves nothing.
func strength(proof string) int {
	switch {
	case proof == ProofHostDialog, proof == ProofAskerTerminal, proof == ProofToken:
		return atHost
	case proof == ProofOS, proof == ProofLink, proof == ProofProxy, proof == ProofEmailLink, proof == "local": // "local" is in older outcomes
		return onSystem
	case proof == ProofEmail:
		return atHost
	case proof == ProofSSHKey, proof == ProofOIDC, proof == ProofPasskey, strings.HasPrefix(proof, ProofSlack+"-"):
		return signedIn
	}
	switch proof { // the chats whose platform signs its people in
	case ProofSlack, ProofTelegram, ProofDiscord, ProofFeishu, ProofTeams, ProofMattermost:
		return signedIn
	}
	return weak
}

// MinProofs returns the values of [Ask.MinProof], the weakest first. The last
// four are equally strong.
func MinProofs() []string {
	return []string{ProofHostDialog, ProofOS, ProofSSHKey, ProofSlack, ProofOIDC, ProofPasskey}
}

// Proves reports whether the proof is at least as strong as the demanded one.
// An empty demand is always met. Of a stand-in, both proofs are: of the person, and
// with which the one who is away said who stands in.
func (b By) Proves(demand string) bool {
	return strength(b.Proof) >= strength(demand) && (b.For == nil || strength(b.For.Proof) >= strength(demand))
}

// Needs says in words what a minimum proof demands, in a language such as
// "zh-CN"; unknown and empty: English. An example is "needs a sign-in, or the
// user of this machine". It is empty when it demands nothing.
func Needs(lang, demand string) string {
	words := map[int][2]string{
		signedIn: {"needs a sign-in by SSH key, Slack, OpenID Connect or passkey", "需要用 SSH 密钥、Slack、OpenID Connect 或通行密钥登录"},
		onSystem: {"needs a sign-in, or the user of this machine", "需要登录，或由本机用户作答"},
		atHost:   {"needs a person, at least at the agent's own host", "需要有人作答，至少在智能体所在的主机上"},
	}[strength(demand)]
	if speaksChinese(lang) {
		return words[1]
	}
	return words[0]
}
