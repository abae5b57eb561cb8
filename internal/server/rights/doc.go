// Package rights has every role of askbus and what its credential may do: which
// subjects it may use, for whom it may speak, how many subscriptions it may
// have, and how long it is valid. It makes credentials with the keys of a
// directory. It embeds no server, so commands of agents and people can use it.
package rights
