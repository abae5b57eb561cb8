package chat

import (
	"context"

	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/responder"
)

// Posted returns where a surface has posted the ask in its current life.
func Posted(typ string, rec *ask.Record) (places []ask.Place) {
	for _, r := range rec.Receipts {
		if r.Type == typ && r.Life == rec.Life {
			places = append(places, r.Places...)
		}
	}
	return places
}

// SessionPosted returns where a surface has posted the asks of an ask's session, the oldest ask first.
// It reads up to the given number of pages of 100 asks.
func SessionPosted(ctx context.Context, bus *responder.Responder, typ string, a *ask.Ask, pages int) (places []ask.Place, err error) {
	q := responder.Query{Tenant: a.Tenant, Session: a.Session, PageSize: 100}
	for range pages {
		page, err := bus.List(ctx, q)
		if err != nil {
			return nil, err
		}
		for i := range page.Items {
			places = append(places, Posted(typ, &page.Items[i])...)
		}
		if q.Cursor = page.Next; q.Cursor == "" {
			break
		}
	}
	return places, nil
}
