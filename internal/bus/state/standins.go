package state

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/askbus/askbus/internal/protocol/wire"
	"github.com/askbus/askbus/pkg/ask"
)

// ListStandIns returns who stands in for whom, of the bucket [StandIns], the
// earliest first.
func ListStandIns(ctx context.Context, bucket *Bucket) ([]ask.StandIn, error) {
	entries, err := bucket.List(ctx)
	if err != nil {
		return nil, err
	}
	all := make([]ask.StandIn, 0, len(entries))
	for i := range entries {
		s, err := StandInOf(&entries[i])
		if err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	slices.SortStableFunc(all, func(x, y ask.StandIn) int { return x.Since.Compare(y.Since) })
	return all, nil
}

// StandInOf reads an entry of the bucket [StandIns].
func StandInOf(e *Entry) (ask.StandIn, error) {
	var s wire.StoredStandIn
	if err := json.Unmarshal(e.Value, &s); err != nil {
		return ask.StandIn{}, fmt.Errorf("stand-in %s: %w", e.Key.Name, err)
	}
	return s.StandIn(e.Key.Tenant), nil
}
