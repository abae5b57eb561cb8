package email

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/askbus/askbus/internal/answering/chat"
	"github.com/askbus/askbus/internal/process/file"
	"github.com/askbus/askbus/internal/process/lang"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/card"
)

// People is the operator's file of who may be written to, and who wants what.
type People struct {
	// Allow are patterns, as of [path.Match], of the addresses to which an ask may be sent because its audience names
	// them. Those of the routing file need none.
	Allow    []string          `json:"allow,omitempty"`
	Outcomes string            `json:"outcomes,omitempty"` // "mail" or "none"; default: mail
	People   map[string]Person `json:"people,omitempty"`   // by address
}

// Person says what one person wants.
type Person struct {
	Language string   `json:"language,omitempty"` // tag, such as "zh"; default: that of the route
	Outcomes string   `json:"outcomes,omitempty"` // as in [People]
	Digest   string   `json:"digest,omitempty"`   // one mail a day at this time, "08:30", in place of one for each ask
	Zone     string   `json:"zone,omitempty"`     // time zone, such as "Europe/Berlin"; default: UTC
	Lists    []string `json:"lists,omitempty"`    // addresses of the lists and groups they are in
}

// Values of Outcomes.
const (
	outcomesMail = "mail"
	outcomesNone = "none"
)

// Bounds of the file of people.
const (
	maxPeople = 10_000
	maxAllow  = 100
)

// addressForm is an address as it may stand in files and in a principal. It has nothing that could end a header.
//
//nolint:gochecknoglobals // compiled once, never changed
var addressForm = compiled("^" + addressPattern + "$")

const addressPattern = `[A-Za-z0-9_+='~-][A-Za-z0-9._+='~-]{0,62}@[A-Za-z0-9-]{1,63}(\.[A-Za-z0-9-]{1,63}){1,8}`

// ParsePeople parses a file of people. Its error lists every fault with its position.
func ParsePeople(data []byte) (*People, error) {
	var p People
	if err := file.DecodeYAML(data, &p); err != nil {
		return nil, fmt.Errorf("people: %w", err)
	}
	var faults []string
	fault := func(at, format string, args ...any) { faults = append(faults, at+": "+fmt.Sprintf(format, args...)) }
	outcomes := func(at, value string) {
		if !slices.Contains([]string{"", outcomesMail, outcomesNone}, value) {
			fault(at+"/outcomes", "is %q; give mail or none", ask.Clip(value, 40))
		}
	}
	outcomes("", p.Outcomes)
	if len(p.Allow) > maxAllow {
		fault("/allow", "has %d entries, the maximum is %d", len(p.Allow), maxAllow)
	}
	for i, pattern := range p.Allow {
		p.Allow[i] = strings.ToLower(pattern)
		if _, err := path.Match(pattern, ""); err != nil || !strings.Contains(pattern, "@") {
			fault(fmt.Sprintf("/allow/%d", i), "is %q; give a pattern of addresses such as *@example.com", ask.Clip(pattern, 40))
		}
	}
	if len(p.People) > maxPeople {
		fault("/people", "has %d entries, the maximum is %d", len(p.People), maxPeople)
	}
	all := make(map[string]Person, len(p.People))
	for _, address := range slices.Sorted(maps.Keys(p.People)) {
		at, one := "/people/"+address, p.People[address]
		if !addressForm().MatchString(address) {
			fault(at, "is not an address such as mei@example.com")
		}
		outcomes(at, one.Outcomes)
		if _, err := time.Parse("15:04", one.Digest); one.Digest != "" && err != nil {
			fault(at+"/digest", "is %q; give a time of day such as 08:30", ask.Clip(one.Digest, 40))
		}
		if _, err := time.LoadLocation(one.Zone); err != nil {
			fault(at+"/zone", "is %q; give a time zone such as Europe/Berlin", ask.Clip(one.Zone, 40))
		}
		for i, list := range one.Lists {
			if one.Lists[i] = strings.ToLower(list); !addressForm().MatchString(list) {
				fault(fmt.Sprintf("%s/lists/%d", at, i), "is %q; give the address of a list", ask.Clip(list, 40))
			}
		}
		all[strings.ToLower(address)] = one
	}
	if len(faults) > 0 {
		return nil, errors.New(strings.Join(faults, "; "))
	}
	p.People = all
	return &p, nil
}

// zone returns the time zone of an address; nil: nobody said.
func (p *People) zone(address string) *time.Location {
	name := p.People[address].Zone
	if name == "" {
		return nil
	}
	zone, err := time.LoadLocation(name)
	if err != nil { // ParsePeople had it
		return nil
	}
	return zone
}

func (p *People) in(address, list string) bool {
	return slices.Contains(p.People[address].Lists, strings.ToLower(list))
}

func (p *People) outcomes(address string) bool {
	return cmp.Or(p.People[address].Outcomes, p.Outcomes, outcomesMail) == outcomesMail
}

// ids returns the forms of ids in routes: a channel is the address of a list, a person is a person's, and a mention gets
// a mail as well. A principal of this surface names a person if the operator allows their address; without an app all are.
func ids(s *App) chat.IDs {
	form := addressForm().String()
	return chat.IDs{
		Channel: form, Person: form, Group: form, Mention: form,
		Member: func(principal string) (string, bool) {
			address, ok := strings.CutPrefix(principal, "mailto:")
			address = strings.ToLower(address)
			return address, ok && addressForm().MatchString(address) && (s == nil || s.allowed(address))
		},
	}
}

// ParseRoutes parses a routing file. Its error lists every fault with its position.
func ParseRoutes(data []byte) (*chat.Routes, error) { return chat.ParseRoutes(data, ids(nil)) }

// allowed reports whether the operator allows a person's address: it is in the routes, or a pattern has it.
func (s *App) allowed(address string) bool {
	people, lists := s.listed()
	return slices.Contains(people, address) || !slices.Contains(lists, address) && slices.ContainsFunc(s.people().Allow, func(pattern string) bool {
		ok, err := path.Match(pattern, address)
		return ok && err == nil
	})
}

// listed returns the addresses of the routes: those of persons, and those of lists, behind which nobody in particular is.
func (s *App) listed() (people, lists []string) {
	r := s.Routes()
	targets := []chat.Target{r.Default}
	for i := range r.Rules {
		targets = append(targets, r.Rules[i].To)
	}
	for _, id := range r.Groups {
		lists = append(lists, strings.ToLower(id))
	}
	for i := range targets {
		if targets[i].Channel != "" {
			lists = append(lists, strings.ToLower(targets[i].Channel))
		}
	}
	add := func(id string) {
		if id = strings.ToLower(id); id != "" && !slices.Contains(lists, id) {
			people = append(people, id)
		}
	}
	for i := range targets {
		add(targets[i].Person)
		for _, id := range targets[i].Mention {
			add(id)
		}
	}
	for _, id := range r.People {
		add(id)
	}
	return people, lists
}

// isList reports whether an address is that of a list.
func (s *App) isList(address string) bool {
	_, lists := s.listed()
	return slices.Contains(lists, address)
}

// recipients returns to whom an ask goes, in a fixed order.
func (s *App) recipients(a *ask.Ask) (all []string) {
	to := s.Routes().Decide(a)
	for _, id := range append([]string{cmp.Or(to.Channel, to.Person)}, to.Mention...) {
		if id = strings.ToLower(id); id != "" && !slices.Contains(all, id) {
			all = append(all, id)
		}
	}
	return all
}

// speaks returns the language of what a person is sent.
func (s *App) speaks(address string, a *ask.Ask) *lang.Language {
	return s.Speaks(s.people().People[address].Language, a)
}

// reader returns who reads a mail to an address: times are in their zone.
func (s *App) reader(address string, l *lang.Language) card.Viewer {
	return card.Viewer{Lang: l.Tag, Surface: s.Type, Shared: true, Zone: s.people().zone(address)}
}
