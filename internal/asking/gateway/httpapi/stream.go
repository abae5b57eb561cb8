package httpapi

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/askbus/askbus/internal/asking/gateway/access"
	"github.com/askbus/askbus/internal/protocol/wire"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/board"
)

// Bounds of a stream of server-sent events.
const (
	beatEvery   = 15 * time.Second       // a comment, so that nobody takes the silence for a dead connection
	lookEvery   = time.Minute            // a look at what no signal told of
	restBetween = 100 * time.Millisecond // between two looks
	writeWithin = 10 * time.Second       // for what one look found
	maxMark     = 1 << 10                // bytes of Last-Event-ID
	maxStreamed = 10_000                 // pending asks of one stream
)

// stream sends the asks of a session, or of all sessions that the token may see, as server-sent events:
// first what is pending, or with Last-Event-ID what came and ended since, and then every change. Its ids
// are marks of the ledger, so that any gateway resumes a stream of any other. It ends with its token, and
// when the gateway stops.
func (api *API) stream(w http.ResponseWriter, r *http.Request, c *access.Caller) error {
	q, err := query(c, r)
	if err != nil {
		return err
	}
	s := &stream{api: api, sse: sse{w: w}, c: c, tenant: q.Tenant, session: q.Session, mark: r.Header.Get("Last-Event-ID"), known: map[ask.Key]sent{}}
	if s.mark == "" { // for clients that cannot set the header
		s.mark = r.URL.Query().Get("last_event_id")
	}
	if len(s.mark) > maxMark {
		s.mark = ""
	}
	eventHeaders(w)
	if r.Method == http.MethodHead {
		return nil
	}
	changed, stop := api.board.Changes(board.Filter{Tenant: s.tenant, Session: s.session})
	defer stop()
	if err := s.check(r.Context()); err != nil && !s.begun { // before the status, so that its error is a problem
		if why := access.Ended(r.Context()); why != nil {
			return why
		}
		return err
	}
	s.run(r.Context(), changed)
	return nil
}

// stream is one open stream.
type stream struct {
	sse

	api             *API
	c               *access.Caller
	tenant, session string
	mark            string           // of the last look
	known           map[ask.Key]sent // the pending asks that were sent
}

func (s *stream) run(ctx context.Context, changed <-chan struct{}) {
	beat, look, rest := time.NewTicker(beatEvery), time.NewTicker(lookEvery), time.NewTimer(0)
	defer beat.Stop()
	defer look.Stop()
	defer rest.Stop()
	wanted, rested := false, false
	for {
		select {
		case <-ctx.Done():
			if why := access.Ended(ctx); why != nil {
				s.event("end", wire.EncodeProblem(why))
				_ = s.flush() // it may be gone
			}
			return
		case <-s.api.drain:
			s.out.WriteString("retry: 1000\n: this gateway is stopping; connect again\n\n")
			_ = s.flush() // it may be gone
			return
		case <-beat.C:
			if s.beat() != nil {
				return
			}
			continue
		case <-look.C:
			wanted = true
		case <-changed:
			wanted = true
		case <-rest.C:
			rested = true
		}
		if !wanted || !rested {
			continue
		}
		wanted, rested = false, false
		rest.Reset(restBetween)
		if err := s.check(ctx); err != nil {
			if errors.Is(err, errWrite) {
				return
			}
			wanted = ctx.Err() == nil // the bus is away: look again
			rest.Reset(time.Second)
		}
	}
}

// check sends what changed since the mark, and the next mark as the id of the event "synced".
func (s *stream) check(ctx context.Context) error {
	recs, mark, full, err := s.api.board.Since(ctx, s.tenant, s.session, s.mark, maxStreamed)
	if err != nil {
		return err
	}
	if full {
		s.event("reset", []byte("{}"))
		clear(s.known)
	}
	for i := range recs {
		if s.c.MaySee(recs[i].Ask.Tenant, recs[i].Ask.Session) {
			if err := s.send(ctx, &recs[i]); err != nil {
				s.out.Reset()
				return err
			}
		}
	}
	if s.begun && mark == s.mark && s.out.Len() == 0 {
		return nil
	}
	s.mark = mark
	fmt.Fprintf(&s.out, "id: %s\n", mark)
	s.event("synced", []byte("{}"))
	return s.flush()
}

// send adds an event about an ask.
func (s *stream) send(ctx context.Context, rec *ask.Record) error {
	k := rec.Ask.Key()
	if rec.State == ask.StatePending {
		before := s.known[k]
		if again := before.life == rec.Life && rec.Life != ""; again && !before.moves(rec) {
			return nil
		}
		whole, err := s.api.resp.Get(ctx, k)
		if errors.Is(err, ask.ErrNotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		if whole.State == ask.StatePending {
			body, err := wire.EncodeStatus(&wire.StatusReply{State: whole.State, Key: k, Deadline: whole.Ask.Deadline, AskedAt: whole.AskedAt, Life: whole.Life, Ask: &whole.Ask, Votes: whole.Votes, Escalated: whole.Escalated, Progress: whole.Waits("", time.Now())})
			if whole.Raw != nil { // of a newer broker: passed on as it is
				body, err = whole.Raw, nil
			}
			if err != nil {
				return err
			}
			s.known[k] = sent{whole.Life, whole.Seq}
			s.event("ask", body)
			return s.drained()
		}
		rec = &whole
	}
	delete(s.known, k)
	if rec.Outcome == nil {
		return nil
	}
	o := *rec.Outcome
	o.Ask = nil // it was in the event before
	body, err := wire.CarryOutcome(&o)
	if err != nil {
		return err
	}
	s.event("outcome", body)
	return s.drained()
}

// sent is what a stream has sent of a pending ask.
type sent struct {
	life string
	seq  uint64
}

// moves reports whether an ask may have changed since: it was voted on, or a step of its ladder was taken. The
// ask is then sent again, with its progress.
func (s sent) moves(rec *ask.Record) bool { return rec.Seq > s.seq && s.seq > 0 }

// drained sends what has gathered if it is much.
func (s *stream) drained() error {
	if s.out.Len() < 256<<10 {
		return nil
	}
	return s.flush()
}
