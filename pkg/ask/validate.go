package ask

import (
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// faults collects faults with their pointers.
type faults []Fault

func (f *faults) add(pointer string, code FaultCode, args ...any) {
	*f = append(*f, NewFault(pointer, code, args...))
}

func (f *faults) addIn(questionID, pointer string, code FaultCode, args ...any) {
	fault := NewFault(pointer, code, args...)
	fault.QuestionID = questionID
	*f = append(*f, fault)
}

func names[T ~string](values ...T) []string {
	all := make([]string, len(values))
	for i, v := range values {
		all[i] = string(v)
	}
	return all
}

// Validate returns all faults of a normalized ask that is asked at now: nil, or
// an [*Error] with [ErrInvalid] whose pointers lead into the ask's JSON
// (protocol.md, section 5).
func (a *Ask) Validate(now time.Time) error {
	var f faults
	if !ValidToken(a.ID) {
		f.add("/id", FaultBadToken, clip(a.ID), MaxToken)
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
		f.add("/agent/link", FaultBadLink, clip(a.Agent.Link))
	}
	switch a.Priority {
	case PriorityLow, PriorityNormal, PriorityHigh, PriorityUrgent:
	default:
		f.add("/priority", FaultNotOneOf, clip(string(a.Priority)), names(PriorityLow, PriorityNormal, PriorityHigh, PriorityUrgent))
	}
	f.people("/audience", a.Audience)
	if a.MinProof != "" && !slices.Contains(MinProofs(), a.MinProof) {
		f.add("/min_proof", FaultNotOneOf, clip(a.MinProof), MinProofs())
	}
	a.validateAsker(&f)
	a.validateDeciders(&f)
	if len(a.Metadata) > MaxMetadata {
		f.add("/metadata", FaultTooMany, len(a.Metadata), "entries", MaxMetadata)
	}
	if a.Callback != "" && !ValidToken(a.Callback) {
		f.add("/callback", FaultBadToken, clip(a.Callback), MaxToken)
	}
	f.files(a.AllFiles(), "/files")
	a.validateTime(&f, now)
	a.validateQuestions(&f)
	a.validateApproval(&f)
	a.validateSchedules(&f)
	a.validateEscalate(&f)
	return InvalidError("ask", f)
}

func (a *Ask) validateAsker(f *faults) {
	switch n := len(a.Asker); {
	case n == 0 && a.ExcludeAsker:
		f.add("/asker", FaultNoAsker)
	case n > MaxAskers:
		f.add("/asker", FaultTooMany, n, "entries", MaxAskers)
	}
	for i, principal := range a.Asker {
		at := "/asker/" + strconv.Itoa(i)
		if strings.TrimSpace(principal) == "" {
			f.add(at, FaultEmptyPrincipal)
		}
		if a.ExcludeAsker || a.Only != "" {
			f.principal(at, principal)
		} else { // only noted
			f.length(at, principal, MaxName)
		}
	}
}

func (a *Ask) validateTime(f *faults, now time.Time) {
	if a.Timeout != 0 {
		switch {
		case !a.Deadline.IsZero():
			f.add("/timeout", FaultGivenTogether, "deadline")
		case a.Timeout < MinTimeout || a.Timeout > MaxTimeout:
			f.add("/timeout", FaultOutOfRange, a.Timeout, "1s", "720h")
		}
	}
	if !a.Deadline.IsZero() {
		switch {
		case !a.Deadline.After(now):
			f.add("/deadline", FaultDeadlinePassed, a.Deadline.UTC().Format(time.RFC3339))
		case a.Deadline.After(now.Add(MaxTimeout)):
			f.add("/deadline", FaultDeadlineFar, a.Deadline.UTC().Format(time.RFC3339), int(MaxTimeout.Hours()/24))
		}
	}
	switch a.AtDeadline {
	case AtDeadlineExpire, AtDeadlineDefault:
	default:
		f.add("/at_deadline", FaultNotOneOf, clip(string(a.AtDeadline)), names(AtDeadlineExpire, AtDeadlineDefault))
	}
}

func (a *Ask) validateQuestions(f *faults) {
	switch n := len(a.Questions); {
	case n == 0:
		f.add("/questions", FaultNoQuestions)
	case n > MaxQuestions:
		f.add("/questions", FaultTooMany, n, "questions", MaxQuestions)
		return
	}
	seen := make(map[string]int, len(a.Questions))
	for i := range a.Questions {
		q := &a.Questions[i]
		at := "/questions/" + strconv.Itoa(i)
		if first, twice := seen[q.ID]; twice {
			f.add(at+"/id", FaultDuplicateID, clip(q.ID), "question", first+1)
		}
		seen[q.ID] = i
		q.validate(f, at)
		if a.AtDeadline == AtDeadlineDefault && !q.Optional && q.Default == nil {
			f.add(at+"/default", FaultNoDefault)
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
			f.add(at+"/options", FaultForeignOptions, q.Kind)
		}
	default:
		f.add(at+"/kind", FaultNotOneOf, clip(string(q.Kind)), names(KindChoice, KindText, KindNumber, KindBoolean, KindDate))
		return
	}
	q.validateItems(f, at)
	q.validateLimits(f, at+"/limits")
	q.validateDefault(f, at+"/default")
}

func (q *Question) validateOptions(f *faults, at string) {
	switch n := len(q.Options); {
	case n == 0 && q.Multiple:
		f.add(at+"/options", FaultNoOptionsMultiple)
	case n == 0:
		f.add(at+"/options", FaultNoOptions)
	case n > MaxOptions:
		f.add(at+"/options", FaultTooMany, n, "options", MaxOptions)
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
			f.add(at+"/id", FaultDuplicateID, clip(o.ID), "option", first+1)
		}
		label := CleanLine(o.Label) // as it is read
		if first, twice := labels[label]; twice {
			f.add(at+"/label", FaultDuplicateLabel, clip(o.Label), "option", first+1)
		}
		ids[o.ID], labels[label] = i, i
		if o.File != nil && q.Multiple {
			f.add(at+"/file", FaultForeignFile)
		}
		if o.Preview == nil {
			continue
		}
		if q.Multiple {
			f.add(at+"/preview", FaultForeignPreview)
		}
		if o.Preview.Format != PreviewMarkdown && o.Preview.Format != PreviewText {
			f.add(at+"/preview/format", FaultNotOneOf, clip(string(o.Preview.Format)), names(PreviewMarkdown, PreviewText))
		}
		f.required(at+"/preview/body", o.Preview.Body, MaxLong)
	}
}

func (q *Question) validateItems(f *faults, at string) {
	if q.Kind != KindChoice && q.Multiple {
		f.add(at+"/multiple", FaultForeignMultiple)
		return
	}
	if !q.Multiple {
		if q.MinItems != 0 {
			f.add(at+"/min_items", FaultForeignItems)
		}
		if q.MaxItems != 0 {
			f.add(at+"/max_items", FaultForeignItems)
		}
		return
	}
	most := len(q.Options)
	if q.Other() {
		most++
	}
	if q.MinItems < 0 || q.MinItems > most {
		f.add(at+"/min_items", FaultOutOfRange, q.MinItems, 0, most)
	}
	if q.MaxItems < 0 || q.MaxItems > most {
		f.add(at+"/max_items", FaultOutOfRange, q.MaxItems, 0, most)
	} else if q.MaxItems > 0 && q.MaxItems < q.MinItems {
		f.add(at+"/max_items", FaultMaxBelowMin, q.MaxItems, "min_items", q.MinItems)
	}
}

func (q *Question) validateLimits(f *faults, at string) {
	l := q.Limits
	only := func(kind Kind, field string, given bool) bool {
		if given && q.Kind != kind {
			f.add(at+"/"+field, FaultForeignLimit, kind, q.Kind)
			return false
		}
		return given
	}
	if q.Kind == KindDate {
		low, okLow := f.date(at+"/min", l.MinDate)
		high, okHigh := f.date(at+"/max", l.MaxDate)
		if okLow && okHigh && high.Before(low) {
			f.add(at+"/max", FaultMaxBelowMin, l.MaxDate, "min", l.MinDate)
		}
	} else if l.MinDate != "" || l.MaxDate != "" {
		field := "min"
		if l.MinDate == "" {
			field = "max"
		}
		f.add(at+"/"+field, FaultForeignDate, q.Kind)
	}
	if only(KindNumber, "min", l.Min != nil) && only(KindNumber, "max", l.Max != nil) && *l.Max < *l.Min {
		f.add(at+"/max", FaultMaxBelowMin, *l.Max, "min", *l.Min)
	} else if l.Min == nil {
		only(KindNumber, "max", l.Max != nil)
	}
	only(KindNumber, "integer", l.Integer)
	only(KindText, "min_length", l.MinLength != 0)
	only(KindText, "max_length", l.MaxLength != 0)
	if l.MinLength < 0 || l.MinLength > MaxLong {
		f.add(at+"/min_length", FaultOutOfRange, l.MinLength, 0, MaxLong)
	}
	if l.MaxLength < 0 || l.MaxLength > MaxLong {
		f.add(at+"/max_length", FaultOutOfRange, l.MaxLength, 0, MaxLong)
	} else if l.MaxLength > 0 && l.MaxLength < l.MinLength {
		f.add(at+"/max_length", FaultMaxBelowMin, l.MaxLength, "min_length", l.MinLength)
	}
	f.length(at+"/message", l.Message, MaxText)
	if only(KindText, "pattern", l.Pattern != "") {
		f.length(at+"/pattern", l.Pattern, MaxText)
		if _, err := regexp.Compile(l.Pattern); err != nil {
			f.add(at+"/pattern", FaultBadPattern, err)
		}
	}
}

func (q *Question) validateDefault(f *faults, at string) {
	if q.Default == nil {
		return
	}
	d := *q.Default
	if d.Empty() {
		f.add(at, FaultEmptyDefault)
		return
	}
	given := d
	for _, fault := range q.check(&d) {
		if fault.Code == FaultWrongField { // its words are about the fields of an answer
			if want, example := q.defaultForm(&given); want != "" {
				f.add(at, FaultWrongDefault, given.valueType(), q.Kind, want, example)
				continue
			}
		}
		fault.Pointer, fault.QuestionID = at, ""
		*f = append(*f, fault)
	}
	if d.Empty() { // blank text is not text
		f.add(at, FaultEmptyDefault)
	}
	for _, id := range d.Selected {
		if o := q.Option(id); o != nil && o.Cancels {
			f.add(at, FaultDefaultCancels, clip(id))
		}
	}
}

// defaultForm returns the term of what a default of this kind is, and an example in JSON, which is what was given if
// that is the id of an option.
func (q *Question) defaultForm(given *Answer) (want, example string) {
	switch q.Kind {
	case KindChoice:
		id := "o1"
		if at := slices.IndexFunc(q.Options, func(o Option) bool { return !o.Cancels }); at >= 0 {
			id = q.Options[at].ID
		}
		if q.Option(given.Text) != nil {
			id = given.Text
		}
		return "option_ids", `["` + clip(id) + `"]`
	case KindText:
		return "string", `"main"`
	case KindNumber:
		return "number", "3"
	case KindBoolean:
		return "boolean", "true"
	case KindDate:
		return "date", `"2026-11-20"`
	}
	return "", ""
}

// valueType returns the term of the JSON type of a default.
func (a *Answer) valueType() string {
	switch {
	case a.Selected != nil:
		return "array"
	case a.Number != nil:
		return "number"
	case a.Boolean != nil:
		return "boolean"
	}
	return "string"
}

func (f *faults) id(pointer, s string) {
	if !ValidID(s) {
		f.add(pointer, FaultBadID, clip(s), maxID)
	}
}

const maxID = 128

// ValidID reports whether s can be the id of a question, an option or an answer:
// 1 to 128 characters without spaces and without those that [CleanText] removes, since
// people read and type ids.
func ValidID(s string) bool {
	n := utf8.RuneCountInString(s)
	return n > 0 && n <= maxID && !strings.ContainsFunc(s, unicode.IsSpace) && CleanText(s) == s
}

func (f *faults) required(pointer, s string, most int) {
	if strings.TrimSpace(CleanText(s)) == "" {
		f.add(pointer, FaultEmptyText)
		return
	}
	f.length(pointer, s, most)
}

func (f *faults) length(pointer, s string, most int) {
	if n := utf8.RuneCountInString(s); n > most {
		f.add(pointer, FaultTooLong, n, most)
	}
}

func (f *faults) date(pointer, s string) (time.Time, bool) {
	if s == "" {
		return time.Time{}, false
	}
	d, err := time.Parse(time.DateOnly, s)
	if err != nil {
		f.add(pointer, FaultNotDate, clip(s))
	}
	return d, err == nil
}

// clip shortens a value that a message quotes.
func clip(s string) string { return Clip(s, 80) }

func finite(n float64) bool { return !math.IsNaN(n) && !math.IsInf(n, 0) }
