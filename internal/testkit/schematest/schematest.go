// Package schematest compiles the JSON Schemas of package wire for tests.
package schematest

import (
	"bytes"
	"io/fs"
	"testing"

	"github.com/askbus/askbus/internal/protocol/wire"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

const base = "https://askbus.dev/schemas/v1/"

// Compile compiles one schema, such as "ask". It asserts formats.
func Compile(t testing.TB, name string) *jsonschema.Schema {
	t.Helper()
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	files, err := fs.Glob(wire.Schemas(), "*.json")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		data, err := fs.ReadFile(wire.Schemas(), f)
		if err != nil {
			t.Fatal(err)
		}
		doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
		if err != nil {
			t.Fatalf("%s: %v", f, err)
		}
		if err := c.AddResource(base+f, doc); err != nil {
			t.Fatalf("%s: %v", f, err)
		}
	}
	s, err := c.Compile(base + name + ".json")
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return s
}

// Check validates a document against a schema.
func Check(s *jsonschema.Schema, data []byte) error {
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	if err != nil {
		return err
	}
	return s.Validate(doc)
}
