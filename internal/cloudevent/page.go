package cloudevent

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"github.com/askbus/askbus/pkg/ask"
)

// A page may have 500 asks, so it is written and read without looking at their
// JSON more often than once.

// pageJSON is a page as it is read.
type pageJSON struct {
	Items []itemJSON `json:"items"`
	Next  string     `json:"next"`
}

type itemJSON struct {
	Tenant   string          `json:"tenant"`
	Session  string          `json:"session"`
	State    string          `json:"state"`
	AskedAt  *time.Time      `json:"asked_at"`
	Seq      uint64          `json:"seq"`
	Ask      askJSON         `json:"ask"`
	Outcome  json.RawMessage `json:"outcome"`
	Receipts []receiptJSON   `json:"receipts"`
}

// EncodePage is the reply to a list request. RawAsk and Outcome of the items
// are valid JSON.
func EncodePage(items []ListItem, next string) ([]byte, error) {
	size := 64
	for i := range items {
		size += len(items[i].RawAsk) + len(items[i].Outcome) + 512
	}
	b := append(make([]byte, 0, size), `{"items":[`...)
	for i := range items {
		if i > 0 {
			b = append(b, ',')
		}
		var err error
		if b, err = appendItem(b, &items[i]); err != nil {
			return nil, err
		}
	}
	b = append(b, ']')
	if next != "" {
		b = append(b, `,"next":`...)
		b = strconv.AppendQuote(b, next) // Base64
	}
	return append(b, '}'), nil
}

func appendItem(b []byte, it *ListItem) ([]byte, error) {
	r := &it.Record
	// Tokens and states need no escapes.
	b = append(b, `{"tenant":"`+r.Ask.Tenant+`","session":"`+r.Ask.Session+`","state":"`+string(r.State)+`"`...)
	b = appendTime(b, "asked_at", r.AskedAt)
	b = appendTime(b, "deadline", r.Ask.Deadline)
	if r.Seq != 0 {
		b = append(b, `,"seq":`...)
		b = strconv.AppendUint(b, r.Seq, 10)
	}
	raw, err := []byte(it.RawAsk), error(nil)
	if raw == nil {
		if raw, err = EncodeAsk(&r.Ask); err != nil {
			return nil, err
		}
	}
	b = append(append(b, `,"ask":`...), raw...)
	raw = it.Outcome
	if raw == nil && r.Outcome != nil {
		o := *r.Outcome
		o.Ask = nil // it stands beside
		if raw, err = EncodeOutcome(&o, nil); err != nil {
			return nil, err
		}
	}
	if raw != nil {
		b = append(append(b, `,"outcome":`...), raw...)
	}
	if len(r.Receipts) > 0 {
		receipts := make([]receiptJSON, len(r.Receipts))
		for i, rc := range r.Receipts {
			receipts[i] = wireReceipt(rc)
		}
		data, err := marshal(receipts)
		if err != nil {
			return nil, err
		}
		b = append(append(b, `,"receipts":`...), data...)
	}
	return append(b, '}'), nil
}

func appendTime(b []byte, name string, t time.Time) []byte {
	if t.IsZero() {
		return b
	}
	b = append(b, `,"`+name+`":"`...)
	b = t.UTC().AppendFormat(b, time.RFC3339Nano)
	return append(b, '"')
}

// NextPage is the cursor of the page after this one, seen without reading it.
// It is empty on the last one, and when it cannot be seen.
func NextPage(data []byte) string {
	const mark = `],"next":"`
	tail := data[max(0, len(data)-4096):]
	at := bytes.LastIndex(tail, []byte(mark))
	if at < 0 {
		return ""
	}
	next, ok := bytes.CutSuffix(tail[at+len(mark):], []byte(`"}`))
	if !ok || bytes.ContainsAny(next, "\"\\") {
		return ""
	}
	return string(next)
}

// DecodePage reads the reply to a list request.
func DecodePage(data []byte) ([]ask.Record, string, error) {
	var w pageJSON
	if err := unmarshal(data, &w); err != nil {
		return nil, "", fmt.Errorf("read page: %w", err)
	}
	records := make([]ask.Record, len(w.Items))
	for i := range w.Items {
		it := &w.Items[i]
		a := it.Ask.ask()
		a.Tenant, a.Session = it.Tenant, it.Session
		r := ask.Record{State: ask.State(it.State), Ask: a, Seq: it.Seq, AskedAt: when(it.AskedAt)}
		if len(it.Outcome) > 0 {
			o, err := DecodeOutcome(it.Outcome)
			if err != nil {
				return nil, "", err
			}
			if o.Ask == nil {
				o.Ask = &a
			}
			r.Outcome = &o
		}
		for j := range it.Receipts {
			r.Receipts = append(r.Receipts, it.Receipts[j].receipt())
		}
		records[i] = r
	}
	return records, w.Next, nil
}
