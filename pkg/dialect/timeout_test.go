package dialect_test

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/askbus/askbus/pkg/dialect"
)

// A timeout beside what a dialect defines holds in every dialect, in any
// spelling; none drops it and waits for 30 days. Every dialect refuses one below
// zero.
func TestATimeoutHoldsInEveryDialect(t *testing.T) {
	t.Parallel()
	for _, d := range dialect.All() {
		request := []byte(readArchive(t, filepath.Join("testdata", "requests", d.Name+"-basic.txtar")).sections["request"])
		for key, value := range map[string]any{"timeout": "5m", "timeout_ms": 300_000, "timeoutSeconds": 300, "timeoutMs": -300_000, "ttl": "-5m"} {
			var object map[string]any
			var list []map[string]any
			body := request
			if json.Unmarshal(request, &object) == nil {
				at := object
				if inner, ok := object["params"].(map[string]any); ok && object["method"] != nil {
					at = inner
				}
				delete(at, "timeout") // the request may have one
				at[key] = value
				body, _ = json.Marshal(object)
			} else if json.Unmarshal(request, &list) == nil && len(list) > 0 {
				list[len(list)-1][key] = value
				body, _ = json.Marshal(list)
			} else {
				t.Fatalf("%s: the request is neither an object nor a list of them", d.Name)
			}
			a, warnings, err := d.Ask(body)
			if n, _ := value.(int); n < 0 || value == "-5m" {
				if got := problems(t, err); !strings.Contains(got, "/"+key+": is "+fmt.Sprint(value)+"; use 1s to 720h") {
					t.Errorf("%s with %s %v: %s, %v", d.Name, key, value, got, warnings)
				}
			} else if err != nil || a.Timeout != 5*time.Minute {
				t.Errorf("%s with %s: timeout %s, %v, %v", d.Name, key, a.Timeout, warnings, err)
			}
		}
	}
}
