package ask

import "strings"

// MetadataTryOut is the entry of [Ask.Metadata] of an ask that tries out one
// place of one surface, such as "telegram 103": see [TryOut].
const MetadataTryOut = "askbus_try_out"

// TryOut returns the value of [MetadataTryOut]: only surfaces of this type whose
// default place this is post the ask. Live screens, such as the inbox, show it
// like any other.
func TryOut(typ, place string) string { return typ + " " + place }

// TriesOut returns what the ask tries out. An agent that sets the entry hides a
// question of its own from chats, but no permission and nothing that several
// people decide: for those it has no effect.
func (a *Ask) TriesOut() (typ, place string, ok bool) {
	if a.Approval != nil || a.Permits() {
		return "", "", false
	}
	of, _ := a.Metadata[MetadataTryOut].(string)
	return strings.Cut(of, " ")
}
