package schematest

import (
	"encoding/json"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// node is the part of a schema that says which fields an object has.
type node struct {
	Ref        string          `json:"$ref"`
	Additional json.RawMessage `json:"additionalProperties"`
	Properties map[string]node `json:"properties"`
	Items      *node           `json:"items"`
	Defs       map[string]node `json:"$defs"`
}

// ChartTakes compares a value of the chart, such as "approvals" or "issuer.rules",
// with what is read of the file that it becomes: in its schema each object has the
// JSON fields of the Go type, and no others, so that Helm refuses a misspelt one.
// Fields whose type is not a struct are not compared.
func ChartTakes(t *testing.T, schema, value string, file reflect.Type) {
	t.Helper()
	data, err := os.ReadFile(schema)
	if err != nil {
		t.Fatal(err)
	}
	var root node
	if err := json.Unmarshal(data, &root); err != nil {
		t.Fatal(err)
	}
	at := root
	for name := range strings.SplitSeq(value, ".") {
		at = at.Properties[name]
	}
	at.compare(t, &root, value, file)
}

func (n node) compare(t *testing.T, root *node, at string, of reflect.Type) {
	t.Helper()
	if name, ok := strings.CutPrefix(n.Ref, "#/$defs/"); ok {
		n = root.Defs[name]
	}
	switch of.Kind() {
	case reflect.Pointer:
		n.compare(t, root, at, of.Elem())
		return
	case reflect.Slice:
		if n.Items != nil {
			n.Items.compare(t, root, at+"[]", of.Elem())
			return
		}
	default:
	}
	own := of
	for own.Kind() == reflect.Slice || own.Kind() == reflect.Pointer {
		own = own.Elem()
	}
	if own.Kind() != reflect.Struct || own.PkgPath() == "time" {
		return
	}
	if string(n.Additional) != "false" {
		t.Errorf("%s: other fields are not refused", at)
	}
	var fields []string
	for _, f := range reflect.VisibleFields(own) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if !f.IsExported() || f.Anonymous || name == "" {
			continue
		}
		fields = append(fields, name)
		if below, has := n.Properties[name]; has {
			below.compare(t, root, at+"."+name, f.Type)
		}
	}
	var said []string
	for name := range n.Properties {
		said = append(said, name)
	}
	slices.Sort(fields)
	slices.Sort(said)
	if !slices.Equal(fields, said) {
		t.Errorf("%s: the schema has %q, and what is read %q", at, said, fields)
	}
}
