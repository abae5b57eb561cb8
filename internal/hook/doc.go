// Package hook is the hook of a coding agent's CLI: it puts the question that
// the CLI is about to ask, or asks right now in its own dialog, on every other
// screen, and gives back what somebody answers there.
//
// It decides which ask a hook event is about and how long to wait. It leaves
// the JSON of hooks to pkg/dialect and which answer counts to the broker.
//
// It promises to fail open: whatever goes wrong ends with nothing printed and
// one line that says why, the host goes on as if there were no hook, and no
// answer is ever made up.
package hook
