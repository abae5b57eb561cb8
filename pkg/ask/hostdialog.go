package ask

// The responder types of an agent's own host: the dialog of a coding agent's
// terminal, and a form in an MCP client. Each speaks for one session, and all
// that it can say of who answered is that somebody sat there.
const (
	ResponderNative = "native"
	ResponderElicit = "elicit"
	ProofHostDialog = "host-dialog" // [By.Proof] of both
)

// ProvesPrincipal reports whether who answered is known better than "somebody
// at the agent's own host". Only then can an audience be checked.
func (b By) ProvesPrincipal() bool {
	return b.Responder != ResponderNative && b.Responder != ResponderElicit && b.Proof != ProofHostDialog
}
