// Package dialect translates between askbus and the shapes in which agents and
// screens already ask and answer.
//
// A dialect has up to four directions: a foreign request becomes an ask; an
// outcome becomes the foreign answer; an ask becomes a foreign request for a
// foreign screen; and the answer from that screen becomes a reply. Each dialect
// is named by its origin, is one file of that name and one row in [All], so
// that any of them can be served by name. The origin is the software that defined
// the shape ("codex"), which is what somebody with such a request searches for; a
// shape without one is named by what marks it ("by-id"). A new version of a shape
// stays in its dialect as long as both can be told apart.
//
// The package decides how shapes map, what to warn about and what a shape
// cannot express. It leaves to others who may ask and answer, where bytes come
// from, the clock, and, except in [Dialect.CheckedReply], whether a reply fits its
// ask ([ask.Ask.Check]).
//
// It is pure, panics on no input, and loses no answer: what a foreign shape
// cannot express is said in words that the asking model can read. Agents mix up
// the spellings of their shapes, so every dialect accepts every spelling of
// "several choices" ("multiSelect", "allow_multiple" and so on) and of time
// limits ("timeout", "timeout_ms", "deadline" and so on), and names every field
// that it drops in a [Warning]. The parts of a request that do not fit into an
// ask, such as a long header, are kept in the ask's metadata under "dialect",
// so that an outcome can be mapped back to foreign ids even after a restart.
// Errors are [*ask.Error] values that list all faults at once, with pointers
// into the foreign body.
package dialect
