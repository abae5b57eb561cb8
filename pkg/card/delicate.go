package card

import (
	"slices"
	"strings"

	"github.com/askbus/askbus/pkg/ask"
)

// verdicts begin the ids and labels of options that give or refuse a permission.
var verdicts = []string{"approve", "accept", "allow", "permit", "grant", "authorize", "reject", "deny", "批准", "同意", "接受", "允许", "允許", "拒绝", "拒絕"} //nolint:gochecknoglobals // never changed

// Delicate reports whether an ask is a permission, an approval, or has a destructive option. Nobody decides that in
// passing: not with a word in a chat, and not on a lock screen. What an agent asks in its own words has no mark, so it
// is also told by its options; a wrong guess costs one more click.
func Delicate(a *ask.Ask) bool {
	if a.Permits() || a.MinProof != "" || a.ExcludeAsker || a.Approval != nil || a.Only != "" || len(a.Exclude) > 0 {
		return true
	}
	for i := range a.Questions {
		q := &a.Questions[i]
		for j := range q.Options {
			if q.Options[j].Destructive {
				return true
			}
			for _, name := range []string{q.Options[j].ID, q.Options[j].Label} {
				name = strings.ToLower(strings.TrimSpace(name))
				if slices.ContainsFunc(verdicts, func(v string) bool { return strings.HasPrefix(name, v) }) {
					return true
				}
			}
		}
	}
	return false
}
