package cloudevent

import (
	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// unmarshal reads JSON that the ledger or a broker vouches for, at half the
// cost of encoding/json and as lenient: unknown fields are none of our business.
func unmarshal(data []byte, v any) error {
	return jsonv2.Unmarshal(data, v, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
}

// clean decodes JSON from outside into v, a pointer to a wire struct, when a
// [checker] would find no fault with it. It is the fast way through [Strict].
// When it is in doubt it says no, and the checker says why, or finds nothing;
// v is of no use then.
func clean(data []byte, v any) bool {
	return shallow(data) && jsonv2.Unmarshal(data, v, jsonv2.RejectUnknownMembers(true)) == nil
}

// shallow reports whether data surely nests no deeper than maxDepth. Brackets
// in texts count, too.
func shallow(data []byte) bool {
	depth := 0
	for _, c := range data {
		switch c {
		case '{', '[':
			if depth++; depth > maxDepth {
				return false
			}
		case '}', ']':
			depth--
		}
	}
	return true
}
