package slack

import (
	"cmp"
	"context"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/askbus/askbus/internal/answering/chat"

	"github.com/askbus/askbus/pkg/ask"
)

// person is Slack's data about a user.
type person struct {
	name       string
	email      string
	team       string
	enterprise string
	locale     string // such as "zh-CN"
}

// people caches users and user groups.
type people = chat.People[person]

func newPeople(a *api, now func() time.Time) *people {
	return chat.NewPeople(now, func(ctx context.Context, id string) (person, error) {
		u, err := a.user(ctx, id)
		if err != nil {
			return person{}, err
		}
		return person{name: cmp.Or(u.Profile.DisplayName, u.RealName), email: u.Profile.Email, team: u.TeamID, enterprise: u.Enterprise.EnterpriseID, locale: u.Locale}, nil
	}, a.groupMembers)
}

// actor is the user who clicked or typed, as Slack proved it.
type actor struct {
	User  string
	Name  string
	Team  string // the user's, which may differ from the channel's
	Proof string
}

// by returns the person for the broker, or why this person may not act at all. Groups are the ask's
// audience groups of which the person is a member; the broker decides with them.
func (s *App) by(ctx context.Context, who actor, a *ask.Ask) (ask.By, string) {
	one, err := s.people.Person(ctx, who.User)
	if err != nil {
		s.Log.WarnContext(ctx, "cannot look up a user", slog.String("error", err.Error()))
	}
	home := s.Identity()
	by := ask.By{Principal: home.principal(who.User), Name: cmp.Or(one.name, who.Name, who.User), Proof: who.Proof}
	inGrid := home.Enterprise != "" && one.enterprise == home.Enterprise
	if who.Team == home.Team && one.team != "" { // a command names the workspace that it was typed in
		who.Team = one.team
	}
	user := who.User
	switch prefix := s.opts.EmailPrefix; {
	case who.Team != home.Team && !inGrid:
		by.Principal, user = "slack:"+who.Team+"/"+who.User, "" // the routes name members of this workspace
		if !slices.Contains(s.opts.Strangers, who.Team) {
			return by, s.speaks(who.User, a).Say("Only members of this workspace may answer here. You are in it through Slack Connect: the administrator of askbus can list your workspace, %s.", who.Team)
		}
	case prefix != "" && one.email != "" && !slices.Contains(ask.Named(a.Audience), by.Principal):
		by.Principal = prefix + strings.ToLower(one.email)
	}
	s.Identify(ctx, &by, user, a, func(group string) (bool, error) { return s.people.In(ctx, group, who.User) })
	return by, ""
}

// Identity is the app and the workspace of a token.
type Identity struct {
	Team, Enterprise string
	BotUser, BotID   string
	URL              string
	Scopes           []string
}

// principal returns the principal of a user: by the enterprise grid if there is one, so that it is
// the same in all of its workspaces.
func (i Identity) principal(user string) string {
	return "slack:" + cmp.Or(i.Enterprise, i.Team) + "/" + user
}

// can reports whether the token has a scope. A token with unknown scopes has all.
func (i Identity) can(scope string) bool {
	return len(i.Scopes) == 0 || slices.Contains(i.Scopes, scope)
}
