// Package torture checks the promises of docs/guarantees.md under load and faults.
//
// From a seed it drives agents, people at several surfaces, withdrawals, operators, live screens
// and a posting surface against a bus; it records everything that each party learns; it kills,
// stops and disconnects; and it checks the history against the promises, each a [Rule].
//
// The seed alone determines the scripts (script.go); [Check] and [Shrink] are pure. The package
// takes no part in deciding asks, and it reads the ledger on its own connection.
package torture
