package wire

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/askbus/askbus/pkg/ask"
)

// RemovalState is how far the removal of a tenant is.
type RemovalState string

// The states, in their order.
const (
	RemovalClosing  RemovalState = "closing"  // nothing new is taken; pending asks end, and surfaces close their cards
	RemovalDeleting RemovalState = "deleting" // what is stored of it is deleted, and everything of it is refused
	RemovalDone     RemovalState = "removed"  // as before; nothing is left
)

// RemovalUnreadable stands for the state in an entry that cannot be read. It is not
// stored.
const RemovalUnreadable RemovalState = "unreadable"

// DecodeRemoval reads the value of an entry. One that cannot be read is
// [RemovalUnreadable]: nobody knows what may still be used.
func DecodeRemoval(data []byte) (m Removal, err error) {
	if err = json.Unmarshal(data, &m); err == nil && m.State != RemovalClosing && m.State != RemovalDeleting && m.State != RemovalDone {
		err = fmt.Errorf("unknown state %.40q", m.State)
	}
	if err != nil {
		return Removal{State: RemovalUnreadable}, err
	}
	return m, nil
}

// Removal is the value of an entry of the bucket removed-tenants, whose key is the
// tenant's name.
type Removal struct {
	State      RemovalState `json:"state"`
	Since      time.Time    `json:"since"`
	Grace      int          `json:"grace_seconds"` // for cards to be closed
	Credential string       `json:"credential"`    // the public key of the operator who asked for it
	Withdrawn  int          `json:"withdrawn"`     // pending asks that it ended
	Had        Holdings     `json:"had"`           // when it began
	Changed    time.Time    `json:"changed"`       // of State
}

// Holdings is what is stored of a tenant.
type Holdings struct {
	Pending   int            `json:"pending"` // asks
	Ended     int            `json:"ended"`   // asks
	Files     int            `json:"files"`
	Tokens    int            `json:"tokens"`            // API tokens
	Consumers int            `json:"consumers"`         // of posting surfaces that serve only this tenant
	Entries   map[string]int `json:"entries,omitempty"` // of shared state, by bucket
	Kept      map[string]int `json:"kept,omitempty"`    // likewise; they stay until they expire
}

// Empty reports whether nothing is stored that a removal would delete.
func (h *Holdings) Empty() bool {
	return h.Pending+h.Ended+h.Files+h.Tokens+h.Consumers+len(h.Entries) == 0
}

// Remove is the body of the verb remove.
type Remove struct {
	DryRun bool     `json:"dry_run,omitempty"` // only count
	Grace  Duration `json:"grace,omitzero"`    // how long surfaces may take to close their cards
}

// MaxRemovalGrace bounds [Remove.Grace].
const MaxRemovalGrace = time.Hour

// DecodeRemove reads the body of remove, strictly.
func DecodeRemove(data []byte) (Remove, error) {
	return decode("remove", data, func(r *Remove) []ask.Fault {
		if grace := time.Duration(r.Grace); grace < 0 || grace > MaxRemovalGrace {
			return []ask.Fault{ask.NewFault("/grace", ask.FaultOutOfRange, grace, "0s", MaxRemovalGrace)}
		}
		return nil
	})
}
