package slack

import (
	"cmp"
	"context"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/askbus/askbus/pkg/ask"
)

// Bounds of what is remembered about people.
const (
	maxPeople  = 10_000
	maxMembers = 1_000
	peopleLife = time.Hour
	groupLife  = 5 * time.Minute
)

// person is what Slack says about who acted.
type person struct {
	name       string
	email      string
	enterprise string
	locale     string // such as "zh-CN"
	at         time.Time
}

// members are the members of a user group.
type members struct {
	users []string
	at    time.Time
}

// people resolves names and user groups, and remembers them for a while. What
// cannot be resolved grants nothing.
type people struct {
	api *api
	now func() time.Time

	mu     sync.Mutex
	byID   map[string]person
	groups map[string]members
}

func newPeople(a *api, now func() time.Time) *people {
	return &people{api: a, now: now, byID: map[string]person{}, groups: map[string]members{}}
}

// locale is that of a member who is known, however long since.
func (p *people) locale(id string) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.byID[id].locale
}

// person reads who a member is. An error leaves the name that the click
// brought.
func (p *people) person(ctx context.Context, id string) (person, error) {
	p.mu.Lock()
	known, ok := p.byID[id]
	p.mu.Unlock()
	if ok && p.now().Sub(known.at) < peopleLife {
		return known, nil
	}
	u, err := p.api.user(ctx, id)
	if err != nil {
		return known, err
	}
	one := person{name: u.Profile.DisplayName, email: u.Profile.Email, enterprise: u.Enterprise.EnterpriseID, locale: u.Locale, at: p.now()}
	if one.name == "" {
		one.name = u.RealName
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.byID) >= maxPeople {
		clear(p.byID)
	}
	p.byID[id] = one
	return one, nil
}

// in reports whether a member is in a user group. On an error nobody is.
func (p *people) in(ctx context.Context, group, user string) (bool, error) {
	p.mu.Lock()
	known, ok := p.groups[group]
	p.mu.Unlock()
	if ok && p.now().Sub(known.at) < groupLife {
		return slices.Contains(known.users, user), nil
	}
	users, err := p.api.groupMembers(ctx, group)
	if err != nil {
		return false, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.groups) >= maxMembers {
		clear(p.groups)
	}
	p.groups[group] = members{users, p.now()}
	return slices.Contains(users, user), nil
}

// actor is who clicked or typed, as Slack proved it.
type actor struct {
	User  string
	Name  string
	Team  string // of the person; it may be another one than that of the channel
	Proof string
}

// by is the person for the broker, or why this person may not act at all.
// Groups are those of the ask's audience that the person is in; the broker
// decides with them.
func (s *App) by(ctx context.Context, who actor, a *ask.Ask, routes *Routes) (ask.By, string) {
	one, err := s.people.person(ctx, who.User)
	if err != nil {
		s.log.WarnContext(ctx, "cannot read who acted", slog.String("error", err.Error()))
	}
	home := s.Identity()
	by := ask.By{Principal: home.principal(who.User), Name: cmp.Or(one.name, who.Name, who.User), Proof: who.Proof}
	inGrid := home.Enterprise != "" && one.enterprise == home.Enterprise
	if who.Team != home.Team && !inGrid {
		if !slices.Contains(s.opts.Strangers, who.Team) {
			return by, s.speaks(ctx, who.User, a).Say("Only members of this workspace may answer here. You are in it through Slack Connect: the administrator of askbus can list your workspace, %s.", who.Team)
		}
		by.Principal = "slack:" + who.Team + "/" + who.User
	} else {
		s.mapped(&by, one, who.User, a, routes)
	}
	for _, entry := range a.Audience {
		group, ok := strings.CutPrefix(entry, "group:")
		id := routes.Groups[group]
		if !ok || id == "" {
			continue
		}
		in, err := s.people.in(ctx, id, who.User)
		if err != nil {
			s.log.WarnContext(ctx, "cannot read a user group: nobody counts as a member until then", slog.String("group", id), slog.String("error", err.Error()))
		}
		if in {
			by.Groups = append(by.Groups, group)
		}
	}
	return by, ""
}

// mapped gives a member the principal that the administrator has mapped to
// them, so that they are the same person on every surface; unless the ask is
// addressed to them by their name in Slack.
func (s *App) mapped(by *ask.By, one person, user string, a *ask.Ask, routes *Routes) {
	if slices.Contains(a.Audience, by.Principal) {
		return
	}
	if prefix := s.opts.EmailPrefix; prefix != "" && one.email != "" {
		by.Principal = prefix + strings.ToLower(one.email)
	}
	for principal, id := range routes.People {
		if id == user && (slices.Contains(a.Audience, principal) || !slices.Contains(a.Audience, by.Principal)) {
			by.Principal = principal
		}
	}
}

// Identity is which app in which workspace a token belongs to.
type Identity struct {
	Team, Enterprise string
	BotUser, BotID   string
	URL              string
	Scopes           []string
}

// principal names a member: by the grid, where there is one, so that it is the
// same in all of its workspaces.
func (i Identity) principal(user string) string {
	return "slack:" + cmp.Or(i.Enterprise, i.Team) + "/" + user
}

// can reports whether the token has a scope. One whose scopes are not known has
// all.
func (i Identity) can(scope string) bool {
	return len(i.Scopes) == 0 || slices.Contains(i.Scopes, scope)
}
