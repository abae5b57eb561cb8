package ask

import (
	"slices"
	"strings"
)

// The responder types of an agent's own host: the dialog of a coding agent's
// terminal, and a form in an MCP client. Each serves one session and proves
// only that somebody was at that host.
const (
	ResponderNative = "native"
	ResponderElicit = "elicit"
	ResponderCLI    = "cli"         // where the ask was made; also a surface
	ProofHostDialog = "host-dialog" // [By.Proof] of both
)

// ProofAskerTerminal is the [By.Proof] of an answer typed in the terminal where
// the ask was made ("askbus ask --answer-here"). An agent that controls a
// terminal could type it as well.
const ProofAskerTerminal = "asker-terminal"

// ProvesPrincipal reports whether by identifies more than somebody at the
// agent's own host or terminal. An audience can only be checked if it does.
func (b By) ProvesPrincipal() bool {
	return b.Responder != ResponderNative && b.Responder != ResponderElicit && b.Proof != ProofHostDialog && b.Proof != ProofAskerTerminal
}

// IsPerson reports whether by proves a principal that belongs to one person.
func (b By) IsPerson() bool { return b.ProvesPrincipal() && b.person() }

// person reports whether the principal belongs to one person: it is not a
// credential or a token, which can be shared.
func (b By) person() bool {
	kind, name, _ := strings.Cut(b.Principal, ":")
	return name != "" && kind != "nats" && kind != "token" && kind != "webhook" && b.Proof != ProofCredential
}

// MetadataHost is the entry of [Ask.Metadata] in which an HTTP endpoint records
// which host asked. Only that host's dialog may answer later.
const MetadataHost = "askbus_host"

// MetadataCall is the entry of [Ask.Metadata] with the id that a model or its
// host gave to the call that asks, such as "call_0". Many number the calls of
// each run from the beginning, so it does not name an ask.
const MetadataCall = "tool_call"

// MetadataPermission is the entry of [Ask.Metadata] that marks the permission of
// one call, such as a tool's. Whatever takes a host's request for a permission
// sets it, and an agent cannot take it away; its value is that entrance's own.
const MetadataPermission = "askbus_permission"

// Entries of [Ask.Metadata] with which an entrance tells policies what a
// permission is for: the name of the tool, the whole command if it runs one, and
// the ids of the options that refuse.
const (
	MetadataTool    = "askbus_tool"
	MetadataCommand = "askbus_command"
	MetadataDenies  = "askbus_denies"
)

// Permits reports whether the ask is a permission: its outcome is for one call
// only, and only a person gives it, on purpose.
func (a *Ask) Permits() bool { return a.Metadata[MetadataPermission] != nil }

// Denies reports whether an option refuses: it ends the ask, or the entrance that
// asks for the permission says so.
func (a *Ask) Denies(o *Option) bool {
	denies, _ := a.Metadata[MetadataDenies].([]any)
	return o.Cancels || slices.Contains(denies, any(o.ID))
}

// Refuses reports whether answers permit nothing: they choose only options that
// refuse, or say no.
func (a *Ask) Refuses(answers []Answer) bool {
	for i := range answers {
		q, no := a.Question(answers[i].QuestionID), answers[i].Boolean
		if q != nil && q.Kind == KindBoolean && no != nil && !*no {
			continue
		}
		if q == nil || len(answers[i].Selected) == 0 || answers[i].Other != "" {
			return false
		}
		for _, id := range answers[i].Selected {
			if o := q.Option(id); o == nil || !a.Denies(o) {
				return false
			}
		}
	}
	return len(answers) > 0
}

// AskedBy reports whether the ask carries this host mark. An empty mark matches
// nothing.
func (a *Ask) AskedBy(mark string) bool {
	held, _ := a.Metadata[MetadataHost].(string)
	return mark != "" && held == mark
}
