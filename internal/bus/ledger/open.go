package ledger

import (
	"strconv"
	"strings"
	"time"

	"github.com/askbus/askbus/pkg/ask"
)

// formatOpen returns the open hours that have not ended by the next step, in Unix
// seconds: "1764576000-1764604800,1764662400-1764691200". The sweep reads them in
// the header, so that it leaves alone what was missed and is closed now: reading
// each such ask at every sweep of a night would cost more than these bytes.
func formatOpen(h *ask.OpenHours, step time.Time) string {
	var b []byte
	for i := range h.Spans {
		if s := &h.Spans[i]; s.To.After(step) {
			if len(b) > 0 {
				b = append(b, ',')
			}
			b = strconv.AppendInt(b, s.From.Unix(), 10)
			b = strconv.AppendInt(append(b, '-'), s.To.Unix(), 10)
		}
	}
	return string(b)
}

// parseOpen reads a header of [formatOpen]; nil: there is none.
func parseOpen(header string) *ask.OpenHours {
	if header == "" {
		return nil
	}
	h := &ask.OpenHours{}
	for part := range strings.SplitSeq(header, ",") {
		from, to, _ := strings.Cut(part, "-")
		begin, err := strconv.ParseInt(from, 10, 64)
		if err != nil {
			continue
		}
		end, err := strconv.ParseInt(to, 10, 64)
		if err != nil {
			continue
		}
		h.Spans = append(h.Spans, ask.Span{From: time.Unix(begin, 0).UTC(), To: time.Unix(end, 0).UTC()})
	}
	return h
}

// wait moves a step that was missed, and for which it is closed now, to the next
// opening.
func (q *dueQuestion) wait(now time.Time) {
	if q.open == nil || q.step.IsZero() {
		return
	}
	at, ok := q.open.Resume(q.step, now)
	if !ok || !at.Before(q.due) {
		at = time.Time{}
	}
	q.step = at
}
