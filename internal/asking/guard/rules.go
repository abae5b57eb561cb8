package guard

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/askbus/askbus/internal/process/file"
	"github.com/askbus/askbus/pkg/ask"
)

// Verdict says what happens to a call.
type Verdict string

// The verdicts. Of the rules that match a call, refuse wins over ask, and ask over allow.
const (
	Allow  Verdict = "allow"
	Ask    Verdict = "ask"
	Refuse Verdict = "refuse"
)

// Rules say which calls need a person. The zero value asks for every call.
type Rules struct {
	Otherwise Verdict `json:"otherwise"` // of calls that no rule matches; default [Ask]
	Rules     []Rule  `json:"rules"`
}

// Rule matches calls by name and arguments.
type Rule struct {
	Tool      string            `json:"tool"`      // the tool's name; "*" stands for any characters
	Arguments map[string]string `json:"arguments"` // JSON pointer to what its value must be, as Tool; all must match
	Then      Verdict           `json:"then"`

	Reason string `json:"reason"` // refuse: what the agent is told

	// Of asks:
	Audience      []string `json:"audience"`       // who may decide; default: anybody
	MinProof      string   `json:"min_proof"`      // the weakest proof of who decides
	Timeout       string   `json:"timeout"`        // when the ask ends by itself; default and most 24h
	WithoutClient bool     `json:"without_client"` // carry the call out although its client has gone
	tool          *regexp.Regexp
	arguments     map[string]*regexp.Regexp
	timeout       time.Duration
}

// maxRules bounds the rules of a guard.
const maxRules = 1000

// ReadRules parses and checks rules in YAML or JSON.
func ReadRules(data []byte) (Rules, error) {
	var r Rules
	if err := file.DecodeYAML(data, &r); err != nil {
		return r, err
	}
	if r.Otherwise == "" {
		r.Otherwise = Ask
	}
	var wrong []error
	refuse := func(at, format string, args ...any) {
		wrong = append(wrong, fmt.Errorf("%s: %w", at, fmt.Errorf(format, args...)))
	}
	verdicts := []Verdict{Allow, Ask, Refuse}
	if !slices.Contains(verdicts, r.Otherwise) {
		refuse("otherwise", "is %.40q; use allow, ask or refuse", r.Otherwise)
	}
	if len(r.Rules) > maxRules {
		refuse("rules", "has %d rules; give at most %d", len(r.Rules), maxRules)
	}
	for i := range r.Rules {
		rule, at := &r.Rules[i], fmt.Sprintf("rules[%d].", i)
		if rule.Tool == "" {
			refuse(at+"tool", `is missing; give a name, or "*" for all`)
		}
		if !slices.Contains(verdicts, rule.Then) {
			refuse(at+"then", "is %.40q; use allow, ask or refuse", rule.Then)
		}
		if rule.MinProof != "" && !slices.Contains(ask.MinProofs(), rule.MinProof) {
			refuse(at+"min_proof", "is %.40q; use %s", rule.MinProof, strings.Join(ask.MinProofs(), ", "))
		}
		if rule.Then != Ask && (rule.MinProof != "" || rule.WithoutClient || rule.Timeout != "" || len(rule.Audience) > 0) {
			refuse(at+"then", "is %s, but min_proof, audience, timeout and without_client belong to ask", rule.Then)
		}
		if rule.timeout = keep; rule.Timeout != "" {
			d, err := time.ParseDuration(rule.Timeout)
			if err != nil || d < ask.MinTimeout || d > keep {
				refuse(at+"timeout", "is %.40q; give %s to %s", rule.Timeout, ask.MinTimeout, keep)
			}
			rule.timeout = d
		}
		rule.tool, rule.arguments = pattern(rule.Tool), map[string]*regexp.Regexp{}
		for pointer, want := range rule.Arguments {
			if pointer != "" && !strings.HasPrefix(pointer, "/") {
				refuse(at+"arguments", "%.80q is no JSON pointer; begin it with /", pointer)
			}
			rule.arguments[pointer] = pattern(want)
		}
	}
	return r, errors.Join(wrong...)
}

// pattern compiles a text in which "*" stands for any characters.
func pattern(s string) *regexp.Regexp {
	parts := strings.Split(s, "*")
	for i := range parts {
		parts[i] = regexp.QuoteMeta(parts[i])
	}
	return regexp.MustCompile(`(?s)\A` + strings.Join(parts, ".*") + `\z`)
}

// decide returns the rule that counts for a call. The arguments are valid JSON without duplicate names.
func (r *Rules) decide(tool string, arguments json.RawMessage) Rule {
	counts := Rule{Then: r.Otherwise, timeout: keep}
	if counts.Then == "" {
		counts.Then = Ask
	}
	found := false
	rank := []Verdict{Allow, Ask, Refuse}
	for _, rule := range r.Rules {
		if rule.matches(tool, arguments) && (!found || slices.Index(rank, rule.Then) > slices.Index(rank, counts.Then)) {
			counts, found = rule, true
		}
	}
	return counts
}

func (r *Rule) matches(tool string, arguments json.RawMessage) bool {
	if !r.tool.MatchString(tool) {
		return false
	}
	for pointer, want := range r.arguments {
		text, ok := at(arguments, pointer, r.Then != Allow)
		if !ok || !want.MatchString(text) {
			return false
		}
	}
	return true
}

// at returns the value at a JSON pointer as text: a string itself, any other value as compact JSON. With anyCase a
// name in another case counts as well, as it does for some servers.
func at(value json.RawMessage, pointer string, anyCase bool) (text string, ok bool) {
	if pointer != "" {
		for name := range strings.SplitSeq(pointer[1:], "/") {
			name = strings.NewReplacer("~1", "/", "~0", "~").Replace(name)
			var object map[string]json.RawMessage
			var list []json.RawMessage
			switch {
			case json.Unmarshal(value, &object) == nil && object != nil:
				if value, ok = object[name]; !ok && anyCase {
					for other := range object {
						if strings.EqualFold(other, name) {
							value, ok = object[other], true
						}
					}
				}
				if !ok {
					return "", false
				}
			case json.Unmarshal(value, &list) == nil:
				i, err := strconv.Atoi(name)
				if err != nil || i < 0 || i >= len(list) || strconv.Itoa(i) != name {
					return "", false
				}
				value = list[i]
			default:
				return "", false
			}
		}
	}
	if json.Unmarshal(value, &text) == nil && string(value) != "null" {
		return text, true
	}
	return string(compact(value)), len(value) > 0
}
