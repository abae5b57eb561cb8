// Command bench compares the ask cycle of askbus with that of alternatives: a
// Postgres table with LISTEN and NOTIFY, Restate, Temporal, and a map in a Node
// process. All run alternately, with askbus and its floor.
//
//	go run . --in-flight 1,64
//
// It is a module of its own, so that askbus does not depend on the alternatives.
// Every contender runs on this machine, in a temporary directory. The report
// states what each makes durable before it acknowledges, because that explains
// much of the difference.
//
// The module in the folder temporal has no code: it pins Temporal's server. The
// first run builds it, which takes minutes; tests and linters do not need it.
package main
