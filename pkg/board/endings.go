package board

import (
	"iter"
	"slices"

	"github.com/askbus/askbus/pkg/ask"
)

// maxEndedBytes bounds the ended asks of a board together.
const maxEndedBytes = 16 << 20

// endings are the asks that ended recently: at most most of them, and at most
// maxEndedBytes.
type endings struct {
	most int

	all  []endedAsk // oldest first
	size int        // of all, in bytes
}

type endedAsk struct {
	rec  ask.Record
	size int
}

func (e *endings) add(rec ask.Record) {
	size := sizeOf(&rec)
	if size > maxEndedBytes {
		return
	}
	e.all = append(e.all, endedAsk{rec, size})
	e.size += size
	n := 0
	for ; len(e.all)-n > e.most || e.size > maxEndedBytes; n++ {
		e.size -= e.all[n].size
		e.all[n] = endedAsk{}
	}
	e.all = e.all[n:] // append moves them once in as many calls
}

// drop forgets an ask that was asked again.
func (e *endings) drop(k ask.Key) {
	e.all = slices.DeleteFunc(e.all, func(a endedAsk) bool {
		if a.rec.Ask.Key() != k {
			return false
		}
		e.size -= a.size
		return true
	})
}

// newest returns them, newest first.
func (e *endings) newest() iter.Seq[ask.Record] {
	return func(yield func(ask.Record) bool) {
		for i := range slices.Backward(e.all) {
			if !yield(e.all[i].rec) {
				return
			}
		}
	}
}
