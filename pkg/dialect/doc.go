// Package dialect translates between askbus and the shapes in which agents and
// screens already ask and answer.
//
// A dialect has up to four directions: a foreign request becomes an ask; an
// outcome becomes the foreign answer; an ask becomes a foreign request, for a
// foreign screen; what that screen's person answered becomes a reply. Each
// dialect is one file, named after it, and one row in [All], so that a door
// can serve any of them by name.
//
// The package decides how words map, what to warn of and what a shape cannot
// take. It leaves to others who may ask and answer, where bytes come from, the
// clock, and whether a reply counts ([ask.Ask.Check] does that).
//
// It promises to be pure, to panic on no input, and to lose no answer: what a
// foreign shape cannot express is said in words that the asking model can
// read. What a request says and an ask has no place for, such as a header that
// was too long, travels in the ask's metadata under [MetadataKey]; so an
// outcome finds its way back to foreign ids even after a restart. Errors are
// [*ask.Error] values whose pointers lead into the foreign body.
package dialect
