package chat

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/askbus/askbus/internal/protocol/wire"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/oasdiff/yaml"
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
	Nowhere bool     `json:"nowhere,omitempty"` // not posted by this chat, instead of a channel or a person
	// Language is the tag of the cards' language, such as "zh"; empty: the default target's.
	Language string `json:"language,omitempty"`
	// Threads puts the later cards of a session into the thread of its first one, which notifies
	// nobody by itself: "mention" mentions in the card who may answer, and shows it in the channel as
	// well if that is nobody; "broadcast" always shows it there. Empty: each card is a message of its
	// own.
	// In Telegram "topic" makes a topic of each session, where the chat is a forum.
	Threads string `json:"threads,omitempty"`
}

// Place returns the id of the channel or the person.
func (t *Target) Place() string { return cmp.Or(t.Channel, t.Person) }

// Values of [Target.Threads].
const (
	ThreadsMention   = "mention"
	ThreadsBroadcast = "broadcast"
	ThreadsTopic     = "topic"
)

// Decision is the target of an ask, and the reason.
type Decision struct {
	Target
	Why string `json:"why"`
}

// maxRoutes is the highest number of rules of a routing file.
const maxRoutes = 1000

// maxMentions is the highest number of people and groups that a card mentions.
const maxMentions = 20

// ParseRoutes parses routes from YAML or JSON, with ids of these forms. Its error lists every fault
// with its position.
func ParseRoutes(data []byte, ids IDs) (*Routes, error) {
	body, err := yaml.YAMLToJSON(data)
	if err != nil {
		return nil, fmt.Errorf("invalid YAML: %w", err)
	}
	r := Routes{Member: ids.Member}
	if err := wire.Strict("routes", body, &r); err != nil {
		return nil, err //nolint:wrapcheck // it names the file and the field
	}
	if faults := r.faults(&ids); len(faults) > 0 {
		return nil, errors.New(strings.Join(faults, "; "))
	}
	return &r, nil
}

// faults returns what is wrong with the values of a routing file, each with its position.
func (r *Routes) faults(ids *IDs) []string {
	var all []string
	fault := func(at, format string, args ...any) { all = append(all, at+": "+fmt.Sprintf(format, args...)) }
	forms := map[string]*regexp.Regexp{}
	id := func(at, value, form string) {
		if forms[form] == nil {
			forms[form] = regexp.MustCompile(form)
		}
		if !forms[form].MatchString(value) {
			fault(at, "is %q; give an id of the form %s", ask.Clip(value, 40), form)
		}
	}
	target := func(at string, t *Target) {
		given := 0
		for _, one := range []bool{t.Channel != "", t.Person != "", t.Nowhere} {
			if one {
				given++
			}
		}
		if given != 1 {
			fault(at, "give either channel or person, or nowhere: true")
		}
		if t.Channel != "" {
			id(at+"/channel", t.Channel, ids.Channel)
		}
		if t.Person != "" {
			id(at+"/person", t.Person, ids.Person)
		}
		if len(t.Mention) > maxMentions {
			fault(at+"/mention", "has %d entries, the maximum is %d", len(t.Mention), maxMentions)
		}
		for i, one := range t.Mention {
			id(fmt.Sprintf("%s/mention/%d", at, i), one, ids.Mention)
		}
		if t.Language != "" {
			id(at+"/language", t.Language, `^[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8})*$`)
		}
		switch {
		case t.Threads == "" || slices.Contains(ids.Threads, t.Threads):
		case len(ids.Threads) == 0:
			fault(at+"/threads", "this chat has no threads; leave it out")
		default:
			fault(at+"/threads", "is %q; give one of %s", ask.Clip(t.Threads, 40), strings.Join(ids.Threads, ", "))
		}
	}
	target("/default", &r.Default)
	if len(r.Rules) > maxRoutes {
		fault("/routes", "has %d entries, the maximum is %d", len(r.Rules), maxRoutes)
	}
	for i := range r.Rules {
		at := fmt.Sprintf("/routes/%d", i)
		if len(r.Rules[i].Name) > 100 {
			fault(at+"/name", "has more than 100 bytes")
		}
		r.Rules[i].Match.faults(at+"/match", fault)
		target(at+"/to", &r.Rules[i].To)
	}
	escape := strings.NewReplacer("~", "~0", "/", "~1") // RFC 6901
	for _, name := range slices.Sorted(maps.Keys(r.Groups)) {
		id("/groups/"+escape.Replace(name), r.Groups[name], ids.Group)
	}
	for _, name := range slices.Sorted(maps.Keys(r.People)) {
		id("/people/"+escape.Replace(name), r.People[name], ids.Person)
	}
	return all
}

// faults reports what is wrong with a condition.
func (m *Match) faults(at string, fault func(at, format string, args ...any)) {
	patterns := map[string][]string{"tenant": {m.Tenant}, "session": {m.Session}, "agent": {m.Agent}, "source": {m.Source}, "audience": m.Audience}
	given := len(m.Priority) > 0
	for _, name := range slices.Sorted(maps.Keys(patterns)) {
		for _, pattern := range patterns[name] {
			given = given || pattern != ""
			if _, err := path.Match(pattern, ""); err != nil || len(pattern) > 256 {
				fault(at+"/"+name, "invalid pattern %q: use * and ?, in at most 256 bytes", ask.Clip(pattern, 40))
			}
		}
	}
	if slices.Contains(m.Audience, "") {
		fault(at+"/audience", "has an empty entry; leave it out")
	}
	for i, p := range m.Priority {
		if !slices.Contains([]ask.Priority{ask.PriorityLow, ask.PriorityNormal, ask.PriorityHigh, ask.PriorityUrgent}, ask.Priority(p)) {
			fault(fmt.Sprintf("%s/priority/%d", at, i), "is %q; give low, normal, high or urgent", ask.Clip(p, 40))
		}
	}
	if !given {
		fault(at, "is empty; give tenant, session, agent, source, priority or audience, or use default")
	}
}

// Decide returns the target of an ask.
func (r *Routes) Decide(a *ask.Ask) Decision {
	d := r.decide(a)
	d.Language = cmp.Or(d.Language, r.Default.Language)
	return d
}

func (r *Routes) decide(a *ask.Ask) Decision {
	if _, place, ok := a.TriesOut(); ok && place == r.Default.Place() {
		return Decision{r.Default, "it tries out the default"}
	}
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
	if to.Person != "" || to.Nowhere {
		return to
	}
	mention := slices.Clone(to.Mention)
	for _, entry := range named(a) {
		id, ok := r.person(entry)
		if group, is := strings.CutPrefix(entry, "group:"); is {
			id, ok = r.Groups[group], r.Groups[group] != ""
		}
		if ok && !slices.Contains(mention, id) && len(mention) < maxMentions {
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
	priority := cmp.Or(string(a.Priority), string(ask.PriorityNormal))
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
