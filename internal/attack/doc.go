// Package attack holds the attack suite: one table of subjects with the roles
// that may use each, tried with every role against a real server, and what may
// be sent to those subjects that should change nothing: forged headers, foreign
// reply subjects, malformed tokens, the broker's queue group.
//
// The package has no code beside its tests. It promises completeness: a door, a
// verb, a bucket, a role, a right or an endpoint of the broker that has no line
// in the table fails TestTheTableIsComplete. What each attack is after stands in
// docs/threat-model.md.
package attack
