// Package operator has the commands of operators: keys, credentials
// and tokens, people, the audit, the ledger.
package operator
