package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strings"
	"time"
)

// adr is a record in the index.
type adr struct {
	Number, Title, File string
	Date, Status        string
	Updates             string
}

var (
	fileName   = regexp.MustCompile(`^(\d{4})-[a-z0-9]+(-[a-z0-9]+)*\.md$`)
	heading    = regexp.MustCompile(`^# (\d{4})\. (\S.*)$`)
	field      = regexp.MustCompile(`^- (Date|Status|Updates): (\S.*)$`)
	statusForm = regexp.MustCompile(`^(proposed|accepted|rejected|superseded by \[\d{4}\]\((\d{4}-[a-z0-9-]+\.md)\))$`)
)

// read returns the records of a folder by number. It reports all faults at once.
func read(dir fs.FS) ([]adr, error) {
	names, err := fs.Glob(dir, "*.md")
	if err != nil {
		return nil, err
	}
	var records []adr
	var faults []error
	byNumber := map[string]string{}
	for _, name := range names {
		if name == "README.md" || name == "template.md" {
			continue
		}
		text, err := fs.ReadFile(dir, name)
		if err != nil {
			return nil, err
		}
		r, err := parse(name, string(text))
		if err != nil {
			faults = append(faults, err)
			continue
		}
		if other, taken := byNumber[r.Number]; taken {
			faults = append(faults, fmt.Errorf("%s: number %s is taken by %s", name, r.Number, other))
		}
		byNumber[r.Number] = name
		if m := statusForm.FindStringSubmatch(r.Status); m[2] != "" && !slices.Contains(names, m[2]) {
			faults = append(faults, fmt.Errorf("%s: superseded by %s, which does not exist", name, m[2]))
		}
		records = append(records, r)
	}
	return records, errors.Join(faults...)
}

// parse parses a record: its heading, its fields and its three sections.
func parse(name, text string) (adr, error) {
	m := fileName.FindStringSubmatch(name)
	if m == nil {
		return adr{}, fmt.Errorf("%s: the name has not the form 0007-answer-once.md", name)
	}
	r := adr{Number: m[1], File: name}
	first, rest, _ := strings.Cut(text, "\n")
	h := heading.FindStringSubmatch(first)
	if h == nil || h[1] != r.Number {
		return adr{}, fmt.Errorf("%s: the first line is not \"# %s. Title\"", name, r.Number)
	}
	r.Title = h[2]

	var sections []string
	for line := range strings.Lines(rest) {
		line = strings.TrimRight(line, "\n")
		if section, ok := strings.CutPrefix(line, "## "); ok {
			sections = append(sections, section)
		}
		if f := field.FindStringSubmatch(line); f != nil && len(sections) == 0 {
			switch f[1] {
			case "Date":
				r.Date = f[2]
			case "Status":
				r.Status = f[2]
			case "Updates":
				r.Updates = f[2]
			}
		}
	}
	var faults []error
	if _, err := time.Parse(time.DateOnly, r.Date); err != nil {
		faults = append(faults, fmt.Errorf("%s: no line \"- Date: 2026-11-20\"", name))
	}
	if !statusForm.MatchString(r.Status) {
		faults = append(faults, fmt.Errorf("%s: status %q is none of proposed, accepted, rejected, superseded by [0007](0007-name.md)", name, r.Status))
	}
	if want := []string{"Context", "Decision", "Consequences"}; !slices.Equal(sections, want) {
		faults = append(faults, fmt.Errorf("%s: sections are %q, not %q", name, sections, want))
	}
	return r, errors.Join(faults...)
}

// index formats the table of all records.
func index(records []adr) []byte {
	var b bytes.Buffer
	b.WriteString(`# Architecture decisions

<!-- Written by tools/adrindex (make generate). Do not edit. -->

What was decided, when and why; [0001](0001-record-architecture-decisions.md) says how this works and
[template.md](template.md) is where a new one begins. A missing number was not used, or its decision was withdrawn, or its reasons moved into
the comments of the package that it is about (` + "`git log --diff-filter=D -- docs/adr`" + ` has the old text).

| decision | date | status | updates |
|---|---|---|---|
`)
	cell := strings.NewReplacer("|", `\|`)
	for _, r := range records {
		fmt.Fprintf(&b, "| [%s. %s](%s) | %s | %s | %s |\n",
			r.Number, cell.Replace(r.Title), r.File, r.Date, cell.Replace(r.Status), cell.Replace(r.Updates))
	}
	return b.Bytes()
}
