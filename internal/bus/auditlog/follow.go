package auditlog

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/askbus/askbus/internal/bus/audit"
	"github.com/askbus/askbus/internal/process/backoff"
	"golang.org/x/mod/sumdb/note"
)

// Reader reads messages of the audit from a sequence on, at most most of them; none: there are none yet.
type Reader func(ctx context.Context, from uint64, most int) ([]audit.Raw, error)

// Bounds of what is done at once.
const (
	batch = 256      // records read
	most  = 16 * 256 // records added
)

// Options tunes [Log.Follow]. Read and Signer are required.
type Options struct {
	Read   Reader
	Signer note.Signer
	Every  time.Duration // between two looks for new records; default 1m
	// Settle is how old a record is before the log takes it, so that one that a crash of a server takes
	// back is not in it; default 5s, below 0: none.
	Settle time.Duration
	// Publish is called with each new checkpoint, and again at the next look if it fails.
	Publish func(ctx context.Context, checkpoint []byte) error
	Current func(size int64) // called when the log has every record, and its checkpoint is published
	Logger  *slog.Logger     // default: discard
}

func (o *Options) fill() {
	if o.Every <= 0 {
		o.Every = time.Minute
	}
	o.Settle = cmp.Or(o.Settle, 5*time.Second)
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
}

// ErrDiffers means that the audit does not hold what the log says that it held.
var ErrDiffers = errors.New("the audit does not hold the records that the log has: a crash of the server took its end back, it was restored from a backup, or somebody changed it; find out which, and then continue with --rejoin")

// Follow adds the audit's new records to the log and signs a checkpoint, again and again until ctx ends.
// It returns an error when it must not go on, such as [ErrDiffers]; while the audit cannot be read it
// tries again.
func (l *Log) Follow(ctx context.Context, o Options) error {
	o.fill()
	for on := true; on; on = backoff.Sleep(ctx, o.Every) == nil {
		err := l.Once(ctx, o)
		switch {
		case err == nil, ctx.Err() != nil:
		case errors.Is(err, errTransient):
			o.Logger.WarnContext(ctx, "the log of the audit is not current; trying again", slog.Any("error", err))
		default:
			return err
		}
	}
	return nil
}

// errTransient marks what another try may mend.
var errTransient = errors.New("cannot be done now")

// Once does what [Log.Follow] repeats.
func (l *Log) Once(ctx context.Context, o Options) error {
	o.fill()
	if err := l.catchUp(ctx, &o); err != nil {
		return err
	}
	signed, err := l.Checkpoint(o.Signer)
	if err != nil {
		return err
	}
	if o.Publish != nil {
		if err := o.Publish(ctx, signed); err != nil {
			return fmt.Errorf("publish the checkpoint: %w: %w", errTransient, err)
		}
	}
	if o.Current != nil {
		o.Current(l.Size)
	}
	return nil
}

// catchUp adds the records that the audit has and the log does not.
func (l *Log) catchUp(ctx context.Context, o *Options) error {
	for more := true; more; {
		var found []audit.Raw
		for from := max(l.Next, 2) - 1; len(found) < most; { // with the last one, which must be as it was
			page, err := o.Read(ctx, from, batch)
			if err != nil {
				return fmt.Errorf("read the audit: %w: %w", errTransient, err)
			}
			if found = append(found, page...); len(page) == 0 {
				more = false
				break
			}
			from = page[len(page)-1].Seq + 1
		}
		if len(found) == 0 {
			return l.stillThere(ctx, o)
		}
		if m := &found[0]; m.Seq < l.Next {
			if same, err := l.Has(m); err != nil {
				return err
			} else if !same && l.Runs[len(l.Runs)-1].Seq <= m.Seq {
				return fmt.Errorf("record %d: %w", m.Seq, ErrDiffers)
			}
			found = found[1:]
		}
		for i := range found {
			if o.Settle > 0 && time.Since(found[i].At) < o.Settle {
				found, more = found[:i], false
				break
			}
		}
		if len(found) > 0 {
			if err := l.Append(found, time.Now()); err != nil {
				return err
			}
		}
	}
	return nil
}

// stillThere returns [ErrDiffers] if the audit has ended before the log's last record.
func (l *Log) stillThere(ctx context.Context, o *Options) error {
	first, err := o.Read(ctx, 1, 1)
	if err != nil {
		return fmt.Errorf("read the audit: %w: %w", errTransient, err)
	}
	if len(first) > 0 && first[0].Seq+1 < l.Next {
		return fmt.Errorf("record %d is gone: %w", l.Next-1, ErrDiffers)
	}
	return nil
}

// ErrSame means that the audit holds what the log has.
var ErrSame = errors.New("the audit holds the records that the log has: leave --rejoin out")

// RejoinAt finds where the audit and the log part and begins a run there, after an operator has found out
// why. It returns the sequence of the first record of the run.
func (l *Log) RejoinAt(ctx context.Context, read Reader) (uint64, error) {
	var from, oldest uint64 = 1, 0
	same := false
	for {
		found, err := read(ctx, from, batch)
		if err != nil {
			return 0, fmt.Errorf("read the audit: %w", err)
		}
		for i := range found {
			m := &found[i]
			if from = m.Seq + 1; oldest == 0 {
				oldest = m.Seq
			}
			if len(l.Runs) == 0 || m.Seq < l.Runs[0].Seq {
				continue
			}
			has, err := l.Has(m)
			if err != nil {
				return 0, err
			}
			if same = same || has; has {
				continue
			}
			if !same {
				m.Seq = oldest // nothing is as it was
			} else if m.Seq >= l.Next {
				return 0, ErrSame
			}
			return m.Seq, l.Rejoin(m.Seq, time.Now())
		}
		if len(found) == 0 {
			if from >= l.Next {
				return 0, ErrSame
			}
			return from, l.Rejoin(from, time.Now()) // the end is gone
		}
	}
}
