package wire

import (
	"cmp"
	"encoding/json"
	"fmt"
	"time"

	"github.com/askbus/askbus/pkg/ask"
	"github.com/cloudevents/sdk-go/v2/event"
)

// What next can be asked for.
const (
	NextQuestion = "question"
	NextOutcome  = "outcome"

	maxNext  = 10
	maxDelay = time.Hour
)

// Next is a request for work.
type Next struct {
	Of   string   `json:"of"`
	Max  int      `json:"max,omitempty"`
	Wait Duration `json:"wait,omitempty"`
}

// DecodeNext reads a request for work, strictly. Max is 1 when left out.
func DecodeNext(data []byte) (Next, error) {
	return decode("next", data, func(n *Next) (f []ask.Fault) {
		if n.Of != NextQuestion && n.Of != NextOutcome {
			f = append(f, ask.NewFault("/of", ask.FaultNotOneOf, clip(n.Of), []string{NextQuestion, NextOutcome}))
		}
		n.Max = cmp.Or(n.Max, 1)
		if n.Max < 1 || n.Max > maxNext {
			f = append(f, ask.NewFault("/max", ask.FaultOutOfRange, n.Max, 1, maxNext))
		}
		if n.Wait < 0 {
			f = append(f, ask.NewFault("/wait", ask.FaultNegative, time.Duration(n.Wait)))
		}
		return f
	})
}

// NextItem is one piece of work.
type NextItem struct {
	Token   string       `json:"token"`
	Life    string       `json:"life"` // of the ask; receipts name it
	Event   event.Event  `json:"event"`
	Receipt *ask.Receipt `json:"receipt,omitempty"`
	At      time.Time    `json:"at,omitzero"` // now, by the ledger's clock, like the receipt's time
}

type nextItemsJSON struct {
	Items []NextItem `json:"items"`
	Lease Duration   `json:"lease,omitempty"`
}

// EncodeNext returns the reply to a request for work. The lease is how long the
// items stay with the caller, unless they are extended.
func EncodeNext(items []NextItem, lease time.Duration) ([]byte, error) {
	return Marshal(nextItemsJSON{items, Duration(lease)})
}

// DecodeNextItems reads the reply to a request for work.
func DecodeNextItems(data []byte) ([]NextItem, time.Duration, error) {
	var w nextItemsJSON
	if err := json.Unmarshal(data, &w); err != nil {
		return nil, 0, fmt.Errorf("read work: %w", err)
	}
	return w.Items, time.Duration(w.Lease), nil
}

type settleJSON struct {
	Token string   `json:"token"`
	Delay Duration `json:"delay,omitempty"`
}

// EncodeSettle returns the body of done, extend and later.
func EncodeSettle(token string, delay time.Duration) ([]byte, error) {
	return Marshal(settleJSON{token, Duration(delay)})
}

// DecodeSettle reads the body of done, extend and later, strictly.
func DecodeSettle(what string, data []byte) (token string, delay time.Duration, err error) {
	w, err := decode(what, data, func(w *settleJSON) (f []ask.Fault) {
		if w.Token == "" {
			f = append(f, ask.NewFault("/token", ask.FaultMissing, "token_of_next"))
		}
		if d := time.Duration(w.Delay); d < 0 || d > maxDelay {
			f = append(f, ask.NewFault("/delay", ask.FaultOutOfRange, d, "0s", maxDelay))
		}
		return f
	})
	return w.Token, time.Duration(w.Delay), err
}
