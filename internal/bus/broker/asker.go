package broker

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/askbus/askbus/internal/protocol/subject"
	"github.com/askbus/askbus/pkg/ask"
)

// asker returns the principals of the person for whom the sender of a request
// asks, as they were fixed when its credential or API token was issued; none: it
// says nothing.
func (b *Broker) asker(ctx context.Context, r *request) ([]string, error) {
	if r.Root != subject.Responders {
		return nil, nil
	}
	switch r.Type {
	case subject.TypeAgent, subject.TypeOperator:
		may, err := b.assertions(r)
		return may.Asker, err
	case subject.TypeGateway:
		return b.askerOfToken(ctx, r.token)
	}
	return nil, nil
}

// askerOfToken returns the asker of an API token. A token that was revoked has
// none.
func (b *Broker) askerOfToken(ctx context.Context, id string) ([]string, error) {
	if id == "" {
		return nil, nil
	}
	e, err := b.led.ReadState(ctx, subject.BucketTokens, subject.StateKey{Name: id})
	if err != nil {
		return nil, fmt.Errorf("broker: for whom does token %s ask: %w", id, err)
	}
	if !e.Live(b.led.Now()) {
		return nil, nil
	}
	var t struct {
		Asker []string `json:"asker"`
	}
	if err := json.Unmarshal(e.Value, &t); err != nil {
		return nil, fmt.Errorf("broker: token %s is damaged: %w", id, err)
	}
	return t.Asker, nil
}

// setAsker sets the asker of an ask in which it counts to the one of the sender's
// credential. A claim of another is refused. Without one in the credential the
// ask's own words stay: they bind only the ask, and no policy counts them.
func (b *Broker) setAsker(ctx context.Context, r *request, a *ask.Ask) (changed bool, err error) {
	if !a.ExcludeAsker && a.Only == "" && len(a.Asker) == 0 {
		return false, nil
	}
	own, err := b.asker(ctx, r)
	if err != nil || len(own) == 0 {
		return false, err
	}
	for i, claimed := range a.Asker {
		if !slices.Contains(own, claimed) {
			wrong := ask.NewFault(fmt.Sprint("/asker/", i), ask.FaultOtherAsker, ask.Clip(claimed, 80), ask.Clip(own[0], 80))
			return false, ask.InvalidError("ask", []ask.Fault{wrong})
		}
	}
	changed = !slices.Equal(a.Asker, own)
	a.Asker = slices.Clone(own)
	return changed, nil
}
