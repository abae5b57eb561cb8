package main

import (
	"os"
	"strings"
	"testing"
	"testing/fstest"
)

const good = `# 0002. One answer

- Date: 2026-11-20
- Status: accepted
- Updates: [0001](0001-first.md)

## Context

- Status: not a field, here

## Decision

## Consequences
`

func TestIndexOfTheRepositoryIsCurrent(t *testing.T) {
	t.Parallel()
	records, err := read(os.DirFS("../../docs/adr"))
	if err != nil {
		t.Fatal(err)
	}
	have, err := os.ReadFile("../../docs/adr/README.md")
	if err != nil {
		t.Fatal(err)
	}
	if string(have) != string(index(records)) {
		t.Error("docs/adr/README.md is stale: run make generate")
	}
}

func TestIndexHasOneRowForEachRecord(t *testing.T) {
	t.Parallel()
	records, err := read(fstest.MapFS{
		"0001-first.md":      {Data: []byte(strings.ReplaceAll(strings.ReplaceAll(good, "0002", "0001"), "accepted", "superseded by [0002](0002-one-answer.md)"))},
		"0002-one-answer.md": {Data: []byte(good)},
		"README.md":          {Data: []byte("old")},
		"template.md":        {Data: []byte("# NNNN. Template")},
	})
	if err != nil {
		t.Fatal(err)
	}
	_, rows, _ := strings.Cut(string(index(records)), "|---|---|---|---|\n")
	want := `| [0001. One answer](0001-first.md) | 2026-11-20 | superseded by [0002](0002-one-answer.md) | [0001](0001-first.md) |
| [0002. One answer](0002-one-answer.md) | 2026-11-20 | accepted | [0001](0001-first.md) |
`
	if rows != want {
		t.Errorf("rows are\n%s\nwant\n%s", rows, want)
	}
}

func TestMalformedRecordsAreRefused(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ file, text, want string }{
		"a name with capitals":        {"0002-One.md", good, "the name has not the form"},
		"a name without a number":     {"one.md", good, "the name has not the form"},
		"a heading of another number": {"0003-one.md", good, `the first line is not "# 0003. Title"`},
		"no date":                     {"0002-one.md", strings.Replace(good, "2026-11-20", "today", 1), "no line \"- Date"},
		"an unknown status":           {"0002-one.md", strings.Replace(good, "accepted", "maybe", 1), `status "maybe" is none of`},
		"a missing section":           {"0002-one.md", strings.Replace(good, "## Decision", "", 1), "sections are"},
		"superseded by nothing":       {"0002-one.md", strings.Replace(good, "accepted", "superseded by [0009](0009-x.md)", 1), "0009-x.md, which does not exist"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := read(fstest.MapFS{tc.file: {Data: []byte(tc.text)}})
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want an error with %q", err, tc.want)
			}
		})
	}
}

func TestNumberTakenTwiceIsRefused(t *testing.T) {
	t.Parallel()
	_, err := read(fstest.MapFS{"0002-a.md": {Data: []byte(good)}, "0002-b.md": {Data: []byte(good)}})
	if err == nil || !strings.Contains(err.Error(), "number 0002 is taken by 0002-a.md") {
		t.Errorf("got %v", err)
	}
}
