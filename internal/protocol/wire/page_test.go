package wire_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/askbus/askbus/internal/protocol/wire"
	"github.com/askbus/askbus/pkg/ask"
)

// The cursor that is extracted without decoding a page is the page's own,
// whatever its asks contain.
func TestTheNextPageIsSeenWithoutReadingThisOne(t *testing.T) {
	t.Parallel()
	for _, title := range []string{"", `],"next":"evil"}`, `"}`, `\`, strings.Repeat(`],"next":"`, 1000)} {
		for _, next := range []string{"", "MTIuMy4tLjQ", strings.Repeat("A", 800)} {
			for items := range 3 {
				var page []wire.ListItem
				for i := range items {
					page = append(page, wire.ListItem{Record: ask.Record{
						State: ask.StatePending, Ask: ask.Ask{ID: fmt.Sprint("a", i), Tenant: "acme", Session: "s1", Title: title},
						Receipts: []ask.Receipt{{Type: "slack", Places: []ask.Place{{Where: title}}}},
					}})
				}
				data, err := wire.EncodePage(page, next)
				if err != nil {
					t.Fatal(err)
				}
				if got := wire.NextPage(data); got != next {
					t.Errorf("title %.20q, %d items: %q, want %q", title, items, got, next)
				}
				if _, got, err := wire.DecodePage(data); err != nil || got != next {
					t.Errorf("title %.20q, %d items: read as %q, %v", title, items, got, err)
				}
			}
		}
	}
	for _, data := range []string{"", `],"next":"`, `],"next":"a"`, `],"next":"a\"}`, `{"items":[], "next": "a"}`} {
		if got := wire.NextPage([]byte(data)); got != "" {
			t.Errorf("%q: %q", data, got)
		}
	}
}
