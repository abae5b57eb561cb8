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

// deploy is a yes/no that two of sre approve.
func deploy() ask.Ask {
	return ask.Ask{
		ID: "a1", Tenant: "acme", Session: "s1",
		Questions: []ask.Question{{Text: "Deploy?", Kind: ask.KindBoolean}},
		Approval:  &ask.Approval{AnyOf: []ask.Alternative{{Need: 2, From: []string{"group:sre"}}}},
	}
}

func release() ask.Ask {
	a := deploy()
	a.Questions[0] = ask.Question{Text: "When?", NoOther: true, Options: []ask.Option{{ID: "now", Label: "Now"}, {ID: "later", Label: "Tonight"}, {ID: "never", Label: "Never", Cancels: true}}}
	a.Approval.ApproveOptions = []string{"now", "later"}
	return a
}

func TestAnApprovalIsChecked(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		of     func() ask.Ask
		change func(*ask.Ask)
		want   []string // pointers and codes
	}{
		"two of a group":        {deploy, func(*ask.Ask) {}, nil},
		"a choice":              {release, func(*ask.Ask) {}, nil},
		"no alternative":        {deploy, func(a *ask.Ask) { a.Approval.AnyOf = nil }, []string{"/approval/any_of missing"}},
		"too many alternatives": {deploy, func(a *ask.Ask) { a.Approval.AnyOf = make([]ask.Alternative, 9) }, []string{"/approval/any_of too_many"}},
		"need below one":        {deploy, func(a *ask.Ask) { a.Approval.AnyOf[0].Need = -1 }, []string{"/approval/any_of/0/need out_of_range"}},
		"need beyond all":       {deploy, func(a *ask.Ask) { a.Approval.AnyOf[0].Need = 51 }, []string{"/approval/any_of/0/need out_of_range"}},
		"an empty entry":        {deploy, func(a *ask.Ask) { a.Approval.AnyOf[0].From = []string{"group:"} }, []string{"/approval/any_of/0/from/0 empty_audience"}},
		"a denial by nobody":    {deploy, func(a *ask.Ask) { a.Approval.Deny = &ask.Denial{From: []string{" "}} }, []string{"/approval/deny/from/0 empty_audience"}},
		"two questions":         {deploy, func(a *ask.Ask) { a.Questions = append(a.Questions, a.Questions[0]) }, []string{"/questions approval_questions"}},
		"a text":                {deploy, func(a *ask.Ask) { a.Questions[0].Kind = ask.KindText }, []string{"/questions/0/kind approval_kind"}},
		"an optional question":  {deploy, func(a *ask.Ask) { a.Questions[0].Optional = true }, []string{"/questions/0/required approval_optional"}},
		"several choices":       {release, func(a *ask.Ask) { a.Questions[0].Multiple = true }, []string{"/questions/0/multiple approval_kind"}},
		"other text":            {release, func(a *ask.Ask) { a.Questions[0].NoOther = false }, []string{"/questions/0/allow_other approval_other"}},
		"nothing approves":      {release, func(a *ask.Ask) { a.Approval.ApproveOptions = nil }, []string{"/approval/approve_options missing"}},
		"an unknown option":     {release, func(a *ask.Ask) { a.Approval.ApproveOptions = []string{"soon"} }, []string{"/approval/approve_options/0 unknown_option"}},
		"both ways":             {release, func(a *ask.Ask) { a.Approval.DenyOptions = []string{"later", "never"} }, []string{"/approval/deny_options/0 chosen_twice"}},
		"left out": {release, func(a *ask.Ask) {
			a.Approval.DenyOptions, a.Approval.ApproveOptions = []string{"never"}, []string{"now"}
		}, []string{"/approval/deny_options approval_undeclared"}},
		"a cancel that approves":  {release, func(a *ask.Ask) { a.Approval.ApproveOptions = []string{"never"} }, []string{"/approval/approve_options/0 approval_cancels"}},
		"options of a yes/no":     {deploy, func(a *ask.Ask) { a.Approval.ApproveOptions = []string{"yes"} }, []string{"/approval/approve_options foreign_options"}},
		"a default that approves": {deploy, func(a *ask.Ask) { a.Questions[0].Default = &ask.Answer{Boolean: new(true)} }, []string{"/questions/0/default approval_default"}},
		"a default that denies": {deploy, func(a *ask.Ask) {
			a.AtDeadline, a.Questions[0].Default = ask.AtDeadlineDefault, &ask.Answer{Boolean: new(false)}
		}, nil},
		"an option as default":     {release, func(a *ask.Ask) { a.Questions[0].Default = &ask.Answer{Selected: []string{"later"}} }, []string{"/questions/0/default approval_default"}},
		"two of one person":        {deploy, func(a *ask.Ask) { a.Approval.AnyOf[0].From = []string{"os:mei"} }, []string{"/approval/any_of/0 approval_unreachable"}},
		"two of one person's ways": {deploy, func(a *ask.Ask) { a.Only, a.Asker = ask.OnlyAsker, []string{"os:mei", "oidc:id.example.com#mei"} }, []string{"/approval/any_of/0 approval_unreachable"}},
		"one of them is excluded": {deploy, func(a *ask.Ask) {
			a.Exclude, a.Approval.AnyOf[0].From = []string{"os:mei"}, []string{"os:mei", "os:jo"}
		}, []string{"/approval/any_of/0 approval_unreachable"}},
		"the asker is excluded": {deploy, func(a *ask.Ask) {
			a.ExcludeAsker, a.Asker, a.Approval.AnyOf[0].From = true, []string{"os:mei"}, []string{"os:mei", "os:jo"}
		}, []string{"/approval/any_of/0 approval_unreachable"}},
		"a token is no person": {deploy, func(a *ask.Ask) { a.Approval.AnyOf[0].From = []string{"token:ci", "os:jo"} }, []string{"/approval/any_of/0 approval_unreachable"}},
		"outside of the audience": {
			deploy, func(a *ask.Ask) {
				a.Audience, a.Approval.AnyOf[0].From = []string{"os:mei"}, []string{"os:jo", "os:ana"}
			},
			[]string{"/approval/any_of/0 approval_unreachable"},
		},
		"one person in two places": {deploy, func(a *ask.Ask) {
			a.Approval.AnyOf = []ask.Alternative{{Distinct: true, AllOf: []ask.Factor{{From: []string{"os:mei"}}, {From: []string{"os:mei"}}}}}
		}, []string{"/approval/any_of/0 approval_unreachable"}},
		"one person in both": {deploy, func(a *ask.Ask) {
			a.Approval.AnyOf = []ask.Alternative{{AllOf: []ask.Factor{{From: []string{"os:mei"}}, {From: []string{"os:mei"}}}}}
		}, nil},
		"denied by too many": {deploy, func(a *ask.Ask) { a.Approval.Deny = &ask.Denial{Need: 2, From: []string{"os:mei"}} }, []string{"/approval/deny approval_unreachable"}},
		"all_of and need": {
			deploy, func(a *ask.Ask) { a.Approval.AnyOf[0].AllOf = []ask.Factor{{From: []string{"group:sre"}}} },
			[]string{"/approval/any_of/0/all_of given_together"},
		},
		"after all of a group": {deploy, func(a *ask.Ask) { a.Approval.After = ask.AfterAll }, []string{"/approval/after approval_groups"}},
		"after some":           {deploy, func(a *ask.Ask) { a.Approval.After = "some" }, []string{"/approval/after not_one_of"}},
		"fresh for no time":    {deploy, func(a *ask.Ask) { a.Approval.Fresh = time.Millisecond }, []string{"/approval/fresh out_of_range"}},
		"a reason by and by":   {deploy, func(a *ask.Ask) { a.Approval.AnyOf[0].Reason = "maybe" }, []string{"/approval/any_of/0/reason not_one_of"}},
		"a pattern of nothing": {deploy, func(a *ask.Ask) { a.Approval.AnyOf[0].ReasonPattern = "OPS" }, []string{"/approval/any_of/0/reason missing"}},
		"a broken pattern": {
			deploy, func(a *ask.Ask) { a.Approval.AnyOf[0].Reason, a.Approval.AnyOf[0].ReasonPattern = "required", "(" },
			[]string{"/approval/any_of/0/reason_pattern bad_pattern"},
		},
		"an unknown proof":      {deploy, func(a *ask.Ask) { a.Approval.AnyOf[0].MinProof = "blood" }, []string{"/approval/any_of/0/min_proof not_one_of"}},
		"only somebody":         {deploy, func(a *ask.Ask) { a.Only = "mei" }, []string{"/only not_one_of"}},
		"only an unnamed asker": {deploy, func(a *ask.Ask) { a.Only, a.Approval = ask.OnlyAsker, nil }, []string{"/asker only_no_asker"}},
		"only, but not": {deploy, func(a *ask.Ask) {
			a.Only, a.ExcludeAsker, a.Asker, a.Approval = ask.OnlyAsker, true, []string{"os:x"}, nil
		}, []string{"/only contradicts"}},
		"nobody of OpenID Connect is named without the provider": {deploy, func(a *ask.Ask) {
			a.Approval.AnyOf[0].From, a.Exclude = []string{"oidc:ana"}, []string{"oidc:boss", "oidc:id.example.com#boss", "os:boss"}
			a.ExcludeAsker, a.Asker = true, []string{"oidc:mei@example.com"}
		}, []string{"/asker/0 no_provider", "/exclude/0 no_provider", "/approval/any_of/0/from/0 no_provider"}},
		"an asker who is only noted": {deploy, func(a *ask.Ask) { a.Asker = []string{"oidc:mei@example.com"} }, nil},
		"a group is not a person":    {deploy, func(a *ask.Ask) { a.Exclude = []string{"group:sre"} }, []string{"/exclude/0 empty_principal"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := c.of()
			c.change(&a)
			a.Normalize()
			var got []string
			if e, ok := errors.AsType[*ask.Error](a.Validate(time.Now())); ok {
				for _, f := range e.Faults {
					got = append(got, f.Pointer+" "+string(f.Code))
				}
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("faults %q, want %q", got, c.want)
			}
		})
	}
}

func TestAnApprovalKeepsItsJSON(t *testing.T) {
	t.Parallel()
	a := release()
	a.Normalize()
	a.Approval.Fresh = 90 * time.Minute
	data, err := json.Marshal(a)
	if err != nil {
		t.Fatal(err)
	}
	var back ask.Ask
	if err := json.Unmarshal(data, &back); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(a.Approval, back.Approval); diff != "" {
		t.Errorf("%s\n%s", data, diff)
	}
	if !slices.Equal(back.Approval.DenyOptions, []string{"never"}) {
		t.Errorf("what does not approve denies: %q", back.Approval.DenyOptions)
	}
}

func vote(principal string, choice ask.Choice, groups ...string) ask.Vote {
	return ask.Vote{By: ask.By{Principal: principal, Groups: groups, Proof: ask.ProofOIDC}, Choice: choice, At: time.Unix(1000, 0)}
}

func TestVotesAreCounted(t *testing.T) {
	t.Parallel()
	at := time.Unix(1000, 0)
	yes, no := ask.ChoiceApprove, ask.ChoiceDeny
	later := func(v ask.Vote, option string) ask.Vote { v.Option = option; return v }
	reasoned := func(v ask.Vote, reason string) ask.Vote { v.Reason = reason; return v }
	both := []ask.Alternative{{AllOf: []ask.Factor{{Need: 1, From: []string{"group:sre"}}, {Need: 1, From: []string{"group:sec"}}}}}
	for name, c := range map[string]struct {
		of     func() ask.Ask
		change func(*ask.Ask)
		votes  []ask.Vote
		want   string
	}{
		"none":              {deploy, nil, nil, "0 of 2 approvals; 2 more needed from group sre"},
		"one":               {deploy, nil, []ask.Vote{vote("os:mei", yes, "sre")}, "1 of 2 approvals: os:mei; 1 more needed from group sre"},
		"two":               {deploy, nil, []ask.Vote{vote("os:mei", yes, "sre"), vote("os:jo", yes, "sre")}, "approved by os:mei, os:jo"},
		"of another group":  {deploy, nil, []ask.Vote{vote("os:mei", yes, "sre"), vote("os:jo", yes, "dev")}, "1 of 2 approvals: os:mei; 1 more needed from group sre"},
		"one denial":        {deploy, nil, []ask.Vote{vote("os:mei", yes, "sre"), vote("os:jo", no, "sre")}, "denied by os:jo"},
		"a stranger denies": {deploy, nil, []ask.Vote{vote("os:jo", no, "dev")}, "0 of 2 approvals; 2 more needed from group sre"},
		"withdrawn":         {deploy, nil, []ask.Vote{vote("os:mei", yes, "sre"), vote("os:jo", ask.ChoiceWithdrawn)}, "1 of 2 approvals: os:mei; 1 more needed from group sre"},
		"deny wins": {
			deploy, func(a *ask.Ask) {
				a.Approval.AnyOf[0].From, a.Approval.After = []string{"os:a", "os:b", "os:c"}, ask.AfterAll
			},
			[]ask.Vote{vote("os:a", yes), vote("os:b", yes), vote("os:c", no)},
			"denied by os:c",
		},
		"one is awaited": {
			deploy, func(a *ask.Ask) {
				a.Approval.AnyOf[0].From, a.Approval.After = []string{"os:a", "os:b", "os:c"}, ask.AfterAll
			},
			[]ask.Vote{vote("os:a", yes), vote("os:b", yes)},
			"2 of 2 approvals: os:a, os:b; waiting for os:c to vote",
		},
		"who has approved is not waited for": {
			deploy, func(a *ask.Ask) { a.Approval.AnyOf[0].From = []string{"group:sre", "os:a", "os:b"} },
			[]ask.Vote{vote("os:a", yes)},
			"1 of 2 approvals: os:a; 1 more needed from group sre or os:b",
		},
		"a denial of two": {
			deploy, func(a *ask.Ask) { a.Approval.Deny = &ask.Denial{Need: 2} },
			[]ask.Vote{vote("os:jo", no, "sre")},
			"0 of 2 approvals; 1 of 2 denials: os:jo; 2 more needed from group sre",
		},
		"it cannot be reached": {
			deploy, func(a *ask.Ask) {
				a.Approval.AnyOf[0].From, a.Approval.Deny = []string{"os:a", "os:b"}, &ask.Denial{Need: 2}
			},
			[]ask.Vote{vote("os:a", no)},
			"0 of 2 approvals; 1 of 2 denials: os:a; 2 more needed from os:a or os:b; it can no longer be approved unless somebody changes a vote",
		},
		"a veto": {
			deploy, func(a *ask.Ask) { a.Approval.Deny = &ask.Denial{From: []string{"group:sec"}} },
			[]ask.Vote{vote("os:mei", no, "sre"), vote("os:jo", no, "sec")},
			"denied by os:jo",
		},
		"somebody in two groups": {deploy, func(a *ask.Ask) { a.Approval.AnyOf = both }, []ask.Vote{vote("os:mei", yes, "sre", "sec")}, "approved by os:mei"},
		"distinct": {
			deploy, func(a *ask.Ask) { a.Approval.AnyOf = []ask.Alternative{{AllOf: both[0].AllOf, Distinct: true}} },
			[]ask.Vote{vote("os:mei", yes, "sre", "sec")},
			"1 of 2 approvals: os:mei; 1 more needed from group sec",
		},
		"distinct, the other way round": {
			deploy, func(a *ask.Ask) { a.Approval.AnyOf = []ask.Alternative{{AllOf: both[0].AllOf, Distinct: true}} },
			[]ask.Vote{vote("os:mei", yes, "sre", "sec"), vote("os:jo", yes, "sre")},
			"approved by os:mei, os:jo",
		},
		"an admin alone": {deploy, func(a *ask.Ask) {
			a.Approval.AnyOf = append(a.Approval.AnyOf, ask.Alternative{Need: 1, From: []string{"group:admin"}})
		}, []ask.Vote{vote("os:root", yes, "admin")}, "approved by os:root"},
		"what each alternative lacks": {
			deploy, func(a *ask.Ask) {
				a.Approval.AnyOf = append(a.Approval.AnyOf, ask.Alternative{Need: 1, From: []string{"group:admin"}}, ask.Alternative{AllOf: both[0].AllOf, Distinct: true})
			}, nil,
			"0 of 1 approvals; 1 more needed from group admin, or 2 more needed from group sre, or 1 more needed from group sre and 1 more needed from group sec",
		},
		"a vote that counts in two alternatives": {
			deploy, func(a *ask.Ask) {
				a.Approval.AnyOf = append(a.Approval.AnyOf, ask.Alternative{AllOf: both[0].AllOf, Distinct: true})
			},
			[]ask.Vote{vote("os:mei", yes, "sre")},
			"1 of 2 approvals: os:mei; 1 more needed from group sre, or 1 more needed from group sec",
		},
		"a policy needs the same": {
			deploy, func(a *ask.Ask) { a.Approval.And = []ask.Approval{{AnyOf: a.Approval.AnyOf, Policy: "p"}} }, nil,
			"0 of 2 approvals; 2 more needed from group sre",
		},
		"different options": {
			release, nil,
			[]ask.Vote{later(vote("os:mei", yes, "sre"), "now"), later(vote("os:jo", yes, "sre"), "later")},
			"1 of 2 approvals: os:mei; 1 more needed from group sre",
		},
		"without its reason": {deploy, func(a *ask.Ask) {
			a.Approval.AnyOf[0].Reason, a.Approval.AnyOf[0].ReasonPattern = "required", "^OPS-[0-9]+$"
		}, []ask.Vote{reasoned(vote("os:mei", yes, "sre"), "OPS-1"), reasoned(vote("os:jo", yes, "sre"), "fine")}, "1 of 2 approvals: os:mei; 1 more needed from group sre"},
		"proved too little": {
			deploy, func(a *ask.Ask) { a.Approval.AnyOf[0].MinProof = "passkey" },
			[]ask.Vote{{By: ask.By{Principal: "os:mei", Groups: []string{"sre"}, Proof: ask.ProofOS}, Choice: yes, At: at}},
			"0 of 2 approvals; 2 more needed from group sre",
		},
		"stale": {
			deploy, func(a *ask.Ask) { a.Approval.Fresh = time.Minute },
			[]ask.Vote{{By: ask.By{Principal: "os:mei", Groups: []string{"sre"}}, Choice: yes, At: at.Add(-time.Hour)}},
			"0 of 2 approvals; 2 more needed from group sre",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := c.of()
			if c.change != nil {
				c.change(&a)
			}
			a.Normalize()
			tally := a.Tally(c.votes, at)
			if got := tally.Words("en"); got != c.want {
				t.Errorf("%s\nwant %s", got, c.want)
			}
			if tally.Words("zh-CN") == tally.Words("en") {
				t.Error("it has no Chinese words")
			}
		})
	}
}

func TestAVoteThatCountsNowhereIsRefused(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(*ask.Ask)
		by     ask.By
		answer ask.Answer
		want   string
	}{
		"it counts":        {nil, ask.By{Principal: "os:mei", Groups: []string{"sre", "dev"}}, ask.Answer{Boolean: new(true)}, ""},
		"another group":    {nil, ask.By{Principal: "os:mei", Groups: []string{"dev"}}, ask.Answer{Boolean: new(true)}, "/by/principal"},
		"nobody's token":   {nil, ask.By{Principal: "token:ci", Groups: []string{"sre"}}, ask.Answer{Boolean: new(true)}, "/by/principal"},
		"a host's dialog":  {nil, ask.By{Principal: "os:mei", Groups: []string{"sre"}, Proof: ask.ProofHostDialog}, ask.Answer{Boolean: new(true)}, "/by/principal"},
		"a weak proof":     {func(a *ask.Ask) { a.Approval.AnyOf[0].MinProof = "oidc" }, ask.By{Principal: "os:mei", Groups: []string{"sre"}, Proof: "os"}, ask.Answer{Boolean: new(true)}, "/by/proof"},
		"no reason":        {func(a *ask.Ask) { a.Approval.AnyOf[0].Reason = "required" }, ask.By{Principal: "os:mei", Groups: []string{"sre"}}, ask.Answer{Boolean: new(true)}, "/answers/0/notes"},
		"a no needs none":  {func(a *ask.Ask) { a.Approval.AnyOf[0].Reason = "required" }, ask.By{Principal: "os:mei", Groups: []string{"sre"}}, ask.Answer{Boolean: new(false)}, ""},
		"only a response":  {nil, ask.By{Principal: "os:mei", Groups: []string{"sre"}}, ask.Answer{}, "/answers"},
		"may only approve": {func(a *ask.Ask) { a.Approval.Deny = &ask.Denial{From: []string{"group:sec"}} }, ask.By{Principal: "os:mei", Groups: []string{"sre"}}, ask.Answer{Boolean: new(false)}, "/by/principal"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := deploy()
			if c.change != nil {
				c.change(&a)
			}
			a.Normalize()
			c.answer.QuestionID = "q1"
			v, err := a.VoteOf(ask.Reply{AnswerID: "x", Answers: []ask.Answer{c.answer}, Response: "well", By: c.by})
			e, _ := errors.AsType[*ask.Error](err)
			switch {
			case c.want == "" && err != nil, c.want != "" && (e == nil || len(e.Faults) != 1 || e.Faults[0].Pointer != c.want):
				t.Errorf("refused with %v, want a fault at %q", err, c.want)
			case c.want == "" && !slices.Equal(v.By.Groups, []string{"sre"}):
				t.Errorf("groups %q", v.By.Groups)
			}
		})
	}
}
