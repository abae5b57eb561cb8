package broker

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/askbus/askbus/internal/protocol/lifecycle"
	"github.com/askbus/askbus/internal/protocol/subject"
	"github.com/askbus/askbus/internal/protocol/wire"
	"github.com/askbus/askbus/pkg/ask"
)

const maxCallbacks = 100 // of a tenant, named in a refusal

// checkCallback refuses a new ask whose callback is not registered for its tenant, or not for its
// API token. The refusal names those that are.
func (b *Broker) checkCallback(ctx context.Context, k ask.Key, s *lifecycle.State) error {
	if s.Ask.Callback == "" {
		return nil
	}
	_, token, _ := strings.Cut(s.Asker, " ")
	e, err := b.led.ReadState(ctx, subject.BucketCallbacks, subject.StateKey{Tenant: k.Tenant, Name: s.Ask.Callback})
	if err != nil {
		return err
	}
	if e.Live(b.led.Now()) && serves(e.Value, token) {
		return nil
	}
	all, _, err := b.led.StateChanges(ctx, subject.LedgerStateAll(subject.BucketCallbacks, k.Tenant, false), 0, maxCallbacks)
	if err != nil {
		return err
	}
	names := []string{}
	for i := range all {
		if all[i].Live(b.led.Now()) && serves(all[i].Value, token) {
			names = append(names, all[i].Key.Name)
		}
	}
	slices.Sort(names)
	return ask.InvalidError("ask", []ask.Fault{ask.NewFault("/callback", ask.FaultUnknownCallback, s.Ask.Callback, names)})
}

// serves reports whether a registered callback is for asks of a token; empty: of none.
func serves(value json.RawMessage, token string) bool {
	var c wire.Callback
	return json.Unmarshal(value, &c) == nil && c.Serves(token)
}
