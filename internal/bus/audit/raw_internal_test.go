package audit

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
)

// Messages arrive as they were stored, without what the server adds when it reads them; and a reply that
// ends anywhere, or says lengths that it does not have, is refused.
func TestMessagesArriveAsTheyAreStored(t *testing.T) {
	t.Parallel()
	sent := []Raw{
		{Seq: 7, At: time.Unix(1_800_000_000, 17).UTC(), Subject: "ledgerv1.audit.acme.o", Header: nats.Header{"ce-id": {"x"}, "Two": {"1", ""}, headerSource: {"ASKS_00 17"}}, Data: []byte(`{"a":1}`)},
		{Seq: 1 << 60, At: time.Unix(-5, 0).UTC(), Subject: "s", Header: nats.Header{}, Data: []byte{}},
	}
	whole := sent[0]
	whole.Header = nats.Header{"Nats-Sequence": {"7"}, "Nats-Stream": {"AUDIT"}, "ce-id": {"x"}, "Two": {"1", ""}, headerSource: {"ASKS_00 17"}}
	first := whole.AppendTo(nil)
	data := sent[1].AppendTo(first)
	if got, err := parseRaw(data); err != nil || !reflect.DeepEqual(got, sent) {
		t.Errorf("%+v, %v", got, err)
	}
	for n := range len(data) {
		got, err := parseRaw(data[:n])
		if n == 0 || n == len(first) {
			continue
		}
		if err == nil {
			t.Errorf("%d of %d bytes: %+v", n, len(data), got)
		}
	}
	for _, bad := range []string{strings.Repeat("\xff", 20), "\x01\x02\x01s\xff\xff\xff\xff\x7f", "\x01\x02\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"} {
		if got, err := parseRaw([]byte(bad)); err == nil {
			t.Errorf("%q: %+v", bad, got)
		}
	}
}
