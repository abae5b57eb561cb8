package fakediscord

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"unicode/utf8"
)

// kindCommand is the type of an interaction that is a command.
const kindCommand = 2

// command is a command of the application, for all servers.
type command struct {
	ID           string            `json:"id"`
	App          string            `json:"application_id"`
	Version      string            `json:"version"`
	Name         string            `json:"name"`
	Type         int               `json:"type"`
	Description  string            `json:"description"`
	Descriptions map[string]string `json:"description_localizations"`
	Contexts     []int             `json:"contexts"`
}

// maxCommands is how many commands may be made in a day.
const maxCommands = 200

var commandName = regexp.MustCompile(`^[-_'\p{L}\p{N}]{1,32}$`)

func (c *command) check() error {
	texts := []string{c.Description}
	for _, t := range c.Descriptions {
		texts = append(texts, t)
	}
	for _, t := range texts {
		if n := utf8.RuneCountInString(t); n < 1 || n > 100 {
			return errors.New("description must be between 1 and 100 in length")
		}
	}
	switch {
	case !commandName.MatchString(c.Name) || regexp.MustCompile(`\p{Lu}`).MatchString(c.Name):
		return errors.New("name is invalid")
	case c.Type != 1:
		return errors.New("only commands that are typed are known here")
	}
	for _, where := range c.Contexts {
		if where < 0 || where > 2 {
			return errors.New("contexts are 0, 1 and 2")
		}
	}
	return nil
}

func (s *Server) listCommands(r *http.Request) (any, error) {
	if r.PathValue("app") != App {
		return nil, errAccess
	}
	all := []command{}
	for _, c := range s.commands {
		one := *c
		one.Descriptions = nil // only with with_localizations
		all = append(all, one)
	}
	return all, nil
}

// makeCommand makes a command, or replaces the one of that name.
func (s *Server) makeCommand(r *http.Request) (any, error) {
	c := command{Type: 1}
	switch err := json.Unmarshal(bodyOf(r), &c); {
	case r.PathValue("app") != App:
		return nil, errAccess
	case err != nil:
		return nil, &refusal{400, 50109, "The request body contains invalid JSON.", nil}
	case s.commands[c.Name] == nil && len(s.commands) >= maxCommands:
		return nil, &refusal{400, 30034, "Max number of daily application command creates has been reached (200)", nil}
	}
	if err := c.check(); err != nil {
		return nil, invalid(err)
	}
	c.ID, c.App, c.Version = s.id(), App, s.id()
	s.commands[c.Name] = &c
	return &c, nil
}

// Command lets a person use a command in a channel, or in private without one, and waits for the first reply.
func (s *Server) Command(ctx context.Context, user, channel, name string) (Interaction, error) {
	s.mu.Lock()
	c := s.commands[name]
	if channel == "" {
		channel = s.directOf(user)
	}
	bot := s.users[user].Bot
	s.mu.Unlock()
	if c == nil || bot {
		return Interaction{}, fmt.Errorf("%s has no command %q", user, name)
	}
	return s.happen(ctx, user, channel, nil, kindCommand, map[string]any{"id": c.ID, "name": name, "type": c.Type})
}
