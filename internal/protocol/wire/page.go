package wire

import (
	"bytes"
	"fmt"
	"strconv"
	"time"

	"github.com/askbus/askbus/pkg/ask"
	jsonv1 "github.com/go-json-experiment/json/v1"
)

// A page may have 500 asks whose JSON already exists. It is assembled by hand
// because encoders read every byte again: json.Marshal of the same page took
// four to ten times as long, and go-json-experiment as well
// (BenchmarkEncodePage), which matters for a list of 100,000 asks.

// EncodePage returns the reply to a list request. RawAsk and Outcome of the
// items must be valid JSON.
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
	if r.Raw != nil { // a page of a broker that is passed on
		return append(b, r.Raw...), nil
	}
	// Tokens and states need no escapes.
	b = append(b, `{"tenant":"`+r.Ask.Tenant+`","session":"`+r.Ask.Session+`","state":"`+string(r.State)+`"`...)
	b = appendTime(b, "asked_at", r.AskedAt)
	b = appendTime(b, "deadline", r.Ask.Deadline)
	if r.Life != "" {
		b = append(b, `,"life":"`+r.Life+`"`...)
	}
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
		o.Ask = nil // the item has it
		if raw, err = EncodeOutcome(&o, nil); err != nil {
			return nil, err
		}
	}
	if raw != nil {
		b = append(append(b, `,"outcome":`...), raw...)
	}
	if len(r.Receipts) > 0 {
		b, err = appendMember(b, "receipts", r.Receipts)
	}
	if err == nil && len(r.Votes) > 0 {
		b, err = appendMember(b, "votes", r.Votes)
	}
	if err == nil && r.Escalated != nil {
		b, err = appendMember(b, "escalated", r.Escalated)
	}
	return append(b, '}'), err
}

func appendMember(b []byte, name string, value any) ([]byte, error) {
	raw, err := Marshal(value)
	return append(append(b, `,"`+name+`":`...), raw...), err
}

func appendTime(b []byte, name string, t time.Time) []byte {
	if t.IsZero() {
		return b
	}
	b = append(b, `,"`+name+`":"`...)
	b = t.UTC().AppendFormat(b, time.RFC3339Nano)
	return append(b, '"')
}

// NextPage extracts the cursor of the next page without decoding the page. It
// is empty on the last page, and if the cursor is not where expected.
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
func DecodePage(data []byte) (items []ask.Record, next string, err error) {
	var w struct {
		Items []ask.Record `json:"items"`
		Next  string       `json:"next"`
	}
	if err := jsonv1.Unmarshal(data, &w); err != nil {
		return nil, "", fmt.Errorf("read page: %w", err)
	}
	return w.Items, w.Next, nil
}
