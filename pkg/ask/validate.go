package ask

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// faults collects faults with their pointers.
type faults []Fault

func (f *faults) add(pointer, format string, args ...any) {
	*f = append(*f, Fault{Pointer: pointer, Message: fmt.Sprintf(format, args...)})
}

// Validate returns all faults of a normalized ask that is asked at now: nil, or
// an [*Error] with [ErrInvalid] whose pointers lead into the ask's JSON
// (protocol.md, section 5).
func (a *Ask) Validate(now time.Time) error {
	var f faults
	if !ValidToken(a.ID) {
		f.add("/id", "is %q; use 1 to %d of A-Z a-z 0-9 _ -", clip(a.ID), MaxToken)
	}
	f.length("/title", a.Title, MaxTitle)
	f.length("/context", a.Context, MaxLong)
	f.length("/agent/id", a.Agent.ID, MaxName)
	f.length("/agent/name", a.Agent.Name, MaxName)
	f.length("/agent/parent", a.Agent.Parent, MaxText)
	f.length("/agent/repository", a.Agent.Repository, MaxName)
	f.length("/agent/branch", a.Agent.Branch, MaxName)
	f.length("/agent/link", a.Agent.Link, MaxLink)
	if a.Agent.Link != "" && !ValidLink(a.Agent.Link) {
		f.add("/agent/link", "is %q; give a URL such as https://example.com/acme/payments, without a user name in it", clip(a.Agent.Link))
	}
	switch a.Priority {
	case PriorityLow, PriorityNormal, PriorityHigh, PriorityUrgent:
	default:
		f.add("/priority", "is %q; use low, normal, high or urgent", clip(string(a.Priority)))
	}
	a.validateAudience(&f)
	if a.MinProof != "" && !slices.Contains(MinProofs(), a.MinProof) {
		f.add("/min_proof", "is %q; use one of %s", clip(a.MinProof), strings.Join(MinProofs(), ", "))
	}
	a.validateAsker(&f)
	if len(a.Metadata) > MaxMetadata {
		f.add("/metadata", "has %d entries; use at most %d", len(a.Metadata), MaxMetadata)
	}
	a.validateTime(&f, now)
	a.validateQuestions(&f)
	return InvalidError("ask", f)
}

func (a *Ask) validateAudience(f *faults) {
	if len(a.Audience) > MaxAudience {
		f.add("/audience", "has %d entries; use at most %d", len(a.Audience), MaxAudience)
	}
	for i, entry := range a.Audience {
		at := "/audience/" + strconv.Itoa(i)
		if strings.TrimSpace(entry) == "" || entry == "group:" {
			f.add(at, `is empty; use "group:<name>" or a principal`)
		}
		f.length(at, entry, MaxName)
	}
}

func (a *Ask) validateAsker(f *faults) {
	switch n := len(a.Asker); {
	case n == 0 && a.ExcludeAsker:
		f.add("/asker", `is missing; exclude_asker needs the principals under which the asker answers, such as ["os:mei", "oidc:mei@example.com"]`)
	case n > MaxAskers:
		f.add("/asker", "has %d entries; use at most %d", n, MaxAskers)
	}
	for i, principal := range a.Asker {
		at := "/asker/" + strconv.Itoa(i)
		if strings.TrimSpace(principal) == "" {
			f.add(at, `is empty; give a principal, such as "os:mei"`)
		}
		f.length(at, principal, MaxName)
	}
}

func (a *Ask) validateTime(f *faults, now time.Time) {
	if a.Timeout != 0 {
		switch {
		case !a.Deadline.IsZero():
			f.add("/timeout", "is given together with deadline; give one of them")
		case a.Timeout < MinTimeout || a.Timeout > MaxTimeout:
			f.add("/timeout", "is %s; use 1s to 720h", a.Timeout)
		}
	}
	if !a.Deadline.IsZero() {
		switch {
		case !a.Deadline.After(now):
			f.add("/deadline", "is %s, which has passed; give a later one", a.Deadline.UTC().Format(time.RFC3339))
		case a.Deadline.After(now.Add(MaxTimeout)):
			f.add("/deadline", "is %s, more than 30 days ahead; give an earlier one", a.Deadline.UTC().Format(time.RFC3339))
		}
	}
	switch a.AtDeadline {
	case AtDeadlineExpire, AtDeadlineDefault:
	default:
		f.add("/at_deadline", "is %q; use expire or default", clip(string(a.AtDeadline)))
	}
}

func (a *Ask) validateQuestions(f *faults) {
	switch n := len(a.Questions); {
	case n == 0:
		f.add("/questions", "is empty; ask at least one question")
	case n > MaxQuestions:
		f.add("/questions", "has %d questions; use at most %d", n, MaxQuestions)
		return
	}
	seen := make(map[string]int, len(a.Questions))
	for i := range a.Questions {
		q := &a.Questions[i]
		at := "/questions/" + strconv.Itoa(i)
		if first, twice := seen[q.ID]; twice {
			f.add(at+"/id", "%q is also the id of question %d; ids must be unique", clip(q.ID), first+1)
		}
		seen[q.ID] = i
		q.validate(f, at)
		if a.AtDeadline == AtDeadlineDefault && !q.Optional && q.Default == nil {
			f.add(at+"/default", `is missing; with at_deadline "default" every required question needs one`)
		}
	}
}

func (q *Question) validate(f *faults, at string) {
	f.id(at+"/id", q.ID)
	f.required(at+"/text", q.Text, MaxText)
	f.length(at+"/header", q.Header, MaxHeader)
	f.length(at+"/placeholder", q.Placeholder, MaxName)
	switch q.Kind {
	case KindChoice:
		q.validateOptions(f, at)
	case KindText, KindNumber, KindBoolean, KindDate:
		if len(q.Options) > 0 {
			f.add(at+"/options", "are given, but kind is %s; leave them out or use kind choice", q.Kind)
		}
	default:
		f.add(at+"/kind", "is %q; use choice, text, number, boolean or date", clip(string(q.Kind)))
		return
	}
	q.validateItems(f, at)
	q.validateLimits(f, at+"/limits")
	q.validateDefault(f, at+"/default")
}

func (q *Question) validateOptions(f *faults, at string) {
	switch n := len(q.Options); {
	case n == 0 && q.Multiple:
		f.add(at+"/options", "is empty; multiple needs options to choose from")
	case n == 0:
		f.add(at+"/options", "is empty and Other text is off; give options or set allow_other to true")
	case n > MaxOptions:
		f.add(at+"/options", "has %d options; use at most %d", n, MaxOptions)
		return
	}
	ids, labels := make(map[string]int, len(q.Options)), make(map[string]int, len(q.Options))
	for i := range q.Options {
		o := &q.Options[i]
		at := at + "/options/" + strconv.Itoa(i)
		f.id(at+"/id", o.ID)
		f.required(at+"/label", o.Label, MaxLabel)
		f.length(at+"/description", o.Description, MaxText)
		if first, twice := ids[o.ID]; twice {
			f.add(at+"/id", "%q is also the id of option %d; ids must be unique", clip(o.ID), first+1)
		}
		if first, twice := labels[strings.TrimSpace(o.Label)]; twice {
			f.add(at+"/label", "%q is also the label of option %d; labels must be unique", clip(o.Label), first+1)
		}
		ids[o.ID], labels[strings.TrimSpace(o.Label)] = i, i
		if o.Preview == nil {
			continue
		}
		if q.Multiple {
			f.add(at+"/preview", "is given, but several options may be chosen; previews need a single choice")
		}
		if o.Preview.Format != PreviewMarkdown && o.Preview.Format != PreviewText {
			f.add(at+"/preview/format", "is %q; use markdown or text", clip(string(o.Preview.Format)))
		}
		f.required(at+"/preview/body", o.Preview.Body, MaxLong)
	}
}

func (q *Question) validateItems(f *faults, at string) {
	if q.Kind != KindChoice && q.Multiple {
		f.add(at+"/multiple", "is true, but only a choice with options can have several answers")
		return
	}
	if !q.Multiple {
		if q.MinItems != 0 {
			f.add(at+"/min_items", "is given, but multiple is false; set multiple or leave it out")
		}
		if q.MaxItems != 0 {
			f.add(at+"/max_items", "is given, but multiple is false; set multiple or leave it out")
		}
		return
	}
	most := len(q.Options)
	if q.Other() {
		most++
	}
	if q.MinItems < 0 || q.MinItems > most {
		f.add(at+"/min_items", "is %d; use 0 to %d", q.MinItems, most)
	}
	if q.MaxItems < 0 || q.MaxItems > most {
		f.add(at+"/max_items", "is %d; use 0 (all) to %d", q.MaxItems, most)
	} else if q.MaxItems > 0 && q.MaxItems < q.MinItems {
		f.add(at+"/max_items", "is %d, less than min_items %d", q.MaxItems, q.MinItems)
	}
}

func (q *Question) validateLimits(f *faults, at string) {
	l := q.Limits
	only := func(kind Kind, field string, given bool) bool {
		if given && q.Kind != kind {
			f.add(at+"/"+field, "applies only to %s questions; this is a %s question", kind, q.Kind)
			return false
		}
		return given
	}
	if q.Kind == KindDate {
		low, okLow := f.date(at+"/min", l.MinDate)
		high, okHigh := f.date(at+"/max", l.MaxDate)
		if okLow && okHigh && high.Before(low) {
			f.add(at+"/max", "is before min")
		}
	} else if l.MinDate != "" || l.MaxDate != "" {
		field := "min"
		if l.MinDate == "" {
			field = "max"
		}
		f.add(at+"/"+field, "is a date, but this is a %s question", q.Kind)
	}
	if only(KindNumber, "min", l.Min != nil) && only(KindNumber, "max", l.Max != nil) && *l.Max < *l.Min {
		f.add(at+"/max", "is %v, less than min %v", *l.Max, *l.Min)
	} else if l.Min == nil {
		only(KindNumber, "max", l.Max != nil)
	}
	only(KindNumber, "integer", l.Integer)
	only(KindText, "min_length", l.MinLength != 0)
	only(KindText, "max_length", l.MaxLength != 0)
	if l.MinLength < 0 || l.MinLength > MaxLong {
		f.add(at+"/min_length", "is %d; use 0 to %d", l.MinLength, MaxLong)
	}
	if l.MaxLength < 0 || l.MaxLength > MaxLong {
		f.add(at+"/max_length", "is %d; use 0 (no limit) to %d", l.MaxLength, MaxLong)
	} else if l.MaxLength > 0 && l.MaxLength < l.MinLength {
		f.add(at+"/max_length", "is %d, less than min_length %d", l.MaxLength, l.MinLength)
	}
	f.length(at+"/message", l.Message, MaxText)
	if only(KindText, "pattern", l.Pattern != "") {
		f.length(at+"/pattern", l.Pattern, MaxText)
		if _, err := regexp.Compile(l.Pattern); err != nil {
			f.add(at+"/pattern", "is not an RE2 regular expression: %v", err)
		}
	}
}

func (q *Question) validateDefault(f *faults, at string) {
	if q.Default == nil {
		return
	}
	d := *q.Default
	if d.Empty() {
		f.add(at, "is empty; leave it out")
		return
	}
	for _, fault := range q.check(&d) {
		f.add(at, "%s", fault)
	}
	if d.Empty() { // blank text is not text
		f.add(at, "is blank; leave it out")
	}
	for _, id := range d.Selected {
		if o := q.Option(id); o != nil && o.Cancels {
			f.add(at, "chooses option %q, which cancels; a default must answer", clip(id))
		}
	}
}

func (f *faults) id(pointer, s string) {
	n := utf8.RuneCountInString(s)
	if n == 0 || n > 128 || strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r == 0x7f }) {
		f.add(pointer, "is %q; use 1 to 128 characters without spaces", clip(s))
	}
}

func (f *faults) required(pointer, s string, most int) {
	if strings.TrimSpace(s) == "" {
		f.add(pointer, "is empty; a text is required")
		return
	}
	f.length(pointer, s, most)
}

func (f *faults) length(pointer, s string, most int) {
	if n := utf8.RuneCountInString(s); n > most {
		f.add(pointer, "has %d characters; use at most %d", n, most)
	}
}

func (f *faults) date(pointer, s string) (time.Time, bool) {
	if s == "" {
		return time.Time{}, false
	}
	d, err := time.Parse(time.DateOnly, s)
	if err != nil {
		f.add(pointer, "is %q; use a date such as 2026-11-20", clip(s))
	}
	return d, err == nil
}

// clip shortens a value that a message quotes.
func clip(s string) string { return Clip(s, 80) }

func finite(n float64) bool { return !math.IsNaN(n) && !math.IsInf(n, 0) }
