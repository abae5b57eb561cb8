// Command bench runs the ask cycle on what people would use instead of askbus,
// beside askbus and its floor, in the same run and alternating: a Postgres
// table with LISTEN and NOTIFY, Restate, Temporal, and a map in a Node process.
//
//	go run . --in-flight 1,64
//
// It is a module of its own, so that what it needs stays out of askbus. Every
// contender runs on this machine, in a temporary directory, and says what it
// makes durable before it acknowledges: a map that forgets is no ledger, however
// fast.
//
// Temporal's server is the one that its authors build, pinned by a module
// without code in the folder temporal and built when it is first asked for: that
// takes minutes, and neither tests nor linters need it.
package main
