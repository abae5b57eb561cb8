// Package audit defines the records of the audit: their content, their maximum size, and how copied
// questions and outcomes are decoded as records. docs/audit.md documents the schema.
//
// It decides no rights. Safety: a record never contains a token, a secret or the text of a typed
// answer, and has at most maxRecord bytes.
package audit
