package wire

import (
	"encoding/json"
	"time"

	"github.com/askbus/askbus/pkg/ask"
)

// maxChanges is the maximum number of entries of one page of a bucket.
const maxChanges = 200

// StatePut is a request to write an entry of shared state.
type StatePut struct {
	Value    json.RawMessage // a JSON object
	Revision *uint64         // compare-and-set: the expected revision, 0: none; nil: any
	TTL      time.Duration   // 0: until it is deleted
	ID       string          // of this write: the same id means the same write
}

type statePutJSON struct {
	Value    json.RawMessage `json:"value,omitempty"`
	Revision *uint64         `json:"revision,omitempty"`
	TTL      duration        `json:"ttl,omitzero"`
	ID       string          `json:"id,omitempty"`
}

// EncodeStatePut returns the body of put.
func EncodeStatePut(p StatePut) ([]byte, error) {
	return Marshal(statePutJSON{p.Value, p.Revision, duration(p.TTL), p.ID})
}

// DecodeStatePut reads the body of put, strictly.
func DecodeStatePut(data []byte) (StatePut, error) {
	var w statePutJSON
	if err := Strict("put", data, &w); err != nil {
		return StatePut{}, err
	}
	var f []ask.Fault
	if len(w.Value) == 0 || w.Value[0] != '{' {
		f = append(f, ask.NewFault("/value", ask.FaultNotObject))
	}
	if w.TTL != 0 && time.Duration(w.TTL) < time.Second {
		f = append(f, ask.NewFault("/ttl", ask.FaultTooLow, time.Duration(w.TTL), "1s"))
	}
	f = append(f, writeID(w.ID)...)
	return StatePut{w.Value, w.Revision, time.Duration(w.TTL), w.ID}, ask.InvalidError("put", f)
}

func writeID(id string) []ask.Fault {
	if id != "" && !ask.ValidToken(id) {
		return []ask.Fault{ask.NewFault("/id", ask.FaultBadToken, clip(id), ask.MaxToken)}
	}
	return nil
}

// StateDelete is a request to delete an entry.
type StateDelete struct {
	Revision *uint64 // as in [StatePut]
	ID       string  // as in [StatePut]
}

type stateDeleteJSON struct {
	Revision *uint64 `json:"revision,omitempty"`
	ID       string  `json:"id,omitempty"`
}

// EncodeStateDelete returns the body of delete.
func EncodeStateDelete(d StateDelete) ([]byte, error) {
	return Marshal(stateDeleteJSON(d))
}

// DecodeStateDelete reads the body of delete, strictly; it may be empty.
func DecodeStateDelete(data []byte) (StateDelete, error) {
	var w stateDeleteJSON
	if len(data) > 0 {
		if err := Strict("delete", data, &w); err != nil {
			return StateDelete{}, err
		}
	}
	return StateDelete(w), ask.InvalidError("delete", writeID(w.ID))
}

// StateList is a request for the changes of a bucket after a revision; 0 means
// every entry.
type StateList struct {
	After uint64 `json:"after,omitempty"`
	Limit int    `json:"limit,omitempty"`
}

// DecodeStateList reads the body of list, strictly; it may be empty.
func DecodeStateList(data []byte) (StateList, error) {
	l := StateList{}
	if len(data) > 0 {
		if err := Strict("list", data, &l); err != nil {
			return StateList{}, err
		}
	}
	if l.Limit == 0 {
		l.Limit = maxChanges
	}
	if l.Limit < 1 || l.Limit > maxChanges {
		return StateList{}, ask.InvalidError("list", []ask.Fault{ask.NewFault("/limit", ask.FaultOutOfRange, l.Limit, 1, maxChanges)})
	}
	return l, nil
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
