package board

import (
	"math"
	"strings"
	"sync"
	"time"

	"github.com/askbus/askbus/pkg/ask"
	"github.com/hashicorp/golang-lru/v2/simplelru"
)

const maxBodies = 16 << 20 // bytes of complete asks that a board keeps

// bodies caches the asks that were read last, up to a number of bytes. It is
// safe for concurrent use.
type bodies struct {
	most int

	mu   sync.Mutex
	size int
	all  *simplelru.LRU[ask.Key, body]
}

type body struct {
	rec  ask.Record
	read time.Time // zero: republished, without receipts
	size int
}

func newBodies(most int) *bodies {
	b := &bodies{most: most}
	b.all, _ = simplelru.NewLRU(math.MaxInt, func(_ ask.Key, old body) { b.size -= old.size }) // fails for sizes below 1 only
	return b
}

func (b *bodies) get(k ask.Key, life string) (rec ask.Record, read time.Time, ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	held, ok := b.all.Get(k)
	if !ok || held.rec.Life != life {
		return ask.Record{}, time.Time{}, false
	}
	return held.rec, held.read, true
}

func (b *bodies) put(rec ask.Record, read time.Time) {
	size := sizeOf(&rec)
	rec.Life = strings.Clone(rec.Life) // else it keeps its message's header
	b.mu.Lock()
	defer b.mu.Unlock()
	b.all.Remove(rec.Ask.Key())
	if size > b.most {
		return
	}
	b.all.Add(rec.Ask.Key(), body{rec, read, size})
	for b.size += size; b.size > b.most; {
		b.all.RemoveOldest()
	}
}

func (b *bodies) drop(k ask.Key) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.all.Remove(k)
}

// sizeOf estimates the memory of a record.
func sizeOf(rec *ask.Record) int {
	a := &rec.Ask
	n := 1024 + len(a.Title) + len(a.Context) + 256*len(rec.Receipts) + sizeOfStrings(a.Audience) + sizeOfStrings(a.Asker) +
		len(a.Agent.ID) + len(a.Agent.Name) + len(a.Agent.Parent) + len(a.Agent.Repository) + len(a.Agent.Branch) + len(a.Agent.Link)
	if a.Metadata != nil {
		n += sizeOfValue(a.Metadata)
	}
	for i := range a.Questions {
		q := &a.Questions[i]
		n += 512 + len(q.Text) + len(q.Header) + len(q.Placeholder)
		if q.Default != nil {
			n += sizeOfAnswer(q.Default)
		}
		for j := range q.Options {
			o := &q.Options[j]
			n += 128 + len(o.ID) + len(o.Label) + len(o.Description)
			if o.Preview != nil {
				n += len(o.Preview.Body)
			}
		}
	}
	for i := range rec.Votes {
		n += 512 + len(rec.Votes[i].Reason)
	}
	if e := rec.Escalated; e != nil {
		n += 512 * (len(e.Steps) + len(e.Seen))
	}
	if o := rec.Outcome; o != nil {
		n += 512 + len(o.Response) + len(o.Reason)
		for i := range o.Answers {
			n += sizeOfAnswer(&o.Answers[i])
		}
	}
	return n
}

func sizeOfAnswer(a *ask.Answer) int {
	return 256 + len(a.Other) + len(a.Text) + len(a.Notes) + sizeOfStrings(a.Selected)
}

func sizeOfStrings(list []string) (n int) {
	for _, s := range list {
		n += 16 + len(s)
	}
	return n
}

// sizeOfValue estimates the memory of a decoded JSON value.
func sizeOfValue(v any) int {
	n := 16
	switch v := v.(type) {
	case string:
		n += 16 + len(v)
	case []any:
		for i := range v {
			n += sizeOfValue(v[i])
		}
	case map[string]any:
		n += 256
		for key, value := range v {
			n += 48 + len(key) + sizeOfValue(value)
		}
	default: // a number, a boolean or null
		n += 16
	}
	return n
}
