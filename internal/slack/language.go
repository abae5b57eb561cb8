package slack

import (
	"context"
	"time"

	"github.com/askbus/askbus/internal/lang"
	"github.com/askbus/askbus/pkg/ask"
)

// localeWait is how long a click waits for the locale of who clicked: a trigger
// lives for three seconds.
const localeWait = 700 * time.Millisecond

// language is that of an ask's card, which everybody in a channel sees: what the
// route to it says, else English.
func (s *App) language(ctx context.Context, a *ask.Ask) *lang.Language {
	return lang.Of(s.routes(ctx).Decide(a).Language)
}

// speaks is the language in which a person is told something that nobody else
// sees: that of their Slack, else that of the ask's card. The ask may be nil. It
// waits for nothing: somebody whose locale is not read yet is told in the language
// of the place.
func (s *App) speaks(ctx context.Context, user string, a *ask.Ask) *lang.Language {
	if locale := s.people.locale(user); locale != "" {
		return lang.Of(locale)
	}
	if a == nil {
		return lang.Of(s.routes(ctx).Default.Language)
	}
	return s.language(ctx, a)
}

// meet reads who a person is, for a short while, so that speaks knows.
func (s *App) meet(ctx context.Context, user string) {
	within, cancel := context.WithTimeout(ctx, localeWait)
	defer cancel()
	_, _ = s.people.person(within, user) // without it the language of the place holds
}
