package card

import (
	"strings"

	"github.com/askbus/askbus/internal/process/lang"
	"github.com/askbus/askbus/pkg/ask"
)

// BreakGlass offers somebody whose role allows it to decide alone an ask that needs votes. It is an act of
// its own on every surface that has it, with a reason and a confirmation, and never a side effect of an answer.
type BreakGlass struct {
	Lead   string // "Decide alone (break-glass)"
	HowTo  string
	Reason string // that a reason is needed, and which
	Sure   string // what the person confirms

	role ask.BreakGlassRole
	lang string
}

// newBreakGlass returns what a person may do alone with a pending ask, or nil.
func newBreakGlass(r *ask.Record, v Viewer) *BreakGlass {
	if v.Shared || r.State == ask.StateResolved || r.Outcome != nil || !v.Access.Decides(v.By, r.Ask.Key(), r.Ask.Audience) {
		return nil
	}
	role := r.Ask.MayBreakGlass(v.By)
	if role == nil {
		return nil
	}
	w := v.words()
	b := &BreakGlass{
		Lead:   w.Say("Decide alone (break-glass)"),
		HowTo:  w.Say("In an emergency your role %s may decide this without the votes. Everybody who is asked is told, and it is recorded.", line(role.Name)),
		Reason: w.Say("The reason is required."), Sure: w.Say("I decide this alone, whatever the votes."),
		role: *role, lang: w.Tag,
	}
	if prompt := line(role.ReasonPrompt); prompt != "" {
		b.Reason = w.Say("The reason is required: %s", prompt)
	}
	return b
}

// Elsewhere tells somebody whose vote does not count, on a surface without break-glass, where they may decide alone.
func (b *BreakGlass) Elsewhere() string {
	return lang.Of(b.lang).Say("Your vote does not count here. Your role may decide this alone (break-glass): in the inbox or a terminal, not in a chat.")
}

// Check returns the trimmed reason, or what is wrong with it in words for people.
func (b *BreakGlass) Check(reason string) (trimmed, wrong string) {
	trimmed = strings.TrimSpace(reason)
	if trimmed == "" {
		return "", b.Reason
	}
	for _, f := range b.role.CheckReason(trimmed) {
		return trimmed, lang.Of(b.lang).Say("The reason %s.", line(f.In(b.lang)))
	}
	return trimmed, ""
}

// aloneWords says who decided an ask alone: "Mei decided alone (break-glass): INC-77". It is empty if nobody did.
func aloneWords(w *lang.Language, o *ask.Outcome, who string) string {
	if o.BreakGlass == nil {
		return ""
	}
	if who == "" {
		who = line(o.BreakGlass.Principal)
	}
	return w.Say("%[1]s decided alone (break-glass): %[2]s", who, line(o.BreakGlass.Reason))
}
