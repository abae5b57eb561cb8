package slack

import (
	"context"
	"time"

	"github.com/askbus/askbus/internal/process/lang"
	"github.com/askbus/askbus/pkg/ask"
)

// localeWait bounds how long a click waits for its user's locale: a trigger expires after three
// seconds.
const localeWait = 700 * time.Millisecond

// speaks returns the language of a message that only one person sees: that of their Slack, else
// that of the ask's card. The ask may be nil. It does not wait: without a known locale it uses the
// card's language.
func (s *App) speaks(user string, a *ask.Ask) *lang.Language {
	return s.Speaks(s.people.Cached(user).locale, a)
}

// meet looks up a user within localeWait, so that speaks has the locale.
func (s *App) meet(ctx context.Context, user string) {
	within, cancel := context.WithTimeout(ctx, localeWait)
	defer cancel()
	_, _ = s.people.Person(within, user) // on error speaks uses the card's language
}
