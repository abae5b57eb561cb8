package chat

import (
	"bytes"
	"cmp"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/askbus/askbus/pkg/ask"
	"github.com/oasdiff/yaml"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Routes decides where an ask is posted: by the first rule that matches, else the default.
type Routes struct {
	Default Target            `json:"default"`
	Rules   []Rule            `json:"routes,omitempty"`
	Groups  map[string]string `json:"groups,omitempty"` // audience group -> id of a user group
	People  map[string]string `json:"people,omitempty"` // audience principal -> id of a user

	// Member returns the id of the user whom a principal of the chat itself names; nil: none do.
	Member func(principal string) (id string, ok bool) `json:"-"`
}

// IDs are the forms of a chat's ids as regular expressions, which a routing file must match, and the
// values of [Target.Threads] that the chat has. Mention matches persons and groups.
type IDs struct {
	Channel, Person, Group, Mention string
	Threads                         []string
	// Member is [Routes.Member].
	Member func(principal string) (id string, ok bool)
}

// defs returns the definitions that the schema refers to.
func (i *IDs) defs() map[string]any {
	threads := []any{}
	for _, value := range i.Threads {
		threads = append(threads, value)
	}
	form := func(pattern string) any { return map[string]any{"type": "string", "pattern": pattern} }
	return map[string]any{
		"channel": form(i.Channel), "person": form(i.Person), "group": form(i.Group), "mention": form(i.Mention),
		"threads": map[string]any{"enum": threads},
	}
}

// Rule maps matching asks to a target.
type Rule struct {
	Name  string `json:"name,omitempty"`
	Match Match  `json:"match"`
	To    Target `json:"to"`
}

// Match is the condition of a rule: all given fields must match. Patterns are those of
// [path.Match]; of a list one entry must match.
type Match struct {
	Tenant   string   `json:"tenant,omitempty"`
	Session  string   `json:"session,omitempty"`
	Agent    string   `json:"agent,omitempty"`  // id or name
	Source   string   `json:"source,omitempty"` // the ask's metadata entry "source"
	Priority []string `json:"priority,omitempty"`
	Audience []string `json:"audience,omitempty"`
}

// Target is where an ask is posted, and who is notified.
type Target struct {
	Channel string   `json:"channel,omitempty"` // id of a channel
	Person  string   `json:"person,omitempty"`  // id of a user: a direct message
	Mention []string `json:"mention,omitempty"` // ids of users and user groups
	// Language is the tag of the cards' language, such as "zh"; empty: the default target's.
	Language string `json:"language,omitempty"`
	// Threads puts the later cards of a session into the thread of its first one, which notifies
	// nobody by itself: "mention" mentions in the card who may answer, and shows it in the channel as
	// well if that is nobody; "broadcast" always shows it there. Empty: each card is a message of its
	// own.
	Threads string `json:"threads,omitempty"`
}

// Values of [Target.Threads].
const (
	ThreadsMention   = "mention"
	ThreadsBroadcast = "broadcast"
)

// Decision is the target of an ask, and the reason.
type Decision struct {
	Target
	Why string `json:"why"`
}

//go:embed route.schema.json
var routeSchema []byte

// ParseRoutes parses routes from YAML or JSON, with ids of these forms. Its error lists every fault
// with its position.
func ParseRoutes(data []byte, ids IDs) (*Routes, error) {
	body, err := yaml.YAMLToJSON(data)
	if err != nil {
		return nil, fmt.Errorf("invalid YAML: %w", err)
	}
	c := jsonschema.NewCompiler()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(routeSchema))
	if err != nil {
		return nil, fmt.Errorf("schema: %w", err)
	}
	if top, ok := doc.(map[string]any); ok {
		if defs, ok := top["$defs"].(map[string]any); ok {
			maps.Copy(defs, ids.defs())
		}
	}
	if err := c.AddResource("route.schema.json", doc); err != nil {
		return nil, fmt.Errorf("schema: %w", err)
	}
	schema, err := c.Compile("route.schema.json")
	if err != nil {
		return nil, fmt.Errorf("schema: %w", err)
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("invalid YAML: %w", err)
	}
	if err := schema.Validate(value); err != nil {
		return nil, errors.New(faults(err))
	}
	var r Routes
	if err := json.Unmarshal(body, &r); err != nil {
		return nil, fmt.Errorf("invalid routes: %w", err)
	}
	for i := range r.Rules {
		m := &r.Rules[i].Match
		for _, pattern := range append([]string{m.Tenant, m.Session, m.Agent, m.Source}, m.Audience...) {
			if _, err := path.Match(pattern, ""); err != nil {
				return nil, fmt.Errorf("/routes/%d/match: invalid pattern %q: use * and ?", i, pattern)
			}
		}
	}
	r.Member = ids.Member
	return &r, nil
}

// faults formats a schema's errors, one per line.
func faults(err error) string {
	v, ok := errors.AsType[*jsonschema.ValidationError](err)
	if !ok {
		return err.Error()
	}
	var lines []string
	for _, unit := range v.BasicOutput().Errors {
		if unit.Error != nil && unit.InstanceLocation != "" && unit.Error.String() != "validation failed" {
			lines = append(lines, unit.InstanceLocation+": "+unit.Error.String())
		}
	}
	if len(lines) == 0 {
		return v.Error()
	}
	return strings.Join(lines, "; ")
}

// Decide returns the target of an ask.
func (r *Routes) Decide(a *ask.Ask) Decision {
	d := r.decide(a)
	d.Language = cmp.Or(d.Language, r.Default.Language)
	return d
}

func (r *Routes) decide(a *ask.Ask) Decision {
	for i := range r.Rules {
		if rule := &r.Rules[i]; rule.Match.matches(a) {
			name := rule.Name
			if name == "" {
				name = fmt.Sprintf("number %d", i+1)
			}
			return Decision{r.Notify(rule.To, a), "route " + name}
		}
	}
	if len(a.Audience) == 1 {
		if user, ok := r.person(a.Audience[0]); ok {
			return Decision{Target{Person: user}, "the audience is one person"}
		}
	}
	return Decision{r.Notify(r.Default, a), "the default"}
}

// Threaded reports whether any target has threads.
func (r *Routes) Threaded() bool {
	return r.Default.Threads != "" || slices.ContainsFunc(r.Rules, func(rule Rule) bool { return rule.To.Threads != "" })
}

// Notify adds to the mentions whom the ask names to decide it.
func (r *Routes) Notify(to Target, a *ask.Ask) Target {
	if to.Person != "" {
		return to
	}
	mention := slices.Clone(to.Mention)
	for _, entry := range named(a) {
		id, ok := r.person(entry)
		if group, is := strings.CutPrefix(entry, "group:"); is {
			id, ok = r.Groups[group], r.Groups[group] != ""
		}
		if ok && !slices.Contains(mention, id) && len(mention) < 20 {
			mention = append(mention, id)
		}
	}
	to.Mention = mention
	return to
}

// person returns the user of an audience's principal.
func (r *Routes) person(principal string) (string, bool) {
	if id, ok := r.People[principal]; ok {
		return id, true
	}
	if r.Member != nil {
		return r.Member(principal)
	}
	return "", false
}

// Principal returns the principal that the routes give a user, so that they are the same person on every surface, or
// "": one of those that an ask names, else any.
func (r *Routes) Principal(user string, named []string) (principal string) {
	for _, one := range slices.Sorted(maps.Keys(r.People)) {
		if r.People[one] == user && (principal == "" || !slices.Contains(named, principal) && slices.Contains(named, one)) {
			principal = one
		}
	}
	return principal
}

func (m *Match) matches(a *ask.Ask) bool {
	source, _ := a.Metadata["source"].(string)
	priority := string(a.Priority)
	if priority == "" {
		priority = string(ask.PriorityNormal)
	}
	return like(m.Tenant, a.Tenant) && like(m.Session, a.Session) && (like(m.Agent, a.Agent.ID) || like(m.Agent, a.Agent.Name)) && like(m.Source, source) &&
		(len(m.Priority) == 0 || slices.Contains(m.Priority, priority)) &&
		(len(m.Audience) == 0 || slices.ContainsFunc(m.Audience, func(pattern string) bool {
			return slices.ContainsFunc(a.Audience, func(entry string) bool { return like(pattern, entry) })
		}))
}

// like reports whether a pattern matches; an empty one matches everything.
func like(pattern, s string) bool {
	if pattern == "" {
		return true
	}
	// A slash in a principal is not a separator here.
	ok, err := path.Match(strings.ReplaceAll(pattern, "/", "\x00"), strings.ReplaceAll(s, "/", "\x00"))
	return ok && err == nil
}
