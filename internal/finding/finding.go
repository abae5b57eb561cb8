// Package finding is what a check of a deployment says: what was looked at, how
// it is, and in words what is wrong and what to do. "askbus doctor" and "askbus
// slack doctor" share it, so scripts read one shape.
package finding

import "fmt"

// State is what a check found.
type State string

// The states of a check. Missing means that something optional does not work,
// will soon stop working, or could not be looked at.
const (
	Good    State = "ok"
	Missing State = "missing"
	Broken  State = "broken"
)

// Finding is one thing that was looked at, in words.
type Finding struct {
	What  string `json:"what"`
	State State  `json:"state"`
	Words string `json:"words"`
}

// List collects findings.
type List []Finding

// Say adds one.
func (l *List) Say(what string, state State, format string, args ...any) {
	*l = append(*l, Finding{what, state, fmt.Sprintf(format, args...)})
}

// Broken counts what is broken.
func (l *List) Broken() (n int) {
	for _, f := range *l {
		if f.State == Broken {
			n++
		}
	}
	return n
}
