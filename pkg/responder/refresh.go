package responder

import (
	"context"
	"errors"

	"github.com/askbus/askbus/pkg/ask"
)

// Refresher is implemented by a [Presenter] whose posts show the votes on an ask that several people decide, and
// how far one was escalated. Refresh makes posts show a pending record: both, and the means to answer. A replica never calls it twice
// at once for one post: all votes that come during a call are one more call. A place that was deleted is not an
// error. Without it votes are counted and not shown.
type Refresher interface {
	Refresh(ctx context.Context, p Post, rec ask.Record, places []ask.Place) error
}

// refresh makes a post show its votes. Each vote is work of its own; that of a vote which comes while the post
// is edited ends at once, because whoever edits it reads the votes again afterwards. That also mends what another
// replica has written meanwhile.
func (s *Server) refresh(ctx context.Context, it Item, p Post, places []ask.Place) error {
	v, ok := s.p.(Refresher)
	if !ok || it.Ask.Approval == nil && len(it.Ask.Escalate) == 0 || len(places) == 0 || !s.beginRefresh(p.Key) {
		return nil
	}
	for shown := uint64(0); ; {
		rec, err := s.r.Get(ctx, it.Key)
		switch {
		case errors.Is(err, ask.ErrNotFound):
			s.endRefresh(p.Key)
			return nil
		case err != nil:
			s.endRefresh(p.Key)
			return &LaterError{After: retryWork, Err: err}
		case rec.Outcome != nil && rec.Life == it.Life && (shown > 0 || it.rewritten()): // its update may have come before an edit, also before one that failed
			s.endRefresh(p.Key)
			it.Outcome = rec.Outcome
			return s.update(ctx, s.ended(it, places), false)
		case rec.Outcome != nil, rec.Life != it.Life:
			s.endRefresh(p.Key)
			return nil
		case rec.Seq == shown, shown == 0 && len(rec.Votes) == 0 && rec.Escalated == nil:
			if s.refreshed(p.Key) {
				return nil
			}
			continue // a vote has come since
		}
		if err := s.edit(ctx, p, p.rank(), func(ctx context.Context) error { return v.Refresh(ctx, p, rec, places) }); err != nil {
			s.endRefresh(p.Key)
			return err
		}
		shown = rec.Seq
	}
}

// Redraw makes a post of this server show its ask as it is now, if the presenter is a [Refresher] and does not refresh it
// already, and reports whether the ask is still pending. Of the post's ask only the key is needed.
func (s *Server) Redraw(ctx context.Context, p Post, places []ask.Place) (pending bool, err error) {
	v, ok := s.p.(Refresher)
	if !ok || !s.beginRefresh(p.Key) {
		return true, nil
	}
	defer s.endRefresh(p.Key)
	for drawn := false; ; drawn = true {
		rec, err := s.r.Get(ctx, p.Ask.Key())
		switch {
		case errors.Is(err, ask.ErrNotFound), err == nil && rec.Life != p.Life:
			return false, nil
		case err != nil:
			return true, err
		case rec.Outcome != nil && drawn: // its update may have come before the edit
			return false, s.update(ctx, Ended{Post: p, Places: places, Outcome: *rec.Outcome}, false)
		case rec.Outcome != nil, drawn:
			return rec.Outcome == nil, nil
		}
		p.Ask = rec.Ask
		if err := s.edit(ctx, p, Rank{}, func(ctx context.Context) error { return v.Refresh(ctx, p, rec, places) }); err != nil {
			return true, err
		}
	}
}

// beginRefresh reports whether nobody refreshes a post; whoever does is told to read it again.
func (s *Server) beginRefresh(key string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, busy := s.refreshes[key]
	s.refreshes[key] = busy
	return !busy
}

// refreshed ends a refresh, and reports false if it has to read the post again.
func (s *Server) refreshed(key string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.refreshes[key] {
		s.refreshes[key] = false
		return false
	}
	delete(s.refreshes, key)
	return true
}

func (s *Server) endRefresh(key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.refreshes, key)
}
