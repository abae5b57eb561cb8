package state

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/askbus/askbus/internal/protocol/subject"
	"github.com/askbus/askbus/internal/protocol/wire"
	"github.com/askbus/askbus/pkg/ask"
)

// ListLinks returns which members of chats are which people, of the bucket [Links], the
// earliest first.
func ListLinks(ctx context.Context, bucket *Bucket) ([]ask.Link, error) {
	return list(ctx, bucket, LinkOf, func(l ask.Link) time.Time { return l.Since })
}

// LinkOf reads an entry of the bucket [Links].
func LinkOf(e *Entry) (ask.Link, error) {
	var l wire.StoredLink
	if err := json.Unmarshal(e.Value, &l); err != nil {
		return ask.Link{}, fmt.Errorf("link %s: %w", e.Key.Name, err)
	}
	return ask.Link{Tenant: e.Key.Tenant, Principal: l.Principal, Name: l.Name, Account: l.Account, Since: l.Since}, nil
}

// LinkKey returns the entry in [Links] of a link.
func LinkKey(l *ask.Link) Key {
	return subject.LinkKey(l.Tenant, l.Account, l.Principal)
}
