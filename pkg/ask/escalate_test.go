package ask_test

import (
	"encoding/json"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/askbus/askbus/pkg/ask"
	"github.com/google/go-cmp/cmp"
)

func laddered() ask.Ask {
	a := ask.Ask{ID: "a1", Questions: []ask.Question{{Text: "Deploy?", Kind: ask.KindBoolean}}, Audience: []string{"group:dev"}, EscalateRepeat: 1, Escalate: []ask.Escalation{
		{After: 10 * time.Minute, Tell: []string{"schedule:sre"}, Via: []string{"slack"}, Widen: true},
		{After: 5 * time.Minute},
	}}
	a.Normalize()
	return a
}

func TestALadderIsJSON(t *testing.T) {
	t.Parallel()
	data, err := json.Marshal(laddered())
	if err != nil {
		t.Fatal(err)
	}
	var got ask.Ask
	if err := json.Unmarshal(data, &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(laddered(), got); diff != "" {
		t.Errorf("(-want +got):\n%s\n%s", diff, data)
	}
	var raw struct {
		Escalate []json.RawMessage `json:"escalate"`
	}
	if err := json.Unmarshal(data, &raw); err != nil || string(raw.Escalate[1]) != `{"after":"5m0s"}` {
		t.Errorf("%s, %v", raw.Escalate, err)
	}
}

func TestLaddersThatAreRefused(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(*ask.Ask)
		want   []string
	}{
		"nothing wrong":              {func(*ask.Ask) {}, nil},
		"too soon":                   {func(a *ask.Ask) { a.Escalate[0].After = time.Second }, []string{"/escalate/0/after out_of_range"}},
		"without a time":             {func(a *ask.Ask) { a.Escalate[1].After = 0 }, []string{"/escalate/1/after out_of_range"}},
		"nobody named":               {func(a *ask.Ask) { a.Escalate[0].Tell = []string{"schedule:"} }, []string{"/escalate/0/tell/0 empty_audience"}},
		"no surface":                 {func(a *ask.Ask) { a.Escalate[0].Via = []string{"a b"} }, []string{"/escalate/0/via/0 bad_token"}},
		"widens a reminder":          {func(a *ask.Ask) { a.Escalate[1].Widen = true }, []string{"/escalate/1/tell missing"}},
		"widens what all may decide": {func(a *ask.Ask) { a.Audience = nil }, []string{"/escalate/0/widen widens_nothing"}},
		"repeats nothing":            {func(a *ask.Ask) { a.Escalate = nil }, []string{"/escalate missing"}},
		"repeats too often":          {func(a *ask.Ask) { a.EscalateRepeat = 10 }, []string{"/escalate_repeat out_of_range"}},
		"too many steps": {func(a *ask.Ask) {
			a.Escalate, a.EscalateRepeat = slices.Repeat(a.Escalate[1:], 10), 9
		}, []string{"/escalate_repeat too_many"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := laddered()
			c.change(&a)
			var got []string
			if e, ok := errors.AsType[*ask.Error](a.Validate(time.Now())); ok {
				for _, f := range e.Faults {
					got = append(got, f.Pointer+" "+string(f.Code))
				}
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("%q; want %q", got, c.want)
			}
		})
	}
}

func TestWhenTheNextStepIsDue(t *testing.T) {
	t.Parallel()
	asked := time.Date(2026, 11, 25, 10, 0, 0, 0, time.UTC)
	a := laddered()
	a.Deadline = asked.Add(time.Hour)
	at := func(minutes int) time.Time { return asked.Add(time.Duration(minutes) * time.Minute) }
	one := ask.Step{N: 1, At: at(12), Tell: []string{"schedule:sre"}} // taken late
	for name, c := range map[string]struct {
		e     *ask.Escalated
		want  ask.Next
		words string
	}{
		"the first": {nil, ask.Next{N: 1, At: at(10), Tell: []string{"schedule:sre"}, Via: []string{"slack"}, Widen: true}, "next: schedule sre in 10 min"},
		"somebody looks": {
			&ask.Escalated{Seen: []ask.Seen{{N: 1, At: at(3), By: ask.By{Principal: "os:mei", Name: "Mei"}}}},
			ask.Next{N: 1, At: at(20), Tell: []string{"schedule:sre"}, Via: []string{"slack"}, Widen: true, Paused: true},
			"next: schedule sre in 20 min, later because Mei is looking",
		},
		"a reminder": {&ask.Escalated{Steps: []ask.Step{one}}, ask.Next{N: 2, At: at(17), Tell: []string{"schedule:sre"}, Remind: true}, "told schedule sre 0 s ago; next: everybody again in 17 min"},
		"again": {
			&ask.Escalated{Steps: []ask.Step{one, {N: 2, At: at(17), Remind: true, Tell: []string{"schedule:sre"}}}, Seen: []ask.Seen{{N: 1}}},
			ask.Next{N: 3, At: at(27), Tell: []string{"schedule:sre"}, Via: []string{"slack"}, Widen: true},
			"told everybody again 0 s ago; next: schedule sre in 27 min",
		},
		"no more":            {&ask.Escalated{Steps: []ask.Step{{N: 4, At: at(40), Tell: []string{"os:jo"}}}}, ask.Next{}, "told os:jo 0 s ago; no further step"},
		"after the deadline": {&ask.Escalated{Steps: []ask.Step{{N: 3, At: at(56), Tell: []string{"os:jo"}}}}, ask.Next{}, "told os:jo 0 s ago; no further step"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			next, ok := a.NextStep(asked, c.e)
			if ok != (c.want.N > 0) {
				t.Fatalf("%+v, %t", next, ok)
			}
			if diff := cmp.Diff(c.want, next); ok && diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if got := a.LadderWords(asked, c.e, asked, ""); got != c.words {
				t.Errorf("%q; want %q", got, c.words)
			}
		})
	}
	if got := a.LadderWords(asked, nil, at(6), "zh-CN"); got != "下一步：通知 值班表 sre（4 分钟后）" {
		t.Error(got)
	}
}

func TestWhomAStepTells(t *testing.T) {
	t.Parallel()
	a := laddered()
	dev, jo, eve := ask.By{Principal: "os:mei", Groups: []string{"dev"}, Proof: ask.ProofOS}, ask.By{Principal: "os:jo", Proof: ask.ProofOS}, ask.By{Principal: "os:eve", Proof: ask.ProofOS}
	for name, c := range map[string]struct {
		step ask.Step
		by   ask.By
		want bool
	}{
		"named":               {ask.Step{Tell: []string{"os:jo"}}, jo, true},
		"not named":           {ask.Step{Tell: []string{"os:jo"}}, dev, false},
		"of the audience":     {ask.Step{Remind: true, Tell: []string{"os:jo"}}, dev, true},
		"told before":         {ask.Step{Remind: true, Tell: []string{"os:jo"}}, jo, true},
		"a stranger":          {ask.Step{Remind: true, Tell: []string{"os:jo"}}, eve, false},
		"a step for nobody":   {ask.Step{}, dev, false},
		"an unknown schedule": {ask.Step{Tell: []string{"schedule:sre"}}, jo, false},
	} {
		if got := a.Tells(&c.step, c.by); got != c.want {
			t.Errorf("%s: %t", name, got)
		}
	}
	e := &ask.Escalated{Steps: []ask.Step{{N: 1}, {N: 2, Via: []string{"slack"}}, {N: 3, Via: []string{"push"}}}}
	if owed := e.Since(1, "push"); len(owed) != 1 || owed[0].N != 3 {
		t.Errorf("%+v", owed)
	}
}
