package client

import (
	"context"
	"fmt"
	"iter"

	"github.com/askbus/askbus/internal/bus/connection"
	"github.com/askbus/askbus/internal/protocol/subject"
	"github.com/askbus/askbus/internal/protocol/wire"
	"github.com/askbus/askbus/pkg/ask"
)

// Query selects asks of a session.
type Query struct {
	State    ask.State // empty: both
	Question string    // only asks with a question of this id or exact text
	PageSize int       // 1 to 500; default 100
	Cursor   string    // where to start: [Page.Next] of the previous page; empty: at the beginning
}

// Page is one page of asks. Next is the cursor of the next page, empty on the
// last. A page that is not the last may still hold fewer asks than the page
// size.
type Page struct {
	Items []ask.Record
	Next  string
}

// Page reads one page of the session's asks. In addition to the errors of any
// method (see [Session]) it returns [ask.ErrInvalid] for a page size out of
// range, an unknown state, or a cursor from a different query.
func (s Session) Page(ctx context.Context, q Query) (Page, error) {
	data, err := s.page(ctx, q)
	if err != nil {
		return Page{}, err
	}
	items, next, err := wire.DecodePage(data)
	if err != nil {
		return Page{}, fmt.Errorf("list: %w", err)
	}
	return Page{items, next}, nil
}

// All iterates over the asks that a query selects, page by page, from its
// cursor on. It fetches the next page while the current one is read. The first
// error ends the iteration; the errors are those of Page.
func (s Session) All(ctx context.Context, q Query) iter.Seq2[ask.Record, error] {
	return connection.Pages(ctx, q.Cursor, func(ctx context.Context, cursor string) ([]byte, error) {
		at := q
		at.Cursor = cursor
		return s.page(ctx, at)
	})
}

// page returns one page as the broker encoded it.
func (s Session) page(ctx context.Context, q Query) ([]byte, error) {
	if err := s.valid(); err != nil {
		return nil, err
	}
	if err := s.c.turn(ctx); err != nil {
		return nil, fmt.Errorf("list: %w", err)
	}
	data, err := connection.Page(ctx, s.c.on, subject.Agent(s.at.Key(""), subject.VerbList),
		wire.Query{State: string(q.State), Question: q.Question, Limit: q.PageSize, Cursor: q.Cursor})
	s.c.done(err)
	return data, err
}
