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

// Presenter is a surface that posts: to a chat, by mail, to a phone. It wraps
// one foreign service, and implements only these three methods, which [Server]
// calls. All are called concurrently, and again after any error and any crash,
// so each must expect that it has already done its work.
//
// The error says what to do: a [*RetryError] if the service refuses for now, a
// [*PermanentError] if this ask can never be posted there, anything else if the
// service cannot be reached. Each call is limited by [ServeOptions.CallLimit].
type Presenter interface {
	// Present shows an ask to people and returns where: one place for each
	// post, with what Update needs to find it again. It must attach [Post.Key]
	// so that Find can see it. If it waits before it posts, it must check
	// ctx.Err() right before the post: another replica may have the ask by then.
	Present(ctx context.Context, p Post) ([]ask.Place, error)
	// Update makes every post of an ask show how it ended, and removes the
	// means to answer. A place that is already updated or deleted is not an
	// error.
	Update(ctx context.Context, e Ended) error
	// Find searches for all posts of earlier calls of Present with the same
	// key, which may have crashed after posting: at [Post.Tried], and wherever
	// else Present may have posted. If it returns no places, the ask is posted.
	// A presenter that cannot search returns no places, and may post twice
	// after a crash.
	Find(ctx context.Context, p Post) ([]ask.Place, error)
}

// Router is implemented by a [Presenter] that posts to several places. Route
// returns the places of an ask, such as channels, before it is posted:
// [ServeOptions.Every] applies to each of them. It must not fail if there is no
// route: Present then returns a [*PermanentError].
type Router interface {
	Route(p Post) (places []string)
}

// Chooser is implemented by a [Presenter] that skips some asks, such as those
// without subscribers. Nothing is recorded of a skipped ask. It must return at
// once and, as far as possible, the same on every replica.
type Chooser interface {
	Wants(p Post) bool
}

// Delayer is implemented by a [Presenter] that posts an ask only some time after
// it was asked, such as a mail, which nobody needs if the ask is decided by then.
// Delay returns how long that still is; 0: it is due. Nothing is recorded
// meanwhile, so that an ask which ends first leaves no trace.
type Delayer interface {
	Delay(p Post) time.Duration
}

// Opener is implemented by a [Presenter] whose service can neither be searched nor takes a key of
// ours. Its Present posts without the means to answer; Open adds them once the receipt names the
// places. After a crash between the two calls of the service, an ask may have a post that nobody can
// answer, but never two that can be answered. Open is called again after a crash, and must change
// nothing then. If the ask ended meanwhile, Update follows.
type Opener interface {
	Open(ctx context.Context, p Post, places []ask.Place) error
}

// Post is an ask to present.
type Post struct {
	Key     string // idempotency key: the same for one life of an ask, on every replica
	Ask     ask.Ask
	Life    string
	AskedAt time.Time
	Link    string // where any kind of ask can be answered; empty without [ServeOptions.Link]
	// Tried are the places of [Router.Route] of earlier tries that may have
	// posted, as places whose Ref is the route; empty on the first try.
	Tried []ask.Place
	// Steps are those of the ask's ladder that were taken and of which this type
	// has not told yet: see [Escalator].
	Steps []ask.Step
}

// Text returns the ask as plain text, with the link, for asks that a surface
// cannot draw: control characters are removed, options are numbered, and
// [ask.Question.ParseReply] reads a typed reply.
func (p Post) Text() string {
	text := p.Ask.Plain()
	if p.Link != "" {
		text += "\nAnswer here: " + p.Link + "\n"
	}
	return text
}

// Ended is an ended ask and where it was posted.
type Ended struct {
	Post
	Places  []ask.Place
	Outcome ask.Outcome
}

// RetryError says that a foreign service refuses for now, as by 429 and
// Retry-After.
type RetryError struct {
	After time.Duration
	Place string // as named by [Router]; empty: the whole service refuses
	Err   error
}

// Error says what was refused, and for how long.
func (e *RetryError) Error() string {
	return fmt.Sprintf("refused for %s: %v", e.After, e.Err)
}

// Unwrap returns the reason.
func (e *RetryError) Unwrap() error { return e.Err }

// PermanentError says that a retry is pointless for this ask, such as when its
// channel was deleted.
type PermanentError struct{ Err error }

// Error returns the reason.
func (e *PermanentError) Error() string { return "for good: " + e.Err.Error() }

// Unwrap returns the reason.
func (e *PermanentError) Unwrap() error { return e.Err }

// PostKey returns the idempotency key of one life of an ask: [Post.Key].
func PostKey(typ string, k ask.Key, life string) string {
	sum := sha256.Sum256([]byte(typ + "\x00" + k.String() + "\x00" + life))
	return "askbus-" + hex.EncodeToString(sum[:12])
}

// endedBy returns the outcome that a refusal carries, or nil.
func endedBy(err error) *ask.Outcome {
	if e, ok := errors.AsType[*ask.Error](err); ok {
		return e.Outcome
	}
	return nil
}
