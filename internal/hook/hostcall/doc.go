// Package hostcall holds the two shapes in which the host of a coding agent
// asks before its tool asks a person: the events of a hook, and the call of an
// agent SDK's permission callback. The command, the hook's HTTP door and the
// gateway speak them.
//
// It decides what a host is told for an outcome. What a question says is for
// pkg/dialect, and who may ask and answer is for the doors. It is pure, and it
// promises never to allow a tool without an answer.
package hostcall
