package wire_test

import (
	"strings"
	"testing"

	"github.com/askbus/askbus/internal/protocol/wire"
)

// Names of fields are compared after their escapes are decoded.
func TestNamesAreReadAsJSONSays(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ body, fault string }{
		{`{"id":"a","quest\u0069ons":[{"text":"?"}]}`, ""},
		{`{"id":"a","questions":[{"text":"?"}],"\u0069d":"b"}`, "/id: is given twice"},
		{`{"id":"a","questions":[{"text":"?"}],"x` + "\xff" + `":1}`, "byte 39 of the body (0xFF) is not UTF-8"},
		{`{"id":"a","questions":[{"text":"?"}],"metadata":{"k":1,"\u006b":2}}`, "/metadata/k: is given twice"},
	} {
		_, err := wire.DecodeAsk([]byte(tt.body))
		if tt.fault == "" && err != nil || err != nil && !strings.Contains(err.Error(), tt.fault) {
			t.Errorf("%q is read with %v, want %q", tt.body, err, tt.fault)
		}
		if tt.fault != "" && err == nil {
			t.Errorf("%q is read, want %q", tt.body, tt.fault)
		}
	}
}
