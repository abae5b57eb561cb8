// Package dialect translates between askbus and the shapes in which agents and
// screens already ask and answer.
//
// A dialect has up to four directions: a foreign request becomes an ask; an
// outcome becomes the foreign answer; an ask becomes a foreign request, for a
// foreign screen; what that screen's person answered becomes a reply. Each
// dialect is named by its origin, is one file of that name and one row in
// [All], so that a door can serve any of them by name.
//
// The package decides how words map, what to warn of and what a shape cannot
// take. It leaves to others who may ask and answer, where bytes come from, the
// clock, and whether a reply counts ([ask.Ask.Check] does that).
//
// It promises to be pure, to panic on no input, and to lose no answer: what a
// foreign shape cannot express is said in words that the asking model can
// read. Agents mix the spellings of their shapes up, so every dialect
// understands several choices ("multiSelect", "allow_multiple" and so on) and
// time limits ("timeout", "timeout_ms", "deadline" and so on) in each of them,
// and names in a [Warning] every field that it drops. What a request says and
// an ask has no place for, such as a header that was too long, travels in the
// ask's metadata under "dialect"; so an outcome finds its way back to foreign
// ids even after a restart. Errors are [*ask.Error] values that list all that
// is wrong at once, with pointers into the foreign body.
package dialect
