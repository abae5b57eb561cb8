package board

import (
	"fmt"
	"testing"
	"time"

	"github.com/askbus/askbus/pkg/ask"
)

// A surface that says of one session that it is shown at ever other places fills nobody's memory.
func TestPlacesOfChatsAreBounded(t *testing.T) {
	t.Parallel()
	b := newBoard(nil, Options{})
	for i := range 2*maxPosting + 1 {
		b.posted(ask.Key{Tenant: "acme", Session: "s1", ID: "a1"}, Attention{Posted: fmt.Sprint(i), Responder: "slack", Seen: time.Now()})
	}
	if n := len(b.readers.newest); n > maxPosting {
		t.Errorf("%d places are remembered", n)
	}
}
