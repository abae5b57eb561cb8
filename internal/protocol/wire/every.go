package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/askbus/askbus/pkg/ask"
)

// EveryFault adds the faults of an ask's values to those of its JSON, so that
// they can be corrected together. A value that cannot be read counts as left
// out, without another fault. A deadline is not compared with a clock.
func EveryFault(err error, data []byte) error {
	e, ok := errors.AsType[*ask.Error](err)
	if !ok || len(e.Faults) >= maxFaults {
		return err
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	var doc any
	if d.Decode(&doc) != nil {
		return err
	}
	for _, f := range e.Faults {
		if f.Pointer == "" {
			return err
		}
		blank(doc, strings.Split(f.Pointer[1:], "/"))
	}
	rest, failed := json.Marshal(doc)
	var a ask.Ask
	if failed != nil || json.Unmarshal(rest, &a) != nil {
		return err
	}
	if a.ID == "" {
		a.ID = "x" // set later by the caller
	}
	a.Normalize()
	more, _ := errors.AsType[*ask.Error](a.Validate(time.Time{}))
	if more == nil {
		return err
	}
	faults := slices.Clone(e.Faults)
	for _, f := range more.Faults {
		told := func(known ask.Fault) bool {
			return f.Pointer == known.Pointer || strings.HasPrefix(f.Pointer, known.Pointer+"/")
		}
		if f.Pointer != "/deadline" && len(faults) < maxFaults && !slices.ContainsFunc(e.Faults, told) {
			faults = append(faults, f)
		}
	}
	return ask.InvalidError("ask", faults)
}

// blank sets the value at a path to null, which counts as left out.
func blank(v any, path []string) {
	name := strings.NewReplacer("~1", "/", "~0", "~").Replace(path[0])
	last := len(path) == 1
	switch v := v.(type) {
	case map[string]any:
		if last {
			v[name] = nil
		} else {
			blank(v[name], path[1:])
		}
	case []any:
		switch i, err := strconv.Atoi(name); {
		case err != nil || i < 0 || i >= len(v):
		case last:
			v[i] = nil
		default:
			blank(v[i], path[1:])
		}
	}
}
