package chat

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/oasdiff/yaml"
)

// At reports whether two targets are one place.
func (t *Target) At(o Target) bool { return t.Channel == o.Channel && t.Person == o.Person }

// WithPairing returns a routing file with another default, and with these people beside the others. Everything else stays as
// its authors wrote it; a file that is not laid out in lines with its keys at the left edge is written again, without comments.
func WithPairing(data []byte, to Target, people map[string]string, parse func([]byte) (*Routes, error)) ([]byte, error) {
	want, err := parse(data)
	if err != nil {
		return nil, err
	}
	block := ""
	if !same(want.Default, to) {
		all, err := yaml.Marshal(map[string]Target{"default": to})
		if err != nil {
			return nil, fmt.Errorf("routing file: %w", err)
		}
		block = string(all)
	}
	want.Default = to
	people = maps.Clone(people)
	maps.DeleteFunc(people, func(principal, id string) bool { return want.People[principal] == id })
	if want.People == nil {
		want.People = map[string]string{}
	}
	maps.Copy(want.People, people)
	text, err := edited(data, block, people)
	if err != nil {
		return nil, fmt.Errorf("routing file: %w", err)
	}
	if r, err := parse(text); err == nil && same(r, want) {
		return text, nil
	}
	if data, err = yaml.Marshal(want); err == nil {
		_, err = parse(data)
	}
	return data, err
}

// same reports whether two values are written in the same way.
func same(x, y any) bool {
	a, err := json.Marshal(x)
	b, failed := json.Marshal(y)
	return err == nil && failed == nil && bytes.Equal(a, b)
}

// edited replaces the lines of the default by a block, if there is one, and adds or replaces those of these people.
func edited(data []byte, block string, people map[string]string) ([]byte, error) {
	var entries []string
	for _, principal := range slices.Sorted(maps.Keys(people)) {
		entry, err := yaml.Marshal(map[string]string{principal: people[principal]})
		if err != nil {
			return nil, err //nolint:wrapcheck // the caller says what it is about
		}
		entries = append(entries, string(entry))
	}
	var b strings.Builder
	within, listed := "", len(entries) == 0
	for line := range strings.Lines(string(data)) {
		if !strings.ContainsAny(line[:1], " \t\r\n") { // a key, or a comment
			switch within, _, _ = strings.Cut(line, ":"); within {
			case "default":
				b.WriteString(block)
			case "people":
				b.WriteString(strings.TrimRight(line, "\r\n") + "\n")
				if !listed {
					b.WriteString(indented(entries, data))
				}
				listed = true
				continue
			}
		}
		if (within != "default" || block == "") && (within != "people" || !ofAny(line, people)) {
			b.WriteString(line)
		}
	}
	if !listed {
		text := strings.TrimRight(b.String(), "\n") + "\npeople:\n" + indented(entries, nil)
		return []byte(text), nil
	}
	return []byte(b.String()), nil
}

// ofAny reports whether a line of a routing file's people is that of one of these.
func ofAny(line string, people map[string]string) bool {
	line = strings.TrimSpace(line)
	for principal := range people {
		for _, key := range []string{principal, `"` + principal + `"`, "'" + principal + "'"} {
			if strings.HasPrefix(line, key+":") {
				return true
			}
		}
	}
	return false
}

// indented returns entries with the indentation that the people of a file have.
func indented(entries []string, data []byte) string {
	lead := "    "
	if _, block, ok := strings.Cut("\n"+string(data), "\npeople:"); ok {
		_, block, _ = strings.Cut(block, "\n")
		if at := strings.TrimLeft(block, " "); len(at) < len(block) && at != "" {
			lead = block[:len(block)-len(at)]
		}
	}
	return lead + strings.Join(entries, lead)
}
