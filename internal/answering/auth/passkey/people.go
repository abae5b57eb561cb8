package passkey

import (
	"context"
	"encoding/json"
	"fmt"
	"sort"
	"time"

	"github.com/askbus/askbus/internal/bus/state"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/nats-io/nats.go"
)

// Holder is a person with passkeys, for lists.
type Holder struct {
	Tenant    string     `json:"tenant,omitempty"`
	Principal string     `json:"principal"`
	Name      string     `json:"name"`
	Groups    []string   `json:"groups,omitempty"`
	Access    ask.Access `json:"access"`
	Keys      int        `json:"keys"`
	Since     time.Time  `json:"since"`
	key       state.Key
}

// Holders lists and removes people's passkeys, with an operator's credential.
type Holders struct{ bucket *state.Bucket }

// NewHolders makes Holders over an operator's connection. It sends nothing.
func NewHolders(nc *nats.Conn) *Holders {
	return &Holders{state.Open(nc, state.Operator(), state.Passkeys)}
}

// List returns everybody who has passkeys, by principal.
func (h *Holders) List(ctx context.Context) ([]Holder, error) {
	entries, err := h.bucket.List(ctx)
	if err != nil {
		return nil, err
	}
	list := make([]Holder, 0, len(entries))
	for i := range entries {
		var r record
		if err := json.Unmarshal(entries[i].Value, &r); err != nil {
			return nil, fmt.Errorf("passkeys %s: %w", entries[i].Key.Name, err)
		}
		list = append(list, Holder{entries[i].Key.Tenant, r.Principal, r.Name, r.Groups, r.Access, len(r.Keys), r.Since, entries[i].Key})
	}
	sort.Slice(list, func(i, j int) bool { return list[i].Principal < list[j].Principal })
	return list, nil
}

// Remove removes the passkeys of a principal, and reports whether there were
// any.
func (h *Holders) Remove(ctx context.Context, principal string) (bool, error) {
	all, err := h.List(ctx)
	if err != nil {
		return false, err
	}
	found := false
	for i := range all {
		if all[i].Principal == principal {
			found = true
			if err := h.bucket.Delete(ctx, all[i].key); err != nil {
				return true, err
			}
		}
	}
	return found, nil
}
