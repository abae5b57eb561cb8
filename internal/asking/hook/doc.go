// Package hook implements the hook of a coding agent's CLI: it puts the question that the CLI is
// about to ask, or is asking in its own dialog, on every other screen, and returns the answer given
// there.
//
// It decides which ask a hook event belongs to and how long to wait. It leaves the JSON of hooks to
// hostcall, the format of questions to pkg/dialect, and which answer counts to the broker.
//
// It promises to fail open: any failure prints nothing but one line that says why, the host
// continues as if there were no hook, and no answer is ever invented.
package hook
