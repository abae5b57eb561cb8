package dialect_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/dialect"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// archive is a text file with named sections: "-- name --" lines between them.
type archive struct {
	comment  string
	names    []string
	sections map[string]string
}

func readArchive(t *testing.T, path string) *archive {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil && (!*update || !errors.Is(err, os.ErrNotExist)) {
		t.Fatal(err)
	}
	a := &archive{sections: make(map[string]string)}
	name := ""
	for line := range strings.Lines(string(text)) {
		if s, ok := strings.CutPrefix(strings.TrimSpace(line), "-- "); ok && strings.HasSuffix(s, " --") {
			name = strings.TrimSuffix(s, " --")
			a.names = append(a.names, name)
			a.sections[name] = ""
		} else if name == "" {
			a.comment += line
		} else {
			a.sections[name] += line
		}
	}
	return a
}

// golden compares sections with those of an archive, or rewrites them.
func golden(t *testing.T, path string, in *archive, keep []string, out [][2]string) {
	t.Helper()
	var b strings.Builder
	b.WriteString(in.comment)
	for _, name := range keep {
		if s, ok := in.sections[name]; ok {
			fmt.Fprintf(&b, "-- %s --\n%s", name, s)
		}
	}
	for _, section := range out {
		if strings.TrimSpace(section[1]) != "" {
			fmt.Fprintf(&b, "-- %s --\n%s\n", section[0], strings.TrimRight(section[1], "\n"))
		}
	}
	if *update {
		if err := os.WriteFile(path, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got := b.String(); got != string(want) {
		t.Errorf("%s differs; read it, and if it is right run with -update:\n%s", path, firstDifference(got, string(want)))
	}
}

func firstDifference(got, want string) string {
	g, w := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range g {
		if i >= len(w) || g[i] != w[i] {
			return fmt.Sprintf("line %d\n got: %s\nwant: %s", i+1, g[i], strings.Join(w[min(i, len(w)):min(i+1, len(w))], ""))
		}
	}
	return "the file is longer"
}

// dump formats a value without its zero fields.
func dump(v any) string {
	text, err := json.MarshalIndent(plain(reflect.ValueOf(v)), "", "  ")
	if err != nil {
		return err.Error()
	}
	text = bytes.ReplaceAll(text, []byte(`\u003c`), []byte("<"))
	return string(bytes.ReplaceAll(bytes.ReplaceAll(text, []byte(`\u003e`), []byte(">")), []byte(`\u0026`), []byte("&")))
}

func plain(v reflect.Value) any {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if v.IsNil() {
			return nil
		}
		return plain(v.Elem())
	case reflect.Struct:
		if at, ok := reflect.TypeAssert[time.Time](v); ok {
			return at.Format(time.RFC3339)
		}
		fields := map[string]any{}
		for i := range v.NumField() {
			if !v.Field(i).IsZero() {
				fields[v.Type().Field(i).Name] = plain(v.Field(i))
			}
		}
		return fields
	case reflect.Slice:
		all := []any{}
		for i := range v.Len() {
			all = append(all, plain(v.Index(i)))
		}
		return all
	}
	if d, ok := reflect.TypeAssert[time.Duration](v); ok {
		return d.String()
	}
	return v.Interface()
}

func lines[T fmt.Stringer](items []T) string {
	var b strings.Builder
	for _, item := range items {
		b.WriteString(item.String() + "\n")
	}
	return b.String()
}

// problems lists the faults of a refusal, which must be an *ask.Error.
func problems(t *testing.T, err error) string {
	t.Helper()
	if err == nil {
		return ""
	}
	var refusal *ask.Error
	if !errors.As(err, &refusal) || !errors.Is(err, ask.ErrInvalid) {
		t.Fatalf("the error is a %T: %v", err, err)
	}
	text := refusal.Detail + "\n"
	for _, f := range refusal.Faults {
		text += f.String()
		if f.QuestionID != "" {
			text += " [" + f.QuestionID + "]"
		}
		text += "\n"
	}
	return text
}

func pretty(body []byte) string {
	var b bytes.Buffer
	if json.Indent(&b, body, "", "  ") != nil {
		return string(body)
	}
	return b.String()
}

func response(r dialect.Response) string {
	text := fmt.Sprintf("%d\n", r.Status)
	for _, name := range slices.Sorted(mapKeys(r.Header)) {
		text += name + ": " + r.Header[name] + "\n"
	}
	return text + "\n" + pretty(r.Body)
}

func mapKeys(m map[string]string) func(func(string) bool) {
	return func(yield func(string) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

func files(t *testing.T, pattern string) []string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join("testdata", pattern))
	if err != nil || len(paths) == 0 {
		t.Fatalf("no files match %s: %v", pattern, err)
	}
	return paths
}

// byFile returns the dialect of a file such as by-id-basic.txtar.
func byFile(t *testing.T, path string) dialect.Dialect {
	t.Helper()
	name := filepath.Base(path)
	return in(t, name[:strings.LastIndexByte(name, '-')])
}

// in returns the dialect with this name.
func in(t *testing.T, name string) dialect.Dialect {
	t.Helper()
	d, ok := dialect.Lookup(name)
	if !ok {
		t.Fatalf("no dialect %q", name)
	}
	return d
}

func TestRequestsBecomeAsks(t *testing.T) {
	t.Parallel()
	for _, path := range files(t, "requests/*.txtar") {
		t.Run(filepath.Base(path), func(t *testing.T) {
			t.Parallel()
			in := readArchive(t, path)
			a, warnings, err := byFile(t, path).Ask([]byte(in.sections["request"]))
			out := [][2]string{{"error", problems(t, err)}}
			if err == nil {
				out = [][2]string{{"ask", dump(a)}, {"warnings", lines(warnings)}}
				if a.ID == "" {
					a.ID = "x"
				}
				if err := a.Validate(time.Now()); err != nil {
					t.Errorf("the ask is not valid: %v", err)
				}
			}
			golden(t, path, in, []string{"request"}, out)
		})
	}
}
