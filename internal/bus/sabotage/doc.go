// Package sabotage names ways to break the guarantees of docs/guarantees.md on
// purpose, one for each, to prove that the checker of internal/lab/torture detects
// them.
//
// Ledger and broker look at the one value in their options, whose zero value
// breaks nothing. All of this code, here and in the files broken.go, exists
// only in builds with the tag sabotage (without it the package is this comment), so no released binary can be told to
// lose an answer. Even with the tag only internal/lab/torture sets the value, for a
// temporary embedded server.
package sabotage
