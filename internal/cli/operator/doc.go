// Package operator has the commands of whoever runs the bus: keys, credentials
// and tokens, people, the audit, the ledger.
package operator
