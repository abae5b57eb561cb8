package chat

import "github.com/askbus/askbus/pkg/ask"

// Posted returns where a surface has posted the ask in its current life.
func Posted(typ string, rec *ask.Record) (places []ask.Place) {
	for _, r := range rec.Receipts {
		if r.Type == typ && r.Life == rec.Life {
			places = append(places, r.Places...)
		}
	}
	return places
}
