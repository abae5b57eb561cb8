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
	"golang.org/x/tools/txtar"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// archive is a txtar file whose sections are found by name.
type archive struct {
	comment  []byte
	sections map[string]string
}

func readArchive(t *testing.T, path string) *archive {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil && (!*update || !errors.Is(err, os.ErrNotExist)) {
		t.Fatal(err)
	}
	read := txtar.Parse(text)
	a := &archive{comment: read.Comment, sections: make(map[string]string)}
	for _, f := range read.Files {
		a.sections[f.Name] = string(f.Data)
	}
	return a
}

// golden compares sections with what an archive holds, or rewrites them.
func golden(t *testing.T, path string, in *archive, keep []string, out [][2]string) {
	t.Helper()
	made := &txtar.Archive{Comment: in.comment}
	for _, name := range keep {
		if s, ok := in.sections[name]; ok {
			made.Files = append(made.Files, txtar.File{Name: name, Data: []byte(s)})
		}
	}
	for _, section := range out {
		if strings.TrimSpace(section[1]) != "" {
			made.Files = append(made.Files, txtar.File{Name: section[0], Data: []byte(strings.TrimRight(section[1], "\n") + "\n")})
		}
	}
	got := string(txtar.Format(made))
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
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
