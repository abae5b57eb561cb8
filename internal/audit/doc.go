// Package audit defines the records of the audit: what each says, how large it
// may be, and how a question or an outcome that the server copied into the audit
// is read as one. docs/audit.md is the schema for people.
//
// It decides no right. Safety: a record never holds a token,
// a secret or the text of a typed answer, and has at most [MaxRecord] bytes.
package audit
