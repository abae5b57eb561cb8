package main

import (
	"archive/tar"
	"bytes"
	"strings"
	"testing"
)

func archive(t *testing.T, files map[string]string) *bytes.Buffer {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for name, text := range files {
		if err := w.WriteHeader(&tar.Header{Name: name, Size: int64(len(text)), Mode: 0o600}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return &b
}

func TestSizesAreCountedByPackage(t *testing.T) {
	t.Parallel()
	sum := func(code string) map[string]size {
		sizes, err := measure(archive(t, map[string]string{
			"go.mod":               "module example.com/x\n\nrequire (\n\tgithub.com/a/b v1.0.0\n\tgithub.com/c/d v1.0.0 // indirect\n)\n",
			"in/in.go":             code,
			"in/in_test.go":        "package in\n",
			"in/testdata/skip.go":  "broken",
			"tools/go.mod":         "module example.com/tools\n",
			"tools/other/other.go": "package other\n",
		}))
		if err != nil {
			t.Fatal(err)
		}
		return sizes
	}
	before := sum("package in\n\nimport _ \"github.com/a/b/sub\"\n\ntype T[X any] int\n\nfunc (t *T[X]) M() {}\nfunc (t hidden) M() {}\n\ntype hidden int\n\nconst A, b = 1, 2\n")
	after := sum("package in\n\nconst A = 1\n")
	var b strings.Builder
	table(&b, before, after)
	want := "| package | code | tests | exported names | modules |\n|---|---|---|---|---|\n| `in` | 12 → 3 | 1 | 3 → 1 | 1 → 0 |\n| **all** | 12 → 3 | 1 | 3 → 1 | 1 → 0 |\n"
	if b.String() != want {
		t.Errorf("got\n%s\nwant\n%s", b.String(), want)
	}
	b.Reset()
	table(&b, nil, after)
	if !strings.Contains(b.String(), "| `in` | 3 | 1 | 1 | 0 |") {
		t.Errorf("alone:\n%s", b.String())
	}
	if _, err := measure(archive(t, map[string]string{"in/in.go": "broken"})); err == nil {
		t.Error("a broken file is counted")
	}
}
