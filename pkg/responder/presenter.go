package responder

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"github.com/askbus/askbus/pkg/ask"
)

// Presenter is a surface that posts: to a chat, by mail, to a phone. It knows
// one foreign service and nothing of askbus beside these three methods;
// [Server] calls them. All are called concurrently, and again after any error
// and any crash, so each must expect what it has done before.
//
// Their errors say what to do: a [*RetryError] when the service refuses for
// now, a [*PermanentError] when this ask can never be posted there, anything
// else when the service cannot be reached. Each call has the limit
// [ServeOptions.CallLimit].
type Presenter interface {
	// Present puts an ask in front of people and says where: one place for each
	// post, with what Update needs to find it again. It must attach [Post.Key]
	// where Find can see it.
	Present(ctx context.Context, p Post) ([]ask.Place, error)
	// Update makes every post of an ask show how it ended, and takes the means to
	// answer away. A place that is already updated, or was deleted, is not an error.
	Update(ctx context.Context, e Ended) error
	// Find searches for what an earlier call of Present with the same key has
	// posted before it or its process died. It returns no places when there is
	// nothing; then the ask is posted. One that cannot search returns no places
	// either, and may post twice after a crash.
	Find(ctx context.Context, p Post) ([]ask.Place, error)
}

// Router is implemented by a [Presenter] that posts to several places. Route
// says where an ask goes, such as to channels, before it is posted:
// [ServeOptions.Every] holds for each of them. It must not fail for lack of a
// route: posting nowhere is a [*PermanentError] of Present.
type Router interface {
	Route(p Post) (places []string)
}

// Chooser is implemented by a [Presenter] that leaves some asks alone, such as
// those that nobody has subscribed to. Nothing is recorded of an ask that it
// does not want. It must answer at once, and the same on every replica as far
// as it can.
type Chooser interface {
	Wants(p Post) bool
}

// Post is an ask to present.
type Post struct {
	Key     string // idempotency key: the same for one asking, on every replica
	Ask     ask.Ask
	Life    string
	AskedAt time.Time
	Link    string // where the ask can be answered whatever its kind; empty without [ServeOptions.Link]
}

// Text is the ask as plain text, with the link, for whatever a surface cannot
// draw: control characters are gone, options are numbered, and what is typed
// as a reply can be read by [ask.Question.ParseReply].
func (p Post) Text() string {
	text := p.Ask.Plain()
	if p.Link != "" {
		text += "\nAnswer here: " + p.Link + "\n"
	}
	return text
}

// CanDraw reports whether every question is of one of the given kinds; without
// kinds, of one that this build knows. If not, present [Post.Text].
func (p Post) CanDraw(kinds ...ask.Kind) bool {
	if len(kinds) == 0 {
		kinds = []ask.Kind{ask.KindChoice, ask.KindText, ask.KindNumber, ask.KindBoolean, ask.KindDate}
	}
	for i := range p.Ask.Questions {
		known := false
		for _, k := range kinds {
			known = known || p.Ask.Questions[i].Kind == k
		}
		if !known {
			return false
		}
	}
	return len(p.Ask.Questions) > 0
}

// Ended is an ask that ended, and where it was posted.
type Ended struct {
	Post
	Places  []ask.Place
	Outcome ask.Outcome
}

// RetryError says that a foreign service refuses for now, as by 429 and
// Retry-After.
type RetryError struct {
	After time.Duration
	Place string // as [Router] names it; empty: the whole service refuses
	Err   error
}

// Error says what was refused, and for how long.
func (e *RetryError) Error() string {
	return fmt.Sprintf("refused for %s: %v", e.After, e.Err)
}

// Unwrap gives the reason.
func (e *RetryError) Unwrap() error { return e.Err }

// PermanentError says that trying again is of no use for this ask, such as when
// its channel was deleted.
type PermanentError struct{ Err error }

// Error says what is wrong.
func (e *PermanentError) Error() string { return "for good: " + e.Err.Error() }

// Unwrap gives the reason.
func (e *PermanentError) Unwrap() error { return e.Err }

// PostKey is the idempotency key of one asking: [Post.Key].
func PostKey(typ string, k ask.Key, life string) string {
	sum := sha256.Sum256([]byte(typ + "\x00" + k.String() + "\x00" + life))
	return "askbus-" + hex.EncodeToString(sum[:12])
}

// endedBy is the outcome that a refusal carries, or nil.
func endedBy(err error) *ask.Outcome {
	if e, ok := errors.AsType[*ask.Error](err); ok {
		return e.Outcome
	}
	return nil
}
