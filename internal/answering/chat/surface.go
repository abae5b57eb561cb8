package chat

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"

	"github.com/askbus/askbus/internal/process/file"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/responder"
)

// OpenRoutes returns the current routes: those of a file, which is read again when it changes, or fixed ones if
// name is empty.
func OpenRoutes(name string, fixed *Routes, parse func([]byte) (*Routes, error), log *slog.Logger) (func() *Routes, error) {
	if name == "" {
		return func() *Routes { return fixed }, nil
	}
	f, err := file.OpenLive(name, parse, log)
	if err != nil {
		return nil, fmt.Errorf("routing file: %w", err)
	}
	return f.Content, nil
}

// PostAt posts an ask to the target of its route with post. If that is hopeless, such as an archived channel or a
// deactivated person, it posts to the default target. The error is a [*responder.PermanentError] if that is hopeless
// as well.
func PostAt(ctx context.Context, routes *Routes, a *ask.Ask, hopeless func(error) bool, log *slog.Logger, post func(Target) (ask.Place, error)) (ask.Place, error) {
	to := routes.Decide(a)
	at, err := post(to.Target)
	if err != nil && hopeless(err) && (to.Channel != routes.Default.Channel || to.Person != routes.Default.Person) {
		log.WarnContext(ctx, "a route's target cannot be posted to; posting to the default", slog.String("ask_id", a.ID), slog.String("route", to.Why), slog.String("error", err.Error()))
		at, err = post(routes.Notify(routes.Default, a))
	}
	if err != nil && hopeless(err) {
		return at, &responder.PermanentError{Err: err}
	}
	return at, err
}

// EditAll edits every message of an ended ask. A message that is gone is no error. If the service refuses for now,
// that is the error.
func EditAll[M any](ctx context.Context, messages []M, id string, gone func(error) bool, log *slog.Logger, edit func(M) error) error {
	var failed error
	for _, m := range messages {
		switch err := edit(m); {
		case err == nil:
		case gone(err):
			log.InfoContext(ctx, "a message was deleted", slog.String("ask_id", id), slog.String("error", err.Error()))
		default:
			failed = errors.Join(failed, err)
		}
	}
	if retry, ok := errors.AsType[*responder.RetryError](failed); ok {
		return retry
	}
	return failed
}

// AudienceGroups returns the groups of an ask's audience that a user is in: in reports that for the id of the chat's
// group. A group that cannot be read counts as empty.
func AudienceGroups(ctx context.Context, routes *Routes, a *ask.Ask, log *slog.Logger, in func(group string) (bool, error)) (groups []string) {
	for _, entry := range a.Audience {
		name, ok := strings.CutPrefix(entry, "group:")
		id := routes.Groups[name]
		if !ok || id == "" {
			continue
		}
		is, err := in(id)
		if err != nil {
			log.WarnContext(ctx, "cannot read a group of the chat: it has no members until it can be read", slog.String("group", id), slog.String("error", err.Error()))
		}
		if is {
			groups = append(groups, name)
		}
	}
	return groups
}
