package ledger

import (
	"context"
	"encoding/base64"
	"errors"
	"log/slog"
	"slices"
	"strconv"
	"strings"

	"github.com/askbus/askbus/internal/protocol/cloudevent"
	"github.com/askbus/askbus/internal/protocol/subject"
	"github.com/askbus/askbus/internal/protocol/wire"
	"github.com/askbus/askbus/pkg/ask"
	"golang.org/x/sync/errgroup"
)

// scanned bounds the messages that one page reads, so that a rare question
// among many cannot block a request: such a page may be short, or empty with a
// cursor.
const scanned = 4 * wire.MaxPage

// pageBytes bounds the size of a page's items, except for the first one: a
// reply must stay below the server's max_payload, 1 MiB by default.
const pageBytes = 512 << 10

// pageRead bounds the bytes that a page reads, over all partitions, because it
// keeps what it has read until it ends. A page of the heads of large asks is
// short.
const pageRead = 4 << 20

// List reads one page: the items in the order in which they were asked (or
// ended, for resolved ones), and the cursor of the next page, empty at the end.
// The cursor is a stream position per partition, so every page is as fast as
// the first.
func (l *Ledger) List(ctx context.Context, q wire.Query) ([]wire.ListItem, string, error) {
	at, err := l.parseCursor(q.Cursor)
	if err != nil {
		return nil, "", err
	}
	return l.list(ctx, q, at)
}

// list reads the page that begins at these positions.
func (l *Ledger) list(ctx context.Context, q wire.Query, at []uint64) ([]wire.ListItem, string, error) {
	lanes := make([]*lane, 0, l.n)
	for p := range l.n {
		if q.Tenant != "" && q.Session != "" && subject.Partition(q.Tenant, q.Session, l.n) != p || at[p] == done {
			at[p] = done
			continue
		}
		lanes = append(lanes, &lane{p: p, filter: subject.LedgerAll(p, subject.Key{Tenant: q.Tenant, Session: q.Session, ID: q.ID}, kind(q.State)), next: at[p], paging: q.Cursor != ""})
	}
	// Each partition contributes its share; a page ends early if the order of
	// the next item is unknown.
	share := q.Limit/max(1, len(lanes)) + 1
	share = min(share+share/4, q.Limit)
	most := max(pageBytes, pageRead/max(1, len(lanes)))
	g, gctx := errgroup.WithContext(ctx)
	for _, ln := range lanes {
		g.Go(func() error {
			if err := l.fill(gctx, ln, q, share, most); err != nil {
				return err
			}
			return l.confirmLeader(gctx, ln.p)
		})
	}
	if err := g.Wait(); err != nil {
		return nil, "", err
	}
	items := merge(lanes, q.Limit)
	for _, ln := range lanes {
		at[ln.p] = ln.next
	}
	out, err := l.finish(ctx, items, q.Heads)
	if err != nil {
		return nil, "", err
	}
	ahead := 0 // none before the caller asks for a second page
	if q.Cursor != "" {
		ahead = share
	}
	for _, ln := range lanes {
		if ln.reader != nil && ln.next != done {
			l.readers.keep(ctx, ln.reader, ln.next, ahead)
		}
	}
	return out, formatCursor(at), nil
}

func kind(state string) string {
	switch ask.State(state) {
	case ask.StatePending:
		return subject.Question
	case ask.StateResolved:
		return subject.Outcome
	}
	return "*"
}

// lane is one partition's part of a page.
type lane struct {
	p      int
	filter string
	paging bool   // this is not the first page
	next   uint64 // where the next page continues; done at the end
	found  []found
	bytes  int     // of the found items
	reader *reader // if set, positioned after the last found message
}

type found struct {
	wire.ListItem
	msg  message
	size int // on a page
}

// fill reads matching messages until it has want items or a page's worth of
// bytes, has read scanned messages or most bytes, or there are no more.
func (l *Ledger) fill(ctx context.Context, ln *lane, q wire.Query, want, most int) error {
	read := 0 // bytes
	for looked := 0; len(ln.found) < want && ln.bytes < pageBytes && read < most; {
		batch, end, err := l.read(ctx, ln, want-len(ln.found), pageBytes-ln.bytes)
		if err != nil {
			return err
		}
		for _, m := range batch {
			ln.next = m.Seq + 1
			read += len(m.Data)
			item, ok, err := l.item(ctx, m, q.Question != "")
			if err != nil {
				return err
			}
			if ok && asks(&item.Record.Ask, q.Question) {
				size := len(m.Data)
				if q.Heads {
					if item.RawAsk, err = wire.Head(item.RawAsk); err != nil {
						l.unreadable(ctx, item.Record.Ask.Key(), err)
						continue
					}
					size = len(item.RawAsk) + len(item.Outcome)
				}
				ln.found = append(ln.found, found{item, m, size})
				ln.bytes += size
			}
		}
		if end {
			ln.next = done
			return nil
		}
		if looked += len(batch); looked >= scanned {
			return nil
		}
	}
	return nil
}

// item decodes a stored message into a list item. ok is false if the message
// does not count: a late expiry after an outcome, or an unreadable one. Unless questions are wanted,
// a pending ask's record holds only what a page needs in addition to the ask's
// JSON.
func (l *Ledger) item(ctx context.Context, m message, questions bool) (wire.ListItem, bool, error) {
	k, kind, _, ok := subject.ParseLedger(m.Subject)
	if !ok {
		return wire.ListItem{}, false, nil
	}
	e, err := cloudevent.Open(m.Msg, k)
	if err != nil {
		l.unreadable(ctx, k, err)
		return wire.ListItem{}, false, nil
	}
	if kind == subject.Question {
		r := ask.Record{State: ask.StatePending, AskedAt: e.At, Life: e.Life, Seq: m.Seq}
		r.Votes, r.Escalated = e.Progress()
		r.Ask = ask.Ask{ID: k.ID, Tenant: k.Tenant, Session: k.Session, Deadline: e.Deadline}
		if questions || e.Deadline.IsZero() {
			q, err := e.Asked()
			if err != nil {
				l.unreadable(ctx, k, err)
				return wire.ListItem{}, false, nil
			}
			r.Ask = *q.Ask
		}
		return wire.ListItem{Record: r, RawAsk: e.Ask}, true, nil
	}
	s, err := e.Ended()
	if err != nil {
		l.unreadable(ctx, k, err)
		return wire.ListItem{}, false, nil
	}
	if s.Timed { // it may be late
		first, err := l.first(ctx, subject.Stream(subject.Partition(k.Tenant, k.Session, l.n)), m.Subject, 1)
		if err != nil && !errors.Is(err, errNone) {
			return wire.ListItem{}, false, err
		}
		if err == nil && first.Seq != m.Seq {
			return wire.ListItem{}, false, nil
		}
	}
	r := ask.Record{State: ask.StateResolved, Ask: *s.Ask, AskedAt: s.AskedAt, Life: s.Life, Outcome: s.End}
	return wire.ListItem{Record: r, RawAsk: cloudevent.AskJSON(&s)}, true, nil
}

// unreadable logs an entry that this version cannot read: a page must not fail
// because of one entry from a newer version.
func (l *Ledger) unreadable(ctx context.Context, k ask.Key, err error) {
	l.opts.Logger.WarnContext(ctx, "left an unreadable entry out of a list", slog.String("ask_id", k.ID), slog.Any("error", err))
}

func asks(a *ask.Ask, question string) bool {
	return question == "" || slices.ContainsFunc(a.Questions, func(q ask.Question) bool { return q.ID == question || q.Text == question })
}

// merge takes at most limit items, and pageBytes, in the order of storing. A
// lane's cursor does not pass items that were not taken.
func merge(lanes []*lane, limit int) []found {
	var out []found
	bytes := 0
	taken := make([]int, len(lanes))
	for len(out) < limit {
		best := -1
		blind := false // a lane has more items that have not been read
		for i, ln := range lanes {
			switch {
			case taken[i] < len(ln.found):
				if best < 0 || ln.found[taken[i]].msg.Time.Before(lanes[best].found[taken[best]].msg.Time) {
					best = i
				}
			case ln.next != done:
				blind = true
			}
		}
		if best < 0 || blind {
			break
		}
		item := lanes[best].found[taken[best]]
		if bytes += item.size; bytes > pageBytes && len(out) > 0 {
			break
		}
		out = append(out, item)
		taken[best]++
	}
	for i, ln := range lanes {
		left := ln.found[taken[i]:]
		if len(left) == 0 {
			continue
		}
		ln.next = left[0].msg.Seq
		if ln.reader != nil {
			ln.reader.putBack(left)
		}
	}
	return out
}

// done is the position of a finished partition.
const done = ^uint64(0)

// parseCursor parses a cursor: a position per partition.
func (l *Ledger) parseCursor(s string) ([]uint64, error) {
	at := make([]uint64, l.n)
	if s == "" {
		return at, nil
	}
	bad := ask.InvalidError("list", []ask.Fault{ask.NewFault("/cursor", ask.FaultBadCursor)})
	raw, err := base64.RawURLEncoding.DecodeString(s)
	if err != nil || len(raw) > 32*MaxPartitions {
		return nil, bad
	}
	parts := strings.Split(string(raw), ".")
	if len(parts) != l.n {
		return nil, bad
	}
	for i, part := range parts {
		if part == "-" {
			at[i] = done
			continue
		}
		if at[i], err = strconv.ParseUint(part, 36, 64); err != nil {
			return nil, bad
		}
	}
	return at, nil
}

func formatCursor(at []uint64) string {
	parts, more := make([]string, len(at)), false
	for i, seq := range at {
		if parts[i] = "-"; seq != done {
			parts[i], more = strconv.FormatUint(seq, 36), true
		}
	}
	if !more {
		return ""
	}
	return base64.RawURLEncoding.EncodeToString([]byte(strings.Join(parts, ".")))
}
