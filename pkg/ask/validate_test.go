package ask_test

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/askbus/askbus/pkg/ask"
)

var now = time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC)

// valid returns an ask with every kind of question.
func valid() *ask.Ask {
	return &ask.Ask{
		ID: "deploy-42", Tenant: "acme", Session: "s1", Title: "Ledger storage", Audience: []string{"group:platform", "os:mei"},
		Questions: []ask.Question{
			{ID: "db", Text: "Which database?", Header: "Storage", Options: []ask.Option{
				{ID: "pg", Label: "PostgreSQL", Preview: &ask.Preview{Body: "x"}, Recommended: true}, {ID: "lite", Label: "SQLite"}, {ID: "stop", Label: "Neither", Cancels: true},
			}},
			{ID: "parts", Text: "Which parts?", Multiple: true, MinItems: 1, MaxItems: 2, Optional: true, Options: []ask.Option{{Label: "a"}, {Label: "b"}, {Label: "c"}}},
			{ID: "n", Text: "How many?", Kind: ask.KindNumber, Optional: true, Limits: ask.Limits{Min: new(1.0), Max: new(9.0), Integer: true}, Default: &ask.Answer{Number: new(3.0)}},
			{ID: "name", Text: "What name?", Optional: true, Limits: ask.Limits{MinLength: 2, MaxLength: 5, Pattern: "^[a-z]+$"}},
			{ID: "tls", Text: "Encrypt?", Kind: ask.KindBoolean, Optional: true},
			{ID: "from", Text: "From when?", Kind: ask.KindDate, Optional: true, Limits: ask.Limits{MinDate: "2026-11-20", MaxDate: "2026-12-31"}, Default: &ask.Answer{Text: "2026-12-01"}},
		},
	}
}

// faults returns the faults of an invalid error, one per line.
func faults(t *testing.T, err error) string {
	t.Helper()
	if err == nil {
		return ""
	}
	var refusal *ask.Error
	if !errors.As(err, &refusal) || !errors.Is(err, ask.ErrInvalid) {
		t.Fatalf("the error is %T: %v", err, err)
	}
	var lines []string
	for _, f := range refusal.Faults {
		lines = append(lines, f.String())
	}
	return strings.Join(lines, "\n")
}

func TestAnAskWithEverythingIsValid(t *testing.T) {
	t.Parallel()
	a := valid()
	a.Normalize()
	if err := a.Validate(now); err != nil {
		t.Error(err)
	}
}

func TestInvalidAsksAreRefusedWithAPointer(t *testing.T) {
	t.Parallel()
	long := func(n int) string { return strings.Repeat("很", n) }
	q := func(i int, change func(q *ask.Question)) func(*ask.Ask) {
		return func(a *ask.Ask) { change(&a.Questions[i]) }
	}
	for name, c := range map[string]struct {
		change func(a *ask.Ask)
		want   string
	}{
		"the id is empty":              {func(a *ask.Ask) { a.ID = "" }, `/id: is ""; use 1 to 64 of A-Z a-z 0-9 _ -`},
		"the id is not a token":        {func(a *ask.Ask) { a.ID = "a.b" }, `/id: is "a.b"; use 1 to 64 of A-Z a-z 0-9 _ -`},
		"the title is long":            {func(a *ask.Ask) { a.Title = long(301) }, "/title: has 301 characters; use at most 300"},
		"the context is long":          {func(a *ask.Ask) { a.Context = long(65537) }, "/context: has 65537 characters; use at most 65536"},
		"the agent's id is long":       {func(a *ask.Ask) { a.Agent.ID = long(257) }, "/agent/id: has 257 characters; use at most 256"},
		"the agent's name is long":     {func(a *ask.Ask) { a.Agent.Name = long(257) }, "/agent/name: has 257 characters; use at most 256"},
		"the agent's parent is long":   {func(a *ask.Ask) { a.Agent.Parent = long(10001) }, "/agent/parent: has 10001 characters; use at most 10000"},
		"the priority is unknown":      {func(a *ask.Ask) { a.Priority = "asap" }, `/priority: is "asap"; use low, normal, high or urgent`},
		"the audience is long":         {func(a *ask.Ask) { a.Audience = make([]string, 101) }, "/audience: has 101 entries; use at most 100"},
		"an audience entry is blank":   {func(a *ask.Ask) { a.Audience = []string{" "} }, `/audience/0: is empty; use "group:<name>" or a principal`},
		"an audience group is empty":   {func(a *ask.Ask) { a.Audience = []string{"group:"} }, `/audience/0: is empty; use "group:<name>" or a principal`},
		"an audience entry is long":    {func(a *ask.Ask) { a.Audience = []string{long(257)} }, "/audience/0: has 257 characters; use at most 256"},
		"there is much metadata":       {func(a *ask.Ask) { a.Metadata = entries(65) }, "/metadata: has 65 entries; use at most 64"},
		"timeout and deadline":         {func(a *ask.Ask) { a.Timeout, a.Deadline = time.Hour, now.Add(time.Hour) }, "/timeout: is given together with deadline; give one of them"},
		"the timeout is short":         {func(a *ask.Ask) { a.Timeout = time.Millisecond }, "/timeout: is 1ms; use 1s to 720h"},
		"the timeout is negative":      {func(a *ask.Ask) { a.Timeout = -time.Hour }, "/timeout: is -1h0m0s; use 1s to 720h"},
		"the timeout is long":          {func(a *ask.Ask) { a.Timeout = 721 * time.Hour }, "/timeout: is 721h0m0s; use 1s to 720h"},
		"the deadline has passed":      {func(a *ask.Ask) { a.Deadline = now }, "/deadline: is 2026-11-20T10:00:00Z, which has passed; give a later one"},
		"the deadline is far":          {func(a *ask.Ask) { a.Deadline = now.Add(721 * time.Hour) }, "/deadline: is 2026-12-20T11:00:00Z, more than 30 days ahead; give an earlier one"},
		"at_deadline is unknown":       {func(a *ask.Ask) { a.AtDeadline = "maybe" }, `/at_deadline: is "maybe"; use expire or default`},
		"a required default is absent": {func(a *ask.Ask) { a.AtDeadline = ask.AtDeadlineDefault }, `/questions/0/default: is missing; with at_deadline "default" every required question needs one`},
		"there is no question":         {func(a *ask.Ask) { a.Questions = nil }, "/questions: is empty; ask at least one question"},
		"there are many questions":     {func(a *ask.Ask) { a.Questions = make([]ask.Question, 17) }, "/questions: has 17 questions; use at most 16"},
		"question ids are equal":       {q(1, func(q *ask.Question) { q.ID = "db" }), `/questions/1/id: "db" is also the id of question 1; ids must be unique`},
		"a question id has a space":    {q(0, func(q *ask.Question) { q.ID = "a b" }), `/questions/0/id: is "a b"; use 1 to 128 visible characters without spaces`},
		"a question id is long":        {q(0, func(q *ask.Question) { q.ID = strings.Repeat("x", 129) }), `/questions/0/id: is "` + strings.Repeat("x", 79) + `…"; use 1 to 128 visible characters without spaces`},
		"a text is blank":              {q(0, func(q *ask.Question) { q.Text = " \n" }), "/questions/0/text: is empty; text is required"},
		"a text is long":               {q(0, func(q *ask.Question) { q.Text = long(10001) }), "/questions/0/text: has 10001 characters; use at most 10000"},
		"a header is long":             {q(0, func(q *ask.Question) { q.Header = long(13) }), "/questions/0/header: has 13 characters; use at most 12"},
		"a placeholder is long":        {q(0, func(q *ask.Question) { q.Placeholder = long(257) }), "/questions/0/placeholder: has 257 characters; use at most 256"},
		"a kind is unknown":            {q(0, func(q *ask.Question) { q.Kind = "colour" }), `/questions/0/kind: is "colour"; use choice, text, number, boolean or date`},
		"a number has options":         {q(2, func(q *ask.Question) { q.Options = []ask.Option{{Label: "1"}} }), "/questions/2/options: are given, but kind is number; leave them out or use kind choice"},
		"no options and no Other":      {q(0, func(q *ask.Question) { q.Options, q.NoOther, q.Kind = nil, true, ask.KindChoice }), "/questions/0/options: is empty and Other text is off; give options or set allow_other to true"},
		"there are many options":       {q(0, func(q *ask.Question) { q.Options = make([]ask.Option, 101) }), "/questions/0/options: has 101 options; use at most 100"},
		"option ids are equal":         {q(0, func(q *ask.Question) { q.Options[1].ID = "pg" }), `/questions/0/options/1/id: "pg" is also the id of option 1; ids must be unique`},
		"labels are equal":             {q(0, func(q *ask.Question) { q.Options[1].Label = " PostgreSQL " }), `/questions/0/options/1/label: " PostgreSQL " is also the label of option 1; labels must be unique`},
		"an option id has a control":   {q(0, func(q *ask.Question) { q.Options[1].ID = "\x7f" }), `/questions/0/options/1/id: is "\x7f"; use 1 to 128 visible characters without spaces`},
		"an option id is reversed":     {q(0, func(q *ask.Question) { q.Options[1].ID = "\u202egp" }), `/questions/0/options/1/id: is "\u202egp"; use 1 to 128 visible characters without spaces`},
		"a question id is invisible":   {q(0, func(q *ask.Question) { q.ID = "d\u200bb" }), `/questions/0/id: is "d\u200bb"; use 1 to 128 visible characters without spaces`},
		"a question id has an NBSP":    {q(0, func(q *ask.Question) { q.ID = "a\u00a0b" }), `/questions/0/id: is "a\u00a0b"; use 1 to 128 visible characters without spaces`},
		"labels read the same":         {q(0, func(q *ask.Question) { q.Options[1].Label = "Postgre\u200bSQL" }), `/questions/0/options/1/label: "Postgre\u200bSQL" is also the label of option 1; labels must be unique`},
		"a label shows nothing":        {q(0, func(q *ask.Question) { q.Options[1].Label = "\u202e\u200b" }), "/questions/0/options/1/label: is empty; text is required"},
		"a label is blank":             {q(0, func(q *ask.Question) { q.Options[1].Label = "" }), "/questions/0/options/1/label: is empty; text is required"},
		"a label is long":              {q(0, func(q *ask.Question) { q.Options[1].Label = long(501) }), "/questions/0/options/1/label: has 501 characters; use at most 500"},
		"a description is long":        {q(0, func(q *ask.Question) { q.Options[1].Description = long(10001) }), "/questions/0/options/1/description: has 10001 characters; use at most 10000"},
		"a preview with several":       {q(1, func(q *ask.Question) { q.Options[0].Preview = &ask.Preview{Body: "x"} }), "/questions/1/options/0/preview: is given, but several options may be chosen; previews need a single choice"},
		"a preview's format":           {q(0, func(q *ask.Question) { q.Options[0].Preview.Format = "html" }), `/questions/0/options/0/preview/format: is "html"; use markdown or text`},
		"a preview is empty":           {q(0, func(q *ask.Question) { q.Options[0].Preview.Body = "" }), "/questions/0/options/0/preview/body: is empty; text is required"},
		"a preview is long":            {q(0, func(q *ask.Question) { q.Options[0].Preview.Body = long(65537) }), "/questions/0/options/0/preview/body: has 65537 characters; use at most 65536"},
		"several booleans":             {q(4, func(q *ask.Question) { q.Multiple = true }), "/questions/4/multiple: is true, but only a choice with options can have several answers"},
		"min_items with one":           {q(0, func(q *ask.Question) { q.MinItems = 1 }), "/questions/0/min_items: is given, but multiple is false; set multiple or leave it out"},
		"max_items with one":           {q(0, func(q *ask.Question) { q.MaxItems = 1 }), "/questions/0/max_items: is given, but multiple is false; set multiple or leave it out"},
		"min_items is negative":        {q(1, func(q *ask.Question) { q.MinItems = -1 }), "/questions/1/min_items: is -1; use 0 to 4"},
		"min_items is large":           {q(1, func(q *ask.Question) { q.MinItems, q.MaxItems = 5, 0 }), "/questions/1/min_items: is 5; use 0 to 4"},
		"max_items is large":           {q(1, func(q *ask.Question) { q.MaxItems = 5 }), "/questions/1/max_items: is 5; use 0 to 4"},
		"max_items below min_items":    {q(1, func(q *ask.Question) { q.MinItems, q.MaxItems = 3, 2 }), "/questions/1/max_items: is 2, less than min_items 3"},
		"max is less than min":         {q(2, func(q *ask.Question) { q.Limits.Max, q.Default = new(0.0), nil }), "/questions/2/limits/max: is 0, less than min 1"},
		"a text has min":               {q(3, func(q *ask.Question) { q.Limits.Min = new(1.0) }), "/questions/3/limits/min: applies only to number questions; this is a text question"},
		"a text has max":               {q(3, func(q *ask.Question) { q.Limits.Max = new(1.0) }), "/questions/3/limits/max: applies only to number questions; this is a text question"},
		"a text has integer":           {q(3, func(q *ask.Question) { q.Limits.Integer = true }), "/questions/3/limits/integer: applies only to number questions; this is a text question"},
		"a choice has min_length":      {q(0, func(q *ask.Question) { q.Limits.MinLength = 1 }), "/questions/0/limits/min_length: applies only to text questions; this is a choice question"},
		"a choice has max_length":      {q(0, func(q *ask.Question) { q.Limits.MaxLength = 1 }), "/questions/0/limits/max_length: applies only to text questions; this is a choice question"},
		"a choice has a pattern":       {q(0, func(q *ask.Question) { q.Limits.Pattern = "x" }), "/questions/0/limits/pattern: applies only to text questions; this is a choice question"},
		"min_length is negative":       {q(3, func(q *ask.Question) { q.Limits.MinLength = -1 }), "/questions/3/limits/min_length: is -1; use 0 to 65536"},
		"max_length is large":          {q(3, func(q *ask.Question) { q.Limits.MaxLength = 65537 }), "/questions/3/limits/max_length: is 65537; use 0 to 65536"},
		"max_length below min_length":  {q(3, func(q *ask.Question) { q.Limits.MaxLength = 1 }), "/questions/3/limits/max_length: is 1, less than min_length 2"},
		"a message is long":            {q(3, func(q *ask.Question) { q.Limits.Message = long(10001) }), "/questions/3/limits/message: has 10001 characters; use at most 10000"},
		"a pattern is broken":          {q(3, func(q *ask.Question) { q.Limits.Pattern = "(" }), "/questions/3/limits/pattern: is not an RE2 regular expression: error parsing regexp: missing closing ): `(`"},
		"a date limit is not a date":   {q(5, func(q *ask.Question) { q.Limits.MinDate = "soon" }), `/questions/5/limits/min: is "soon"; give a date such as 2026-11-20`},
		"date limits are crossed":      {q(5, func(q *ask.Question) { q.Limits.MaxDate, q.Default = "2026-01-01", nil }), "/questions/5/limits/max: is 2026-01-01, less than min 2026-11-20"},
		"a number has a date":          {q(2, func(q *ask.Question) { q.Limits.MaxDate = "2026-01-01" }), "/questions/2/limits/max: is a date, but this is a number question"},
		"a default is empty":           {q(0, func(q *ask.Question) { q.Default = &ask.Answer{} }), "/questions/0/default: is empty; leave it out"},
		"a default does not fit":       {q(0, func(q *ask.Question) { q.Default = &ask.Answer{Selected: []string{"x"}} }), `/questions/0/default: option "x" does not exist; the options are pg, lite, stop`},
		"a default cancels":            {q(0, func(q *ask.Question) { q.Default = &ask.Answer{Selected: []string{"stop"}} }), `/questions/0/default: chooses option "stop", which cancels; a default must answer`},
		"a default of a choice":        {q(0, func(q *ask.Question) { q.Default = &ask.Answer{Text: "lite"} }), `/questions/0/default: is a string; the default of a choice question is an array of option ids, such as ["lite"]`},
		"a default of a wrong type":    {q(0, func(q *ask.Question) { q.Default = &ask.Answer{Boolean: new(true)} }), `/questions/0/default: is a boolean; the default of a choice question is an array of option ids, such as ["pg"]`},
		"a default of a text":          {q(3, func(q *ask.Question) { q.Default = &ask.Answer{Selected: []string{"a"}} }), `/questions/3/default: is an array; the default of a text question is a string, such as "main"`},
		"a default of a date":          {q(5, func(q *ask.Question) { q.Default = &ask.Answer{Number: new(3.0)} }), `/questions/5/default: is a number; the default of a date question is a date, such as "2026-11-20"`},
		"a default is not finite":      {q(2, func(q *ask.Question) { q.Default.Number = new(math.Inf(1)) }), "/questions/2/default: is not a finite number"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := valid()
			c.change(a)
			a.Normalize()
			if got := faults(t, a.Validate(now)); !strings.Contains("\n"+got+"\n", "\n"+c.want+"\n") {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

func entries(n int) map[string]any {
	m := make(map[string]any)
	for i := range n {
		m[strings.Repeat("k", i+1)] = i
	}
	return m
}

func TestAllFaultsAreReported(t *testing.T) {
	t.Parallel()
	a := &ask.Ask{ID: "!", Questions: []ask.Question{{Header: strings.Repeat("x", 13)}}}
	a.Normalize()
	if got := faults(t, a.Validate(now)); strings.Count(got, "\n") != 2 {
		t.Errorf("the faults are\n%s", got)
	}
}
