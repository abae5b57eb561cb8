package chat

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/url"
	"time"

	"github.com/askbus/askbus/internal/bus/state"
	"github.com/askbus/askbus/pkg/ask"
)

// Digester is implemented by a presenter that posts a digest in its own way. A [*responder.RetryError], and any error of a
// call that got a reply or did not reach the service, says that it was not posted.
type Digester interface {
	Digest(ctx context.Context, d *Digest) error
}

// noteDigest posts a digest as a note.
func (s *Surface) noteDigest(ctx context.Context, d *Digest) error {
	lines := d.Lines("")
	for i := range lines {
		lines[i] = ask.Clip(OneLine(lines[i]), maxDigestLine)
	}
	return s.note(ctx, &Note{To: d.To, Lines: lines, Rank: s.Now(), Key: d.Key})
}

// Bounds of digests.
const (
	digestLate  = 24 * time.Hour // one that could not be posted for so long is not posted that week
	digestEvery = time.Minute
	digestAgain = 30 * time.Minute // the longest pause after a failure
	countFor    = 10 * time.Minute // who began longer ago to count has died
	postFor     = 15 * time.Second
	keepDigest  = 9 * 24 * time.Hour
)

// claim notes in shared state who makes the digest of a week.
type claim struct {
	Posting bool `json:"posting,omitempty"` // whatever becomes of it, nobody else posts
}

// digests posts the weekly digest until ctx ends: one of all replicas does, once a week.
func (s *Surface) digests(ctx context.Context, post func(context.Context, *Digest) error, account string) {
	var over time.Time // the last one that is posted, or too late
	wait := digestEvery
	for ctx.Err() == nil {
		now, err := s.Clock.Now(), error(nil)
		if at := s.weekly.last(now); !at.Equal(over) {
			ended := now.Sub(at) >= digestLate
			if !ended {
				ended, err = s.digest(ctx, post, account, at)
			}
			if ended {
				over = at
			}
			if err != nil && ctx.Err() == nil {
				wait = min(2*wait, digestAgain)
				s.Log.WarnContext(ctx, "cannot post the weekly digest; trying again", slog.String("error", err.Error()), slog.Duration("again_in", wait))
			}
		}
		if err == nil {
			wait = digestEvery
		}
		_ = s.Clock.Sleep(ctx, wait) // fails only when ctx ends
	}
}

// digest posts the digest of the week before a time, unless another replica does. Over reports that nothing is left to do.
//
// Safety: it is posted at most once. Who has claimed the week counts; right before the post, the claim becomes one that
// only a refusal takes back. A process that dies then, or a post whose reply is lost, may leave a week without a digest.
func (s *Surface) digest(ctx context.Context, post func(context.Context, *Digest) error, account string, at time.Time) (over bool, err error) {
	bucket := state.Open(s.Bus.Conn(), state.Responder(s.Type, s.Bus.Tenant()), state.Conversations)
	year, week := at.ISOWeek()
	sum := sha256.Sum256(fmt.Appendf(nil, "askbus-digest\x00%s\x00%s\x00%d-%d", account, bucket.Tenant(), year, week))
	k := state.Key{Tenant: bucket.Tenant(), Name: s.Type + "." + base64.RawURLEncoding.EncodeToString(sum[:18])}

	revision, err := bucket.Create(ctx, k, claim{}, countFor)
	if errors.Is(err, ask.ErrConflict) {
		return posting(ctx, bucket, k)
	}
	if err != nil {
		return false, err
	}
	d, err := s.counted(ctx, at)
	if err == nil && d.To.Place() == "" {
		return true, errors.New("the routing file posts nowhere by default; say in DIGEST_PLACE where the digest goes")
	}
	if err == nil {
		revision, err = bucket.Update(ctx, k, claim{Posting: true}, revision, keepDigest)
	}
	if err == nil {
		d.Key = "week-" + hex.EncodeToString(sum[:8])
		within, cancel := context.WithTimeout(context.WithoutCancel(ctx), postFor) // a stop does not leave the post in doubt
		err = post(within, d)
		cancel()
		if err != nil && lost(err) {
			s.Log.WarnContext(ctx, "nobody knows whether the weekly digest was posted; it is not posted again", slog.String("error", err.Error()))
			return true, nil
		}
	}
	if err != nil {
		last, cancel := context.WithTimeout(context.WithoutCancel(ctx), postFor)
		defer cancel()
		return false, errors.Join(err, bucket.DeleteRevision(last, k, revision)) // else it expires
	}
	return true, nil
}

// posting reports whether another replica has posted a digest, or is about to.
func posting(ctx context.Context, bucket *state.Bucket, k state.Key) (bool, error) {
	e, err := bucket.Get(ctx, k)
	if errors.Is(err, ask.ErrNotFound) { // that one could not
		return false, nil
	}
	var c claim
	return err == nil && json.Unmarshal(e.Value, &c) == nil && c.Posting, err
}

// lost reports errors after which a call may have done its work: it was sent, and no reply came.
func lost(err error) bool {
	if op, ok := errors.AsType[*net.OpError](err); ok {
		return op.Op != "dial"
	}
	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return false
	}
	_, sent := errors.AsType[*url.Error](err)
	return sent || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
}
