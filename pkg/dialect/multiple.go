package dialect

import (
	"slices"
	"strings"

	"github.com/askbus/askbus/pkg/ask"
)

// several lists the spellings of "several options may be chosen", as normalized
// by [spelling]: multiSelect, multi_select, multiselect, allow_multiple,
// allowMultiple, multiple. Agents mix them up, and an unrecognized one would
// turn several choices into one, so every dialect accepts all of them.
func several() []string { return []string{"multiselect", "allowmultiple", "multiple"} }

// multiples returns the fields of a question that say whether several options
// may be chosen.
func (v value) multiples() []value {
	var found []value
	for _, key := range v.keys() {
		if slices.Contains(several(), spelling(key)) {
			if f := v.field(key); f.given() {
				found = append(found, f)
			}
		}
	}
	return found
}

// multiple reads whether several options may be chosen.
func (v value) multiple() bool {
	fields := v.multiples()
	if len(fields) == 0 {
		return false
	}
	first := fields[0].bool(false)
	v.r.spelled[v.at] = fields[0].at
	for _, f := range fields[1:] {
		if f.bool(false) != first {
			f.fault(ask.FaultContradicts, fields[0].name())
		}
	}
	return first
}

// single makes a question take one answer, with a warning, because it has no
// options to choose several from.
func (v value) single(q *ask.Question) {
	if q.Multiple {
		v.multiples()[0].warn("is dropped: there are no options to choose several from")
	}
	q.Multiple = false
}

// separators are the commas with which people separate lists in different
// scripts.
const separators = ",，、"

// commaSeparated reports whether a dialect's separator is a comma, so that
// people may type another comma.
func commaSeparated(separator string) bool { return strings.TrimSpace(separator) == "," }
