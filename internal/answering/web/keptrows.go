package web

import (
	"maps"
	"time"

	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/board"
)

// rowStays is how long a row is used again: then the times and the rights of stand-ins in
// it are worked out again. Between the two, the page counts the times on.
const rowStays = 10 * time.Second

// source is what a row of one view is made from.
type source struct {
	seq                        uint64
	life, group, query, others string
	handed                     *board.Handover
	off                        time.Time
}

// keptRows are the rows of the last frame of a view. A busy bus changes one of 200 rows up to ten times a second, and
// making all of them was most of what an event cost.
type keptRows struct {
	rows  map[ask.Key]*keptRow
	round uint64 // the frame
}

type keptRow struct {
	entry entry
	from  source
	made  time.Time
	round uint64
}

// row returns the row of an ask, and makes it if it was made from something else, or too long ago. A nil receiver
// keeps nothing.
func (k *keptRows) row(key ask.Key, from source, now time.Time, create func() entry) entry {
	if k == nil {
		return create()
	}
	row := k.rows[key]
	if row == nil {
		row = &keptRow{}
		k.rows[key] = row
	}
	if age := now.Sub(row.made); row.from != from || age < 0 || age >= rowStays {
		row.entry, row.from, row.made = create(), from, now
	}
	row.round = k.round
	return row.entry
}

// sweep ends a frame of n rows, and forgets the rows that it does not have.
func (k *keptRows) sweep(n int) {
	if k == nil {
		return
	}
	if len(k.rows) > n {
		maps.DeleteFunc(k.rows, func(_ ask.Key, row *keptRow) bool { return row.round != k.round })
	}
	k.round++
}
