package responder

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"time"

	"github.com/askbus/askbus/pkg/ask"
)

// present posts an ask, unless it was already posted or has ended.
func (s *Server) present(ctx context.Context, it Item) error {
	p := s.post(it)
	s.r.keys.Add(p.Key, it.Key)
	p.Steps = s.owed(&it)
	done := func() bool { return it.Receipt != nil && it.Receipt.State != ask.ReceiptPosting } // posted, or given up
	if done() && len(p.Steps) == 0 {
		if err := s.open(ctx, it, p, it.Receipt.Places); err != nil {
			return err
		}
		return s.remind(ctx, it, p)
	}
	if !s.beginPost(p.Key) {
		return &LaterError{After: retryWork, Err: errPosting}
	}
	defer s.endPost(p.Key)
	if it.rewritten() { // the work for a vote or a step: that for the ask may be posting it, here or elsewhere
		if it.Receipt == nil {
			if err := s.readReceipt(ctx, &it); err != nil {
				return &LaterError{After: retryWork, Err: err}
			}
		}
		if done() {
			return s.told(ctx, it, p, it.Receipt.Places)
		}
		if it.Receipt != nil && it.At.Sub(it.Receipt.At) < posting {
			return &LaterError{After: retryWork, Err: errPosting}
		}
	}
	if it.Receipt != nil {
		p.Tried = it.Receipt.Places
	}
	if not, err := s.elsewhere(&it); not || err != nil {
		return err
	}
	if c, ok := s.p.(Chooser); ok && it.Receipt == nil && !c.Wants(p) {
		return nil
	}
	if d, ok := s.p.(Delayer); ok && it.Receipt == nil {
		if left := d.Delay(p); left > 0 {
			return &LaterError{After: left}
		}
	}
	places, _ := s.posted.Get(p.Key)
	if it.Receipt != nil && places == nil {
		var err error
		if places, err = s.find(ctx, p); err != nil {
			return err
		}
	}
	if places == nil {
		var err error
		if places, err = s.postOnce(ctx, it, p); err != nil {
			if permanent, ok := errors.AsType[*PermanentError](err); ok {
				_, _ = s.receipt(ctx, it, ask.ReceiptFailed, p.Key, nil) // the error that matters is logged
				return permanent
			}
			if errors.Is(err, errEnded) {
				return nil
			}
			return err
		}
		s.posted.Add(p.Key, places)
	}
	ended, err := s.receipt(ctx, it, ask.ReceiptPosted, p.Key, places)
	switch {
	case errors.Is(err, errEnded): // unknown by now, so there is no outcome to show
		s.posted.Remove(p.Key)
		return nil
	case err != nil:
		return &LaterError{After: retryWork, Err: err}
	case ended:
		// The work for its outcome may have come before the receipt: the post
		// must not stay open.
		return s.endedMeanwhile(ctx, it, p, places)
	}
	s.posted.Remove(p.Key)
	if err := s.told(ctx, it, p, places); err != nil {
		return err
	}
	return s.reminds(&it, places)
}

// told tells of the steps that are owed, and opens recorded posts.
func (s *Server) told(ctx context.Context, it Item, p Post, places []ask.Place) error {
	if it.Receipt == nil || it.Receipt.State != ask.ReceiptFailed {
		var err error
		if places, err = s.escalate(ctx, &it, p, places); err != nil {
			return err
		}
	}
	return s.open(ctx, it, p, places)
}

var errPosting = errors.New("it is being posted")

// readReceipt fills the receipt of an item that was handed out without one.
func (s *Server) readReceipt(ctx context.Context, it *Item) error {
	rec, err := s.r.Get(ctx, it.Key)
	if err != nil {
		return err
	}
	for i := range rec.Receipts {
		if r := &rec.Receipts[i]; r.Type == s.r.typ && r.Life == it.Life {
			it.Receipt = r
		}
	}
	return nil
}

// open makes recorded posts answerable, and updates them if the ask has ended: an update of another
// replica may have come before.
func (s *Server) open(ctx context.Context, it Item, p Post, places []ask.Place) error {
	o, ok := s.p.(Opener)
	if _, draws := s.p.(Refresher); !ok || len(places) == 0 || draws && it.rewritten() {
		return s.refresh(ctx, it, p, places)
	}
	err := s.try(ctx, s.route(p), p.rank(), func(ctx context.Context) error { return o.Open(ctx, p, places) })
	if permanent, ok := errors.AsType[*PermanentError](err); ok {
		return permanent
	}
	if err != nil {
		return err
	}
	if err := s.endedMeanwhile(ctx, it, p, places); err != nil {
		return err
	}
	return s.refresh(ctx, it, p, places)
}

// postOnce posts an ask. Before each try it records the intent, and learns whether
// the ask is still open. After a try that may have posted before it failed, such
// as one that timed out, it searches for the post first.
func (s *Server) postOnce(ctx context.Context, it Item, p Post) (places []ask.Place, err error) {
	unsure, routes := false, s.route(p)
	trying := tried(p.Tried, routes)
	err = s.try(ctx, routes, p.rank(), func(ctx context.Context) error {
		ended, err := s.receipt(ctx, it, ask.ReceiptPosting, p.Key, trying)
		switch {
		case errors.Is(err, errEnded) || ended:
			return errEnded
		case err != nil:
			return &LaterError{After: retryWork, Err: err}
		case it.lease.over(): // also after the process was stopped for a while
			return &LaterError{Err: ErrLeaseLost}
		}
		if unsure {
			p.Tried = trying
			if places, err = s.p.Find(ctx, p); err != nil || len(places) > 0 {
				return err
			}
		}
		places, err = s.p.Present(leased{ctx, it.lease}, p) //nolint:contextcheck // it is ctx
		_, refused := errors.AsType[*RetryError](err)
		unsure = err != nil && !refused
		return err
	})
	if err == nil && places == nil {
		places = []ask.Place{}
	}
	return places, err
}

// tried adds routes to the places of earlier tries. The receipt names them
// before each post: a routing that changes meanwhile must not hide a post.
func tried(before []ask.Place, routes []string) []ask.Place {
	all := slices.Clone(before)
	for _, r := range routes {
		at := ask.Place{Ref: r}
		if r != "" && len(all) < ask.MaxPlaces && !slices.Contains(all, at) {
			all = append(all, at)
		}
	}
	return all
}

// endedMeanwhile updates a post whose ask ended during posting.
func (s *Server) endedMeanwhile(ctx context.Context, it Item, p Post, places []ask.Place) error {
	rec, err := s.r.Get(ctx, it.Key)
	if err != nil && !errors.Is(err, ask.ErrNotFound) {
		return &LaterError{After: retryWork, Err: err}
	}
	if rec.Outcome != nil && rec.Life == it.Life {
		it.Outcome = rec.Outcome
		if err := s.update(ctx, s.ended(it, places), false); err != nil {
			return err
		}
	}
	s.posted.Remove(p.Key)
	return nil
}

// retract updates the posts of an ended ask.
func (s *Server) retract(ctx context.Context, it Item) error {
	if it.Receipt == nil || it.Receipt.State == ask.ReceiptFailed {
		return nil // never posted; a replica that is about to post learns of the end from its receipt
	}
	p := s.post(it)
	places := it.Receipt.Places
	if it.Receipt.State == ask.ReceiptPosting {
		p.Tried = places
		if places, _ = s.posted.Get(p.Key); places == nil {
			var err error
			if places, err = s.find(ctx, p); err != nil {
				return err
			}
		}
		if len(places) == 0 {
			if it.At.Sub(it.Receipt.At) > posting {
				return nil // the replica that was about to post has died
			}
			return &LaterError{After: retryWork, Err: errPosting}
		}
		if _, err := s.receipt(ctx, it, ask.ReceiptPosted, p.Key, places); err != nil && !errors.Is(err, errEnded) {
			return &LaterError{After: retryWork, Err: err}
		}
	}
	if len(places) > 0 {
		if err := s.update(ctx, s.ended(it, places), false); err != nil {
			return err
		}
	}
	return s.tellAlone(ctx, it, places)
}

// posting is how long a post may take before its replica counts as dead. A live
// replica notices by itself that the ask has ended. The ledger's clock measures
// it, not this machine's.
const posting = 2 * time.Minute

// find searches for posts by key.
func (s *Server) find(ctx context.Context, p Post) (places []ask.Place, err error) {
	err = s.try(ctx, s.route(p), p.rank(), func(ctx context.Context) error {
		places, err = s.p.Find(ctx, p)
		return err
	})
	if len(places) == 0 {
		places = nil
	}
	return places, err
}

// update makes posts show how an ask ended.
func (s *Server) update(ctx context.Context, e Ended, clicked bool) error {
	return s.edit(ctx, e.Post, Rank{Urgent: clicked, At: e.Outcome.At}, func(ctx context.Context) error { return s.p.Update(ctx, e) })
}

func (s *Server) edit(ctx context.Context, p Post, r Rank, call func(context.Context) error) error {
	return s.try(ctx, s.route(p), r, call)
}

func (p Post) rank() Rank {
	return Rank{Urgent: p.Ask.Priority == ask.PriorityUrgent, At: p.AskedAt}
}

func (s *Server) route(p Post) []string {
	if r, ok := s.p.(Router); ok {
		return r.Route(p)
	}
	return []string{""}
}

// Bounds of retries.
const (
	firstPause = time.Second
	maxPause   = time.Minute
	inHand     = 30 * time.Second // an item whose place refuses for longer is put back
)

// try calls the foreign service when it is the item's turn at its places, and
// again while the service is down. The item stays in hand, so a service that is
// down gets at most as many calls as there are items in hand. An item that
// fails while others succeed is put off.
func (s *Server) try(ctx context.Context, places []string, r Rank, call func(context.Context) error) error {
	wait, cancel := s.whileServing(ctx)
	defer cancel()
	began := s.opts.Clock.Now()
	for n := 0; ; n++ {
		if err := s.turns(wait, places, r); err != nil {
			return &LaterError{Err: err} // this replica is stopping; another continues
		}
		up := s.othersWork(began)
		one, done := context.WithTimeout(ctx, s.opts.CallLimit)
		err := call(one)
		done()
		if err == nil || errors.Is(err, errEnded) {
			s.went(nil)
			return err
		}
		if later, ok := errors.AsType[*LaterError](err); ok {
			return later
		}
		if permanent, ok := errors.AsType[*PermanentError](err); ok {
			s.went(nil) // the service is up
			return permanent
		}
		s.went(err)
		s.r.opts.Logger.WarnContext(ctx, "the foreign service failed; trying again", slog.Int("attempt", n+1), slog.Any("error", err))
		if retry, ok := errors.AsType[*RetryError](err); ok {
			if s.opts.Limiter == nil {
				s.limiter.Pause("", retry.Place, retry.After)
			}
			if retry.Place != "" && retry.After > inHand {
				return &LaterError{After: retry.After, Err: err}
			}
			continue
		}
		pause := min(firstPause<<min(n, 6), maxPause)
		if n >= 3 && up { // before this call: one that failed at the end of an outage is repeated soon
			return &LaterError{After: 2 * pause, Err: err}
		}
		if s.opts.Clock.Sleep(wait, pause) != nil {
			return &LaterError{Err: err}
		}
	}
}

// whileServing returns a context that ends when Run is told to stop, because
// waiting for a foreign service ends then.
func (s *Server) whileServing(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	stop := context.AfterFunc(s.stopping, cancel)
	return ctx, func() { stop(); cancel() }
}

// turns waits for the turn at each place, unless the presenter does.
func (s *Server) turns(ctx context.Context, places []string, r Rank) error {
	if s.opts.Limiter != nil {
		return ctx.Err()
	}
	for _, place := range places {
		if err := s.limiter.Wait(ctx, "", place, r); err != nil {
			return err
		}
	}
	return nil
}

// went records the result of a call of the foreign service.
func (s *Server) went(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.opts.Clock.Now()
	if err == nil {
		s.worked, s.failing = now, Health{}
		return
	}
	if s.failing.Failing == 0 {
		s.failing.Since = now
	}
	s.failing.Failing++
	s.failing.Err = err
}

// othersWork reports whether a call has succeeded since then.
func (s *Server) othersWork(since time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.worked.After(since)
}
