package file

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	jsonv1 "github.com/go-json-experiment/json/v1"
	"github.com/oasdiff/yaml"
	yaml3 "github.com/oasdiff/yaml3"
)

// Complete returns an error for a file in YAML that says nothing, or has a key at its top without a value: it may have
// been cut off while it was written. An empty list or object says something.
func Complete(data []byte) error {
	body, err := yaml.YAMLToJSON(data)
	if err != nil {
		return fmt.Errorf("invalid YAML: %w", err)
	}
	var said any
	if err := json.Unmarshal(body, &said); err != nil || said == nil {
		return errors.New("the file is empty")
	}
	top, _ := said.(map[string]any)
	for key, value := range top {
		if value == nil {
			return fmt.Errorf("%s has no value", key)
		}
	}
	return nil
}

// DecodeYAML reads data into v by the names of its JSON. An empty file leaves v
// unchanged. The error says where in the file it is, such as routes[0].to.
func DecodeYAML(data []byte, v any) error {
	body, err := yaml.YAMLToJSON(data)
	if err != nil {
		return fmt.Errorf("invalid YAML: %w", err)
	}
	if documents := yaml3.NewDecoder(bytes.NewReader(data)); documents.Decode(new(any)) == nil && !errors.Is(documents.Decode(new(any)), io.EOF) {
		return errors.New("it has several YAML documents, and only the first would be read: give one, without a line --- or ... in it")
	}
	err = json.Unmarshal(body, v, jsonv1.DefaultOptionsV1(), jsonv1.ReportErrorsWithLegacySemantics(false), json.RejectUnknownMembers(true))
	wrong, ok := errors.AsType[*json.SemanticError](err)
	if !ok {
		return err //nolint:wrapcheck // nil, or of a custom decoder without a place
	}
	at, why := wrong.JSONPointer, wrong.Err
	switch {
	case errors.Is(why, json.ErrUnknownName):
		why = fmt.Errorf("unknown field %q", at.LastToken())
		at = at.Parent()
	case why == nil && wrong.GoType != nil:
		why = fmt.Errorf("%s does not fit here; use %s", kind(wrong.JSONKind), typeName(wrong.GoType))
	case why == nil:
		why = errors.New("it does not fit here")
	}
	if at == "" {
		return why
	}
	return fmt.Errorf("%s: %w", place(at), why)
}

// place returns a pointer as people write it: routes[0].to.
func place(at jsontext.Pointer) string {
	var b strings.Builder
	for name := range at.Tokens() {
		switch {
		case strings.Trim(name, "0123456789") == "":
			b.WriteString("[" + name + "]")
		case b.Len() == 0:
			b.WriteString(name)
		default:
			b.WriteString("." + name)
		}
	}
	return b.String()
}

func kind(k jsontext.Kind) string {
	switch k {
	case '"':
		return "a text"
	case '0':
		return "a number"
	case '[':
		return "a list"
	case '{':
		return "a mapping"
	}
	return k.String() // true, false
}

func typeName(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Pointer:
		return typeName(t.Elem())
	case reflect.String:
		return "a text"
	case reflect.Bool:
		return "true or false"
	case reflect.Slice, reflect.Array:
		return "a list"
	case reflect.Map, reflect.Struct:
		return "a mapping"
	}
	return "a number"
}
