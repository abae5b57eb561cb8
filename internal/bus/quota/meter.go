package quota

import (
	"time"

	"github.com/askbus/askbus/pkg/ask"
)

// Use is what the ledger holds of a tenant or a session.
type Use struct {
	Pending  int   // questions
	Messages int   // of all kinds but receipts
	Mean     int64 // mean size of a message of the ledger, as an estimate
	Files    int64 // bytes of files
}

// meter counts the use of one tenant or session.
type meter struct {
	asks, requests bucket
	waits          int
	used           time.Time // last

	pending, messages int     // as measured, plus what passed here since
	bytes             float64 // estimated: exact for what passed here, less so as messages are removed
	measured          time.Time
	stored, ended     int // here, in total
	storedBytes       float64
	files, uploaded   float64 // bytes of files: as measured plus what passed here since; here, in total
	uploading         float64 // of these, bytes that are perhaps not in the ledger yet
	flying            int     // asks that are counted, but perhaps not in the ledger yet
	asked             bool    // to be measured
}

// EndOverhead is the size of an outcome without its question.
const EndOverhead = 1 << 10

// bucket is what is left of a rate.
type bucket struct {
	tokens   float64
	refilled time.Time
}

// take takes one of the rate; a bucket that rested has a burst of two seconds'
// worth, and at least ten.
func (b *bucket) take(rate float64, now time.Time) bool {
	if rate == 0 {
		return true
	}
	burst := max(10, 2*rate)
	if b.refilled.IsZero() {
		b.tokens = burst
	} else {
		b.tokens = min(burst, b.tokens+rate*max(0, now.Sub(b.refilled).Seconds()))
	}
	b.refilled = now
	if b.tokens < 1 {
		return false
	}
	b.tokens--
	return true
}

// need returns how much of the store a meter's messages need: their size, plus
// the same again for each pending one, whose outcome contains a copy.
func (m *meter) need() float64 {
	if m.messages == 0 {
		return m.bytes
	}
	return m.bytes + float64(m.pending)*(m.bytes/float64(m.messages)+EndOverhead)
}

func (m *meter) store(size int, by int) {
	m.pending += by
	m.messages += by
	m.bytes += float64(by * size)
	m.stored += by
	m.storedBytes += float64(by * size)
}

// learn adopts a measurement. It may contain what was stored and ended here
// since it began, so the pending ones that were counted here stay as they are
// as long as they fit it.
func (m *meter) learn(u Use, before *meter, now time.Time) {
	mean := float64(u.Mean)
	if before.messages > 0 && !before.measured.IsZero() {
		mean = before.bytes / float64(before.messages)
	}
	since := m.stored - before.stored + before.flying
	m.bytes = float64(u.Messages+before.flying)*mean + m.storedBytes - before.storedBytes
	m.messages = u.Messages + since
	m.pending = min(max(m.pending, u.Pending-(m.ended-before.ended)), u.Pending+since)
	m.files = float64(u.Files) + m.uploaded - before.uploaded + before.uploading
	m.measured, m.asked = now, false
}

// idle reports whether the meter can be forgotten.
func (m *meter) idle(now time.Time, most float64) bool {
	return m.waits == 0 && m.flying == 0 && m.uploading == 0 && !m.asked && now.Sub(m.used) > idleAfter && (most == 0 || m.bytes < most/10)
}

const idleAfter = 5 * time.Minute

// who names the owner of a meter.
func who(k ask.Key) string {
	if k.Session == "" {
		return "tenant " + k.Tenant
	}
	return "session " + k.Session + " of tenant " + k.Tenant
}
