package email

import (
	"strings"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/process/lang"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/card"
)

// A mail whose ask has more than it shows says so; of a permission it shows more.
func TestAMailSaysWhatItCuts(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		runes   int
		permits bool
		whole   bool
	}{{maxContext, false, true}, {maxContext + 1, false, false}, {maxContext + 1, true, true}, {maxPermit + 1, true, false}} {
		a := ask.Ask{ID: "a1", Tenant: "acme", Session: "s1", Context: strings.Repeat("x", c.runes), Questions: []ask.Question{{ID: "go", Kind: ask.KindBoolean, Text: "Go on?"}}}
		if c.permits {
			a.Metadata = map[string]any{ask.MetadataPermission: "x"}
		}
		a.Normalize()
		d := &letter{Card: card.New(&ask.Record{Ask: a, State: ask.StatePending}, card.Viewer{Surface: Type}, time.Now()), Lang: lang.Of("")}
		if got := d.whole(); got != c.whole {
			t.Errorf("%+v: whole is %v", c, got)
		}
	}
}
