// Package attack is the attack suite: one table of subjects with the roles that
// may use each, tried with every role against a real server, and messages to
// those subjects that must change nothing: forged headers, foreign reply
// subjects, malformed tokens, the broker's queue group.
//
// The package consists of tests only. It promises completeness: an endpoint,
// verb, bucket, role or permission of the broker without a line in the table
// fails TestTheTableIsComplete. docs/threat-model.md says what each attack
// tries to achieve.
package attack
