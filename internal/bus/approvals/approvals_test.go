package approvals_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/bus/approvals"
	"github.com/askbus/askbus/pkg/ask"
)

const example = `
policies:
  - name: acme-commands
    tenants: [acme]
    asks: permissions
    rules:
      - { commands: ["git status", "kubectl get *"], one_answer: true }
      - { tools: ["mcp__github__*"], approval: { any_of: [ { need: 1, from: ["group:dev"] } ] } }
    otherwise: { approval: { any_of: [ { need: 2, from: ["group:sre"] } ] }, exclude_asker: true }
  - name: payments
    sessions: ["pay-*"]
    otherwise: { approval: { any_of: [ { need: 1, from: ["group:sec"], reason: required } ] }, exclude: ["oidc:id.example.com#boss@example.com"] }
people:
  - { name: Mei, principals: ["oidc:id.example.com#mei@example.com", "os:mei"] }
`

func parse(t *testing.T, text string) *approvals.File {
	t.Helper()
	f, err := approvals.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// permission is the permission of a command, as a host's hook asks for it.
func permission(tool, command string) ask.Ask {
	a := ask.Ask{
		ID: "a1", Tenant: "acme", Session: "s1", Metadata: map[string]any{ask.MetadataPermission: "x", ask.MetadataTool: tool, ask.MetadataDenies: []any{"no"}},
		Questions: []ask.Question{{ID: "q", Kind: ask.KindChoice, Text: "May it?", NoOther: true, Options: []ask.Option{{ID: "yes", Label: "Yes"}, {ID: "no", Label: "No"}}}},
	}
	if command != "" {
		a.Metadata[ask.MetadataCommand] = command
	}
	a.Normalize()
	return a
}

func mei() ([]string, error) { return []string{"os:mei"}, nil }

func nobody() ([]string, error) { return nil, nil }

// TestWhichRuleHolds checks the rules, and that what no pattern matches gets the
// rule that is stated for it, however a command is written.
func TestWhichRuleHolds(t *testing.T) {
	t.Parallel()
	f := parse(t, example)
	for command, want := range map[string]string{
		"git status": "rules/0", "kubectl get pods": "rules/0", "kubectl get ": "rules/0",
		"git status --short": "otherwise", "git  status": "otherwise", " git status": "otherwise", "GIT STATUS": "otherwise", "kubectl delete pod x": "otherwise", "": "otherwise",
		`sh -c "git status"`: "otherwise", `sh -c 'kubectl get pods; rm -rf /'`: "otherwise",
		"kubectl get pods; rm -rf /": "otherwise", "kubectl get pods && rm x": "otherwise", "kubectl get pods | sh": "otherwise", "kubectl get $(rm x)": "otherwise",
		"kubectl get `rm x`": "otherwise", "kubectl get pods\nrm x": "otherwise", "kubectl get pods > /etc/passwd": "otherwise", "kubectl get pods &": "otherwise",
	} {
		a := permission("Bash", command)
		if ok, err := f.Bind(&a, time.Now(), mei); !ok || err != nil || len(a.Policies) != 1 || a.Policies[0].Name != "acme-commands" || a.Policies[0].Rule != want || len(a.Policies[0].Version) != 12 {
			t.Errorf("%q: %+v, %v; want %s", command, a.Policies, err, want)
		}
		if loose := want != "otherwise"; loose != (a.Approval == nil) || !loose && (!a.ExcludeAsker || !slices.Equal(a.Asker, []string{"os:mei"}) || !slices.Equal(a.Approval.DenyOptions, []string{"no"}) || !slices.Equal(a.Approval.ApproveOptions, []string{"yes"})) {
			t.Errorf("%q: %+v", command, a)
		}
	}
	tool := permission("mcp__github__create_issue", "")
	if _, err := f.Bind(&tool, time.Now(), nobody); err != nil || tool.Policies[0].Rule != "rules/1" || tool.Approval.AnyOf[0].From[0] != "group:dev" {
		t.Errorf("a tool: %+v, %v", tool.Policies, err)
	}
	// Silence is nobody's answer.
	silent := permission("Bash", "git status")
	silent.AtDeadline = ask.AtDeadlineDefault
	if _, err := f.Bind(&silent, time.Now(), mei); !errors.Is(err, ask.ErrForbidden) || !strings.Contains(err.Error(), "at_deadline") || !strings.Contains(err.Error(), "acme-commands") {
		t.Errorf("an answer by default: %v", err)
	}
	// Another tenant, and an ask of the agent itself.
	other := permission("Bash", "rm -rf /")
	other.Tenant = "other"
	own := permission("Bash", "rm -rf /")
	own.Metadata = nil
	for _, a := range []*ask.Ask{&other, &own} {
		if ok, err := f.Bind(a, time.Now(), nobody); ok || err != nil || a.Approval != nil || a.Policies != nil {
			t.Errorf("not of this policy: %v, %v", ok, err)
		}
	}
}

// TestEveryPolicyAndTheAskItself checks that all that apply must be reached.
func TestEveryPolicyAndTheAskItself(t *testing.T) {
	t.Parallel()
	f := parse(t, example)
	a := permission("Bash", "rm x")
	a.Session = "pay-1"
	a.Approval = &ask.Approval{AnyOf: []ask.Alternative{{Need: 1, From: []string{"os:ana"}}}, ApproveOptions: []string{"yes"}, DenyOptions: []string{"no"}}
	if _, err := f.Bind(&a, time.Now(), mei); err != nil || len(a.Policies) != 2 || len(a.Approval.And) != 2 || !slices.Equal(a.Exclude, []string{"oidc:id.example.com#boss@example.com"}) {
		t.Fatalf("%+v, %v", a, err)
	}
	now := time.Now()
	vote := func(who, group, reason string) ask.Vote {
		return ask.Vote{AnswerID: who, By: ask.By{Principal: "os:" + who, Groups: []string{group}, Proof: ask.ProofOS}, Choice: ask.ChoiceApprove, Option: "yes", Reason: reason, At: now}
	}
	all := []ask.Vote{vote("ana", "", ""), vote("jo", "sre", ""), vote("tom", "sre", ""), vote("sue", "sec", "OPS-1")}
	for without := range all {
		some := slices.Delete(slices.Clone(all), without, without+1)
		if got := a.Tally(some, now); got.Decision != "" || got.Blocked {
			t.Errorf("without %s: %+v", all[without].By.Principal, got)
		}
	}
	if got := a.Tally(all, now); got.Decision != ask.ChoiceApprove || len(got.Approvals) != 4 {
		t.Errorf("with all: %+v", got)
	}
	sue := vote("sue", "sec", "")
	if err := a.CheckVote(&sue); !errors.Is(err, ask.ErrInvalid) {
		t.Errorf("a vote without the reason of the policy: %v", err)
	}
}

// TestWhatCannotMeetAPolicyIsRefused names the policy.
func TestWhatCannotMeetAPolicyIsRefused(t *testing.T) {
	t.Parallel()
	f := parse(t, example)
	for name, v := range map[string]struct {
		change func(*ask.Ask)
		asker  func() ([]string, error)
		is     error
		say    string
	}{
		"no asker in the credential": {func(*ask.Ask) {}, nobody, ask.ErrForbidden, "--asker"},
		"two questions": {func(a *ask.Ask) {
			a.Questions = append(a.Questions, ask.Question{ID: "r", Kind: ask.KindText, Text: "Why?"})
		}, mei, ask.ErrInvalid, "/questions"},
		"free text":                        {func(a *ask.Ask) { a.Questions[0] = ask.Question{ID: "q", Kind: ask.KindText, Text: "Which?"} }, mei, ask.ErrInvalid, "/questions/0/kind"},
		"other text":                       {func(a *ask.Ask) { a.Questions[0].NoOther = false }, mei, ask.ErrInvalid, "/questions/0/allow_other"},
		"only the asker":                   {func(a *ask.Ask) { a.Only, a.Asker = ask.OnlyAsker, []string{"os:mei"} }, mei, ask.ErrInvalid, "/only"},
		"an audience that cannot reach it": {func(a *ask.Ask) { a.Audience = []string{"os:mei", "os:jo"} }, mei, ask.ErrInvalid, "/approval/any_of/0"},
	} {
		a := permission("Bash", "rm x")
		v.change(&a)
		a.Normalize()
		_, err := f.Bind(&a, time.Now(), v.asker)
		if !errors.Is(err, v.is) || !strings.Contains(err.Error(), v.say) || !strings.Contains(err.Error(), "acme-commands") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestAFileSaysWhatIsWrong checks that errors name the field.
func TestAFileSaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"policies: [ { name: a } ]":                                                                     "policies[0].otherwise: is missing",
		"policies: [ { name: 'a b', otherwise: { one_answer: true } } ]":                                "policies[0].name",
		"policies: [ { name: a, otherwise: { } } ]":                                                     "policies[0].otherwise: say what it takes",
		"policies: [ { name: a, asks: some, otherwise: { one_answer: true } } ]":                        "policies[0].asks",
		"policies: [ { name: a, rules: [ { one_answer: true } ], otherwise: { one_answer: true } } ]":   "policies[0].rules[0]: has no patterns",
		"policies: [ { name: a, otherwise: { approval: { any_off: [] } } } ]":                           "policies[0].otherwise.approval.any_off",
		"policies: [ { name: a, otherwise: { approval: { any_of: [ { need: 0 }, { need: 51 } ] } } } ]": "policies[0].otherwise.approval.any_of.1.need",
		"policies: [ { name: a, otherwise: { approval: { and: [] } } } ]":                               "policies[0].otherwise.approval.and",
		"policies: [ { name: a, otherwise: { approval: { any_of: [ {} ], deny_options: [x] } } } ]":     "policies[0].otherwise.approval",
		"policies: [ { name: a, otherwise: { one_answer: true, exclude: ['group:x'] } } ]":              "policies[0].otherwise.exclude[0]",
		"policys: []":               "policys",
		"":                          "the file is empty; write [] for none", // as one that was truncated
		"# policies of acme\n":      "the file is empty; write [] for none",
		"policies:\n":               "policies has no value; write [] for none",
		"people: [ { name: Mei } ]": "people[0].principals",
		"people: [ { name: Mei, principals: ['os:mei'] }, { name: Jo, principals: ['os:mei'] } ]": "people[1].principals",
	} {
		if _, err := approvals.Parse([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v; want %s", text, err, want)
		}
	}
	one, other := parse(t, example), parse(t, example+"# a comment\n")
	changed := parse(t, strings.Replace(example, "need: 2", "need: 3", 1))
	if one.Digest() != other.Digest() || one.Digest() == changed.Digest() || one.Linked()["os:mei"] != "Mei" {
		t.Error("the digest is not that of the content")
	}
}

// A person of OpenID Connect is named with the provider. Without it a list would name nobody, and exclude nobody.
func TestAPersonWithoutAProviderIsAFault(t *testing.T) {
	t.Parallel()
	for _, file := range []string{
		"policies: [{name: p, otherwise: {one_answer: true, exclude: ['oidc:mei@example.com']}}]",
		"people: [{name: Mei, principals: ['oidc:mei@example.com', 'os:mei']}]",
	} {
		if _, err := approvals.Parse([]byte(file)); err == nil || !strings.Contains(err.Error(), "oidc:id.example.com#mei@example.com") {
			t.Errorf("%s: %v", file, err)
		}
	}
}
