package chat

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/oasdiff/yaml"
)

// At reports whether two targets are one place.
func (t *Target) At(o Target) bool { return t.Channel == o.Channel && t.Person == o.Person }

// WithDefault returns a routing file with another default. Everything else stays as people wrote it; if the file is not
// laid out in lines with the default at the left edge, it is written again, without its comments.
func WithDefault(data []byte, to Target, parse func([]byte) (*Routes, error)) ([]byte, error) {
	block, err := yaml.Marshal(map[string]Target{"default": to})
	if err != nil {
		return nil, fmt.Errorf("routing file: %w", err)
	}
	var b bytes.Buffer
	within := false
	for line := range strings.Lines(string(data)) {
		if !strings.ContainsAny(line[:1], " \t\r\n") { // a key, or a comment
			if within = strings.HasPrefix(line, "default:"); within {
				b.Write(block)
			}
		}
		if !within {
			b.WriteString(line)
		}
	}
	if r, err := parse(b.Bytes()); err == nil && r.Default.At(to) {
		return b.Bytes(), nil
	}
	r, err := parse(data)
	if err != nil {
		return nil, err
	}
	r.Default = to
	if data, err = yaml.Marshal(r); err == nil {
		_, err = parse(data)
	}
	return data, err
}
