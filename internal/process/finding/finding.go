// Package finding is the result of checking a deployment: what was checked, its
// state, and in words what is wrong and what to do. "askbus doctor" and "askbus
// slack doctor" share it, so that scripts parse one format.
package finding

import "fmt"

// State is the result of a check.
type State string

// The results of a check. Missing means that something optional does not work,
// will soon stop working, or could not be checked.
const (
	Good    State = "ok"
	Missing State = "missing"
	Broken  State = "broken"
)

// Finding is one check and its result in words.
type Finding struct {
	What  string `json:"what"`
	State State  `json:"state"`
	Words string `json:"words"`
}

// List collects findings.
type List []Finding

// Say adds a finding.
func (l *List) Say(what string, state State, format string, args ...any) {
	*l = append(*l, Finding{what, state, fmt.Sprintf(format, args...)})
}

// Broken counts the broken findings.
func (l *List) Broken() (n int) {
	for _, f := range *l {
		if f.State == Broken {
			n++
		}
	}
	return n
}
