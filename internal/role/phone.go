package role

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/askbus/askbus/internal/answering/chat"
	"github.com/askbus/askbus/internal/cli"
	"github.com/askbus/askbus/internal/cli/person"
	"github.com/askbus/askbus/internal/process/config"
	"github.com/askbus/askbus/internal/process/lang"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/spf13/cobra"
)

// chatWriter is the app of a chat that writes to a person where nobody else reads it.
type chatWriter interface {
	Private(ctx context.Context, person, words, link string) error
}

// LoginCmd is "askbus login", which sends a link to a phone by the chats that are connected in the directory.
func LoginCmd(a *cli.App) *cobra.Command {
	return person.LoginCmd(a, func(ctx context.Context, to ask.By, link string) (sent string, err error) {
		ctx, cancel := context.WithTimeout(ctx, cli.ExchangeLimit)
		defer cancel()
		var failed []error
		for _, entry := range chats() {
			c := entry()
			if sent, err = c.signIn(ctx, a, to, link); err != nil {
				failed = append(failed, fmt.Errorf("%s: %w", c.Name, err))
			} else if sent != "" {
				return sent, nil
			}
		}
		return "", errors.Join(failed...)
	})
}

// signIn sends a sign-in link to the member of the chat whom its routing file names as this person, in private. Sent is
// empty if there is none: a channel, and whom somebody else linked, never get one.
func (c *chatEntry) signIn(ctx context.Context, a *cli.App, to ask.By, link string) (sent string, err error) {
	if err := config.Load(c.Settings); err != nil {
		return "", err
	}
	if err := c.fill(a.Dir); err != nil || !c.set() || c.Routes == "" {
		return "", err
	}
	data, err := os.ReadFile(c.Routes)
	if err != nil {
		return "", err
	}
	routes, err := c.ParseRoutes(data)
	if err != nil {
		return "", err
	}
	member := routes.People[to.Principal]
	if member == "" {
		return "", nil
	}
	app, err := c.app(a, nil, "", func(o *chat.Options) { o.Unplaced = true })
	if err != nil {
		return "", err
	}
	writer, ok := app.(chatWriter)
	if !ok {
		return "", nil
	}
	if err := writer.Private(ctx, member, chat.SignIn(lang.Of(routes.Default.Language)), link); err != nil {
		return "", err
	}
	return "in " + c.Name + " (" + ask.CleanLine(member) + ")", nil
}
