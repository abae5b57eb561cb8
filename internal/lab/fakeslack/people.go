package fakeslack

import (
	"maps"
	"slices"
)

// User is a member of the workspace, or an external user in a shared channel.
type User struct {
	ID, Name, Email string

	Team    string // default: the workspace's; another: external, by Slack Connect
	Bot     bool
	Deleted bool
	Lang    string
}

// Group is a user group.
type Group struct {
	ID, Handle, Name string
	Members          []string
}

// Channel is a channel or a direct message.
type Channel struct {
	ID, Name string
	Archived bool
	With     string   // direct message: the user
	Members  []string // users, and the bot if invited
}

// AddUser adds a user to the workspace.
func (s *Server) AddUser(u User) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if u.Team == "" {
		u.Team = s.opts.Team
	}
	if u.Name == "" {
		u.Name = u.ID
	}
	s.users[u.ID] = &u
}

// AddGroup adds or changes a user group.
func (s *Server) AddGroup(g Group) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if g.Name == "" {
		g.Name = g.Handle
	}
	s.groups[g.ID] = &g
}

// AddChannel adds or changes a channel.
func (s *Server) AddChannel(c Channel) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.channels[c.ID] = &c
}

// Archive archives a channel.
func (s *Server) Archive(channel string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.channels[channel].Archived = true
}

func (s *Server) usersInfo(a args) (reply, error) {
	u, ok := s.users[a.text("user")]
	if !ok {
		return nil, fail("user_not_found")
	}
	return reply{"user": s.userObject(u)}, nil
}

func (s *Server) usersLookup(a args) (reply, error) {
	for _, id := range slices.Sorted(maps.Keys(s.users)) {
		if u := s.users[id]; u.Email != "" && u.Email == a.text("email") && !u.Deleted {
			return reply{"user": s.userObject(u)}, nil
		}
	}
	return nil, fail("users_not_found")
}

func (s *Server) userObject(u *User) map[string]any {
	profile := map[string]any{"real_name": u.Name, "display_name": u.Name}
	if slices.Contains(s.opts.Scopes, "users:read.email") {
		profile["email"] = u.Email
	}
	object := map[string]any{
		"id": u.ID, "team_id": u.Team, "name": u.Name, "real_name": u.Name, "deleted": u.Deleted, "is_bot": u.Bot,
		"is_stranger": u.Team != s.opts.Team, "locale": u.Lang, "profile": profile,
	}
	if s.opts.Enterprise != "" {
		object["enterprise_user"] = map[string]any{"id": u.ID, "enterprise_id": s.opts.Enterprise, "teams": []string{u.Team}}
	}
	return object
}

func (s *Server) groupsList(args) (reply, error) {
	list := []map[string]any{}
	for _, id := range slices.Sorted(maps.Keys(s.groups)) {
		g := s.groups[id]
		list = append(list, map[string]any{"id": g.ID, "team_id": s.opts.Team, "is_usergroup": true, "handle": g.Handle, "name": g.Name, "user_count": len(g.Members)})
	}
	return reply{"usergroups": list}, nil
}

func (s *Server) groupsUsers(a args) (reply, error) {
	g, ok := s.groups[a.text("usergroup")]
	if !ok {
		return nil, fail("no_such_subteam")
	}
	return reply{"users": g.Members}, nil
}

func (s *Server) conversationsOpen(a args) (reply, error) {
	id := a.text("users")
	u, ok := s.users[id]
	switch {
	case !ok:
		return nil, fail("user_not_found")
	case u.Deleted:
		return nil, fail("user_disabled")
	case u.Bot:
		return nil, fail("cannot_dm_bot")
	}
	for _, c := range s.channels {
		if c.With == id {
			return reply{"channel": s.channelObject(c), "already_open": true, "no_op": true}, nil
		}
	}
	c := &Channel{ID: s.id("D"), With: id, Members: []string{id, BotUser}}
	s.channels[c.ID] = c
	return reply{"channel": s.channelObject(c)}, nil
}

func (s *Server) conversationsInfo(a args) (reply, error) {
	c, ok := s.channels[a.text("channel")]
	if !ok {
		return nil, fail("channel_not_found")
	}
	return reply{"channel": s.channelObject(c)}, nil
}

func (s *Server) channelObject(c *Channel) map[string]any {
	return map[string]any{
		"id": c.ID, "name": c.Name, "is_channel": c.With == "", "is_im": c.With != "", "is_private": c.With != "",
		"is_archived": c.Archived, "is_member": slices.Contains(c.Members, BotUser), "user": c.With, "context_team_id": s.opts.Team,
	}
}
