// Package approvals reads the operator's file of approvals: named policies that
// say whose votes asks need, whatever their agents say, the list of people, which
// says which principals are one person, the schedules, which say who is on call, and
// the calendars, which say when an office is open.
//
// A policy says where it applies by what NATS checks, the tenant and the session,
// and then what it demands: by patterns of the command that is permitted, and
// otherwise. Patterns only loosen: a command is text that an agent chooses, and
// "sh -c" evades every list of dangerous ones, so what no pattern matches gets
// the rule that the policy states for it.
package approvals

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/askbus/askbus/internal/process/file"
	"github.com/askbus/askbus/internal/protocol/assertion"
	"github.com/askbus/askbus/internal/protocol/wire"
	"github.com/askbus/askbus/pkg/ask"
)

// File is the content of a file.
type File struct {
	Policies []Policy `json:"policies"`
	// People are the people of the bus. If there are any, principals of one
	// person are one voter, and where it matters who is who a principal that
	// nobody has may not vote.
	People []Person `json:"people"`
	// SelfLink says whether people may link their chats to themselves; default: they
	// may. The list goes before their links.
	SelfLink *bool `json:"self_link"`
	// Schedules say who is on call, for the steps of ladders that tell "schedule:<name>".
	Schedules []Schedule `json:"schedules"`
	// Calendars say which hours the steps of a ladder count, for asks that name one.
	Calendars []Calendar `json:"calendars"`
	// BreakGlass are the roles whose people may decide alone asks that need votes.
	BreakGlass []BreakGlass `json:"break_glass"`

	linked map[string]string
	digest string
}

// Policy says what asks need.
type Policy struct {
	Name      string   `json:"name"`
	Tenants   []string `json:"tenants"`   // where it applies: names, or patterns with *; none: every tenant
	Sessions  []string `json:"sessions"`  // likewise
	Asks      string   `json:"asks"`      // All (default) or Permissions
	Rules     []Rule   `json:"rules"`     // the first that matches holds
	Otherwise *Demand  `json:"otherwise"` // what holds if none does; it must be stated

	version string
}

// Which asks a policy is about.
const (
	All = "all"
	// Permissions are those that the host of an agent asks for, such as for a
	// command. An ask of the agent itself is none, whatever it permits.
	Permissions = "permissions"
)

// Rule is what a policy demands for some permissions: those of one of the tools,
// and of one of the commands, as far as it names any.
type Rule struct {
	Tools    []string `json:"tools"`    // names, or patterns with *
	Commands []string `json:"commands"` // whole commands, or patterns with *
	Demand
}

// Demand is what an ask needs, beside what it says itself.
type Demand struct {
	OneAnswer    bool            `json:"one_answer"`    // no votes: one answer, of somebody who may decide; silence is none
	Approval     json.RawMessage `json:"approval"`      // an [ask.Approval] without options
	ExcludeAsker bool            `json:"exclude_asker"` // as the credential that asks says; one that does not is refused
	Exclude      []string        `json:"exclude"`       // principals that may not decide

	approval *ask.Approval
}

// Person is one person.
type Person struct {
	Name       string   `json:"name"`
	Principals []string `json:"principals"`
}

// Bounds of a file.
const (
	maxBytes    = 1 << 20
	maxPolicies = 50
	maxRules    = 50
	maxPatterns = 100
	maxPeople   = 10_000
)

// Parse reads a file in YAML. The error names every fault with its field.
func Parse(data []byte) (*File, error) {
	if len(data) > maxBytes {
		return nil, fmt.Errorf("the file has %d bytes; the maximum is %d", len(data), maxBytes)
	}
	if err := file.Complete(data); err != nil { // a truncated file must not end every policy
		return nil, fmt.Errorf("%w; write [] for none, such as policies: []", err)
	}
	var f File
	if err := file.DecodeYAML(data, &f); err != nil {
		return nil, err
	}
	var faults []error
	fault := func(format string, args ...any) { faults = append(faults, fmt.Errorf(format, args...)) }
	if len(f.Policies) > maxPolicies || len(f.People) > maxPeople || len(f.Schedules) > maxSchedules || len(f.Calendars) > maxCalendars {
		return nil, fmt.Errorf("%d policies, %d people, %d schedules and %d calendars are too many; give at most %d, %d, %d and %d",
			len(f.Policies), len(f.People), len(f.Schedules), len(f.Calendars), maxPolicies, maxPeople, maxSchedules, maxCalendars)
	}
	checkName := named(fault)
	for i := range f.Policies {
		p, at := &f.Policies[i], fmt.Sprintf("policies[%d]", i)
		checkName(at, p.Name)
		p.check(at, fault)
	}
	f.link(fault)
	f.checkSchedules(fault)
	f.checkCalendars(fault)
	f.checkBreakGlass(fault)
	f.checkNamed(fault)
	if err := errors.Join(faults...); err != nil {
		return nil, err
	}
	f.digest = digest(f)
	return &f, nil
}

// named returns what checks the names of a list: each is valid, and there once.
func named(fault func(string, ...any)) func(at, name string) {
	taken := map[string]bool{}
	return func(at, name string) {
		if !ask.ValidToken(name) || taken[name] {
			fault("%s.name: %.80q is invalid or taken; use 1 to %d of A-Z a-z 0-9 _ -, each name once", at, name, ask.MaxToken)
		}
		taken[name] = true
	}
}

func (p *Policy) check(at string, fault func(string, ...any)) {
	checkPatterns(at+".tenants", p.Tenants, fault)
	checkPatterns(at+".sessions", p.Sessions, fault)
	switch p.Asks {
	case "":
		p.Asks = All
	case All, Permissions:
	default:
		fault("%s.asks: %.40q is not one of %s, %s", at, p.Asks, All, Permissions)
	}
	if len(p.Rules) > maxRules {
		fault("%s.rules: %d rules; give at most %d", at, len(p.Rules), maxRules)
		return
	}
	for i := range p.Rules {
		r, at := &p.Rules[i], fmt.Sprintf("%s.rules[%d]", at, i)
		if len(r.Tools)+len(r.Commands) == 0 {
			fault("%s: has no patterns; give commands or tools, or say it in otherwise", at)
		}
		checkPatterns(at+".tools", r.Tools, fault)
		checkPatterns(at+".commands", r.Commands, fault)
		r.check(at, fault)
	}
	if p.Otherwise == nil {
		fault("%s.otherwise: is missing; state what holds for asks that no pattern matches", at)
		return
	}
	p.Otherwise.check(at+".otherwise", fault)
	p.version = digest(p)
}

// Words describes where a policy applies, in one line for people.
func (p *Policy) Words() string {
	where := func(what string, patterns []string) string {
		if len(patterns) == 0 {
			return "every " + what
		}
		return what + " " + strings.Join(patterns, ", ")
	}
	return fmt.Sprintf("%s, version %s: %s of %s, %s; %d rules, and one for the rest", p.Name, p.version, p.Asks, where("tenant", p.Tenants), where("session", p.Sessions), len(p.Rules))
}

func checkPatterns(at string, patterns []string, fault func(string, ...any)) {
	if len(patterns) > maxPatterns {
		fault("%s: %d patterns; give at most %d", at, len(patterns), maxPatterns)
	}
	for i, p := range patterns {
		if strings.TrimSpace(p) == "" || len(p) > ask.MaxText {
			fault("%s[%d]: %.40q is empty or too long", at, i, p)
		}
	}
}

func (d *Demand) check(at string, fault func(string, ...any)) {
	switch none := len(d.Approval) == 0 || string(d.Approval) == "null"; {
	case none == !d.OneAnswer:
		fault("%s: say what it takes, with either approval or one_answer: true", at)
	case !none:
		d.approval = &ask.Approval{}
		err := wire.Strict("approval", d.Approval, d.approval)
		if err == nil {
			err = d.approval.CheckPolicy()
		}
		e, told := errors.AsType[*ask.Error](err)
		switch {
		case told && len(e.Faults) > 0:
			for _, f := range e.Faults {
				fault("%s.approval%s: %s", at, strings.ReplaceAll(f.Pointer, "/", "."), f.Message)
			}
		case err != nil:
			fault("%s.approval: %s", at, err)
		}
	}
	if len(d.Exclude) > ask.MaxAudience {
		fault("%s.exclude: %d principals; give at most %d", at, len(d.Exclude), ask.MaxAudience)
	}
	for i, p := range d.Exclude {
		if err := assertion.CheckAsker([]string{p}); err != nil {
			fault("%s.exclude[%d]: %.80q is not the principal of a person, such as oidc:id.example.com#mei@example.com", at, i, p)
		}
	}
}

// link reads the list of people.
func (f *File) link(fault func(string, ...any)) {
	names := map[string]bool{}
	for i := range f.People {
		p, at := &f.People[i], fmt.Sprintf("people[%d]", i)
		if strings.TrimSpace(p.Name) == "" || len(p.Name) > ask.MaxName || names[p.Name] {
			fault("%s.name: %.80q is empty, too long or taken; give each person one name", at, p.Name)
		}
		if strings.Contains(p.Name, ":") {
			fault("%s.name: %.80q has a colon, like a principal; give a name without", at, p.Name)
		}
		names[p.Name] = true
		if len(p.Principals) == 0 {
			fault("%s.principals: is missing; give the principals of %.80q, such as oidc:id.example.com#mei@example.com and os:mei", at, p.Name)
		}
		if err := assertion.CheckAsker(p.Principals); err != nil {
			fault("%s.principals: %s", at, err)
		}
		for _, principal := range p.Principals {
			if other, taken := f.linked[principal]; taken {
				fault("%s.principals: %.80q is %.80q already; a principal is one person's", at, principal, other)
				continue
			}
			if f.linked == nil {
				f.linked = map[string]string{}
			}
			f.linked[principal] = p.Name
		}
	}
}

// Linked returns whose the principals are; nil: the file has no people.
func (f *File) Linked() map[string]string { return f.linked }

// LinksAllowed reports whether people may link their chats to themselves.
func (f *File) LinksAllowed() bool { return f.SelfLink == nil || *f.SelfLink }

// Digest identifies the content, however the file is written.
func (f *File) Digest() string { return f.digest }

// Summary says in one line what the file has: each policy with its version, as asks have it.
func (f *File) Summary() string {
	var all []string
	for i := range f.Policies {
		all = append(all, f.Policies[i].Name+" "+f.Policies[i].version)
	}
	return fmt.Sprintf("%d policies (%s), %d people, %d break-glass roles", len(all), strings.Join(all, ", "), len(f.People), len(f.BreakGlass))
}

func digest(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		return "" // all of it was read from JSON
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:6])
}

// Bind adds to a valid ask what the policies that apply to it demand, and reports
// whether any does. asker returns the principals of the person for whom the
// sender's credential asks. The error is an [*ask.Error] for the sender if the ask
// cannot meet the demands. The tenant and session of the ask must be set.
func (f *File) Bind(a *ask.Ask, now time.Time, asker func() ([]string, error)) (bool, error) {
	var demanded []ask.Approval
	sent := *a
	for i := range f.Policies {
		p := &f.Policies[i]
		if !p.applies(a) {
			continue
		}
		d, rule := p.demand(a)
		a.Policies = append(slices.Clip(a.Policies), ask.Policy{Name: p.Name, Version: p.version, Rule: rule})
		if d.ExcludeAsker {
			who, err := asker()
			if err != nil {
				return false, err
			}
			if len(who) == 0 {
				return false, ask.Refuse(ask.CodeForbidden, "the policy %s of this bus excludes the asker, and this credential does not say for whom it asks; get one that does: \"askbus auth agent --asker\", \"askbus token issue --asker\", or asker in a rule of the issuer", p.Name)
			}
			a.ExcludeAsker, a.Asker = true, slices.Clone(who)
		}
		if d.OneAnswer && a.AtDeadline == ask.AtDeadlineDefault {
			return false, ask.Refuse(ask.CodeForbidden, "the policy %s of this bus wants an answer of somebody, and silence is none: leave at_deadline out", p.Name).At("/at_deadline", ask.FaultNotAllowed, string(a.AtDeadline))
		}
		for _, principal := range d.Exclude {
			if !slices.Contains(a.Exclude, principal) {
				a.Exclude = append(slices.Clip(a.Exclude), principal)
			}
		}
		if d.approval != nil {
			one := *d.approval
			one.Policy = p.Name
			if err := keepDeniers(a, &sent, &one); err != nil {
				return false, err
			}
			demanded = append(demanded, one)
		}
	}
	if len(a.Policies) == 0 {
		return false, nil
	}
	join(a, demanded)
	if err := a.Validate(now); err != nil {
		if e, ok := errors.AsType[*ask.Error](err); ok {
			e.Detail = strings.TrimSuffix(e.Detail, ".") + ": so it cannot meet what this bus demands of it by " + names(a.Policies)
		}
		return false, err
	}
	return true, nil
}

// keepDeniers lets those who can deny an ask by a policy do so, whomever the agent sent
// it to: they are in its audience, and what would keep them out is refused.
func keepDeniers(a, sent *ask.Ask, demanded *ask.Approval) error {
	if demanded.Deny == nil || len(demanded.Deny.From) == 0 {
		return nil
	}
	refuse := func(field, value string) error {
		return ask.Refuse(ask.CodeForbidden, "the policy %s of this bus says who can deny this ask, and %s would keep some of them from it: leave it out", demanded.Policy, field).At("/"+field, ask.FaultNotAllowed, value)
	}
	switch {
	case len(sent.Exclude) > 0:
		return refuse("exclude", sent.Exclude[0])
	case sent.Only != "":
		return refuse("only", sent.Only)
	}
	for _, entry := range demanded.Deny.From {
		if len(a.Audience) > 0 && !slices.Contains(a.Audience, entry) {
			a.Audience = append(slices.Clip(a.Audience), entry)
		}
	}
	return nil
}

// join makes an ask need the approvals, all of them, besides its own.
func join(a *ask.Ask, demanded []ask.Approval) {
	if len(demanded) == 0 {
		return
	}
	var first ask.Approval
	if a.Approval != nil {
		first = *a.Approval
	} else {
		first, demanded = demanded[0], demanded[1:]
		if len(a.Questions) == 1 && a.Questions[0].Kind == ask.KindChoice {
			first.ApproveOptions, first.DenyOptions = options(a)
		}
	}
	first.And = demanded
	a.Approval = &first
}

// options returns which options of a choice approve, and which deny. An ask that
// calls an option a denial gains nothing by that: a denial is never an answer.
func options(a *ask.Ask) (approve, deny []string) {
	for i := range a.Questions[0].Options {
		o := &a.Questions[0].Options[i]
		if a.Denies(o) {
			deny = append(deny, o.ID)
		} else {
			approve = append(approve, o.ID)
		}
	}
	return approve, deny
}

func names(policies []ask.Policy) string {
	var all []string
	for _, p := range policies {
		all = append(all, p.Name)
	}
	return "the policy " + strings.Join(all, " and the policy ")
}

func (p *Policy) applies(a *ask.Ask) bool {
	return matches(p.Tenants, a.Tenant) && matches(p.Sessions, a.Session) && (p.Asks == All || a.Permits())
}

// demand returns what a policy demands of an ask, and the name of that rule.
func (p *Policy) demand(a *ask.Ask) (*Demand, string) {
	tool, _ := a.Metadata[ask.MetadataTool].(string)
	command, _ := a.Metadata[ask.MetadataCommand].(string)
	for i := range p.Rules {
		r := &p.Rules[i]
		if a.Permits() && (len(r.Tools) == 0 || tool != "" && matches(r.Tools, tool)) && (len(r.Commands) == 0 || command != "" && allows(r.Commands, command)) {
			return &r.Demand, fmt.Sprint("rules/", i)
		}
	}
	return p.Otherwise, "otherwise"
}

// shellWords are the characters with which a shell runs, or reads, something
// else than the command begins with.
const shellWords = ";&|`$()<>{}\n\r\\"

// allows reports whether one of the patterns matches a whole command. A pattern
// with * never matches a command with one of shellWords.
func allows(patterns []string, command string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool {
		return p == command || !strings.ContainsAny(command, shellWords) && match(p, command)
	})
}

// matches reports whether one of the patterns matches, or there is none.
func matches(patterns []string, name string) bool {
	return len(patterns) == 0 || slices.ContainsFunc(patterns, func(p string) bool { return match(p, name) })
}

// match reports whether a pattern matches; * matches any text, also none.
func match(pattern, s string) bool {
	parts := strings.Split(pattern, "*")
	if len(parts) == 1 {
		return pattern == s
	}
	s, ok := strings.CutPrefix(s, parts[0])
	if !ok {
		return false
	}
	last := parts[len(parts)-1]
	for _, part := range parts[1 : len(parts)-1] {
		_, after, found := strings.Cut(s, part)
		if !found {
			return false
		}
		s = after
	}
	return strings.HasSuffix(s, last)
}
