package wire

import (
	"cmp"
	"encoding/json"
	"time"

	"github.com/askbus/askbus/pkg/ask"
)

// maxChanges is the maximum number of entries of one page of a bucket.
const maxChanges = 200

// StatePut is a request to write an entry of shared state.
type StatePut struct {
	Value    json.RawMessage `json:"value,omitempty"`    // a JSON object
	Revision *uint64         `json:"revision,omitempty"` // compare-and-set: the expected revision, 0: none; nil: any
	TTL      Duration        `json:"ttl,omitzero"`       // 0: until it is deleted
	ID       string          `json:"id,omitempty"`       // of this write: the same id means the same write
}

// DecodeStatePut reads the body of put, strictly.
func DecodeStatePut(data []byte) (StatePut, error) {
	return decode("put", data, func(p *StatePut) (f []ask.Fault) {
		if len(p.Value) == 0 || p.Value[0] != '{' {
			f = append(f, ask.NewFault("/value", ask.FaultNotObject))
		}
		if p.TTL != 0 && time.Duration(p.TTL) < time.Second {
			f = append(f, ask.NewFault("/ttl", ask.FaultTooLow, time.Duration(p.TTL), "1s"))
		}
		return append(f, writeID(p.ID)...)
	})
}

func writeID(id string) []ask.Fault {
	if id != "" && !ask.ValidToken(id) {
		return []ask.Fault{ask.NewFault("/id", ask.FaultBadToken, clip(id), ask.MaxToken)}
	}
	return nil
}

// StateDelete is a request to delete an entry.
type StateDelete struct {
	Revision *uint64 `json:"revision,omitempty"` // as in [StatePut]
	ID       string  `json:"id,omitempty"`       // as in [StatePut]
}

// DecodeStateDelete reads the body of delete, strictly; it may be empty.
func DecodeStateDelete(data []byte) (StateDelete, error) {
	return decode("delete", optional(data), func(d *StateDelete) []ask.Fault { return writeID(d.ID) })
}

// StateList is a request for the changes of a bucket after a revision; 0 means
// every entry.
type StateList struct {
	After uint64 `json:"after,omitempty"`
	Limit int    `json:"limit,omitempty"`
}

// DecodeStateList reads the body of list, strictly; it may be empty.
func DecodeStateList(data []byte) (StateList, error) {
	return decode("list", optional(data), func(l *StateList) []ask.Fault {
		l.Limit = cmp.Or(l.Limit, maxChanges)
		if l.Limit < 1 || l.Limit > maxChanges {
			return []ask.Fault{ask.NewFault("/limit", ask.FaultOutOfRange, l.Limit, 1, maxChanges)}
		}
		return nil
	})
}

// StateEntry is one entry of shared state, or its deletion.
type StateEntry struct {
	Tenant   string          `json:"tenant,omitempty"` // empty: of no tenant
	Key      string          `json:"key"`
	Revision uint64          `json:"revision"`
	Value    json.RawMessage `json:"value,omitempty"`
	Deleted  bool            `json:"deleted,omitempty"`
	Written  time.Time       `json:"written,omitzero"`
	Expires  time.Time       `json:"expires,omitzero"`
}

// StateChanges is a page of a bucket, in the order of revisions.
type StateChanges struct {
	Items    []StateEntry `json:"items"`
	Revision uint64       `json:"revision"` // the page contains all changes up to it
	More     bool         `json:"more,omitempty"`
}
