package ask

import (
	"maps"
	"slices"
)

// FaultCodes returns all codes of the catalogue.
func FaultCodes() []FaultCode { return slices.Sorted(maps.Keys(faultTexts)) }

// FaultArgs returns the names of the arguments of a code.
func FaultArgs(code FaultCode) []string { return argumentsOf(faultTexts[code].english) }
