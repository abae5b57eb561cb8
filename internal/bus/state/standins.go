package state

import (
	"context"
	"encoding/json"
	"fmt"
	"sort"
	"time"

	"github.com/askbus/askbus/internal/protocol/wire"
	"github.com/askbus/askbus/pkg/ask"
)

// ListStandIns returns who stands in for whom, of the bucket [StandIns], the
// earliest first.
func ListStandIns(ctx context.Context, bucket *Bucket) ([]ask.StandIn, error) {
	return list(ctx, bucket, StandInOf, func(s ask.StandIn) time.Time { return s.Since })
}

// list reads the values of a bucket, the earliest first.
func list[T any](ctx context.Context, bucket *Bucket, read func(*Entry) (T, error), since func(T) time.Time) ([]T, error) {
	entries, err := bucket.List(ctx)
	if err != nil {
		return nil, err
	}
	all := make([]T, len(entries))
	for i := range entries {
		if all[i], err = read(&entries[i]); err != nil {
			return nil, err
		}
	}
	sort.SliceStable(all, func(i, j int) bool { return since(all[i]).Before(since(all[j])) })
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
