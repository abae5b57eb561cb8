package ask

import "strings"

// The responder types of an agent's own host: the dialog of a coding agent's
// terminal, and a form in an MCP client. Each speaks for one session, and all
// that it can say of who answered is that somebody sat there.
const (
	ResponderNative = "native"
	ResponderElicit = "elicit"
	ResponderCLI    = "cli"         // where the ask was made; a surface, too
	ProofHostDialog = "host-dialog" // [By.Proof] of both
)

// ProofAskerTerminal is the [By.Proof] of an answer that was typed where the
// ask was made, in the terminal of "askbus ask --answer-here". An agent with a
// terminal of its own could type it, too.
const ProofAskerTerminal = "asker-terminal"

// ProvesPrincipal reports whether who answered is known better than "somebody
// at the agent's own host, or at its terminal". Only then can an audience be
// checked.
func (b By) ProvesPrincipal() bool {
	return b.Responder != ResponderNative && b.Responder != ResponderElicit && b.Proof != ProofHostDialog && b.Proof != ProofAskerTerminal
}

// person reports whether the principal is somebody's own: no credential and no
// token, which anybody may hold.
func (b By) person() bool {
	kind, name, _ := strings.Cut(b.Principal, ":")
	return name != "" && kind != "nats" && kind != "token" && b.Proof != ProofCredential
}

// MetadataHost is the entry of [Ask.Metadata] in which an HTTP door proves
// which host asked, so that later only that host's dialog may answer.
const MetadataHost = "askbus_host"

// AskedBy reports whether the ask carries the mark of a host. An empty mark is
// nobody's.
func (a *Ask) AskedBy(mark string) bool {
	held, _ := a.Metadata[MetadataHost].(string)
	return mark != "" && held == mark
}
