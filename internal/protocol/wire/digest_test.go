package wire_test

import (
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/askbus/askbus/internal/protocol/wire"
	"github.com/askbus/askbus/internal/testkit/goldentest"
)

// digests returns asks whose digests implementations in other languages must
// compute as well.
func digests() map[string]string {
	return map[string]string{
		"smallest":            `{"id":"a1","questions":[{"text":"t"}]}`,
		"defaults spelt out":  `{"id":"a2","at_deadline":"expire","priority":"high","questions":[{"id":"q1","kind":"text","text":"t","required":true}]}`,
		"what does not count": `{"id":"a3","priority":"urgent","timeout":"2h","agent":{"name":"x"},"metadata":{"k":1},"require_responder":true,"questions":[{"text":"t"}]}`,
		"unicode and numbers": `{"id":"a4","title":"\u20ac\u00e9\uD83D\uDE00 <&>\u2028 \"\\ \u0007","audience":["group:b","a"],"questions":[{"kind":"number","text":"n","limits":{"min":-0.0000010,"max":1e21,"integer":true},"default":333333333.33333329}]}`,
		"who may decide":      `{"id":"a6","only":"asker","asker":["os:mei"],"exclude":["os:tom"],"questions":[{"text":"t"}]}`,
		"votes":               `{"id":"a7","approval":{"any_of":[{"need":2,"from":["group:sre"]}]},"questions":[{"kind":"boolean","text":"t"}]}`,
		"more votes":          `{"id":"a7","approval":{"any_of":[{"need":3,"from":["group:sre"]}]},"questions":[{"kind":"boolean","text":"t"}]}`,
		"order of keys":       `{"questions":[{"options":[{"label":"A","id":"a","preview":{"body":"b"}},{"cancels":true,"label":"B"}],"text":"t","id":"z","allow_other":false}],"id":"a5","context":"c"}`,
	}
}

func TestDigest(t *testing.T) {
	t.Parallel()
	var lines []string
	byName := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(digests())) {
		a, err := wire.DecodeAsk([]byte(digests()[name]))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		a.Normalize()
		d, err := wire.Digest(&a)
		if err != nil {
			t.Fatal(err)
		}
		byName[name] = d
		lines = append(lines, name, digests()[name], d, "")
	}
	goldentest.Equal(t, "testdata/digest.golden", strings.Join(lines, "\n"))
	if byName["smallest"] != byName["defaults spelt out"] || byName["smallest"] != byName["what does not count"] {
		t.Errorf("the same question has several digests: %v", byName)
	}
	if byName["votes"] == byName["more votes"] || byName["smallest"] == byName["who may decide"] {
		t.Errorf("who decides does not count: %v", byName)
	}
	// RFC 8785 by hand: sorted keys, no spaces, numbers in ECMAScript's format.
	for name, canonical := range map[string]string{
		"smallest":      `{"at_deadline":"expire","questions":[{"id":"q1","kind":"text","required":true,"text":"t"}]}`,
		"order of keys": `{"at_deadline":"expire","context":"c","questions":[{"allow_other":false,"id":"z","kind":"choice","options":[{"id":"a","label":"A","preview":{"body":"b","format":"text"}},{"cancels":true,"id":"o2","label":"B"}],"required":true,"text":"t"}]}`,
		"unicode and numbers": `{"at_deadline":"expire","audience":["group:b","a"],"questions":[{"default":333333333.3333333,"id":"q1","kind":"number","limits":{"integer":true,"max":1e+21,"min":-0.000001},"required":true,"text":"n"}],"title":"` +
			"\u20ac\u00e9\U0001F600 <&>\u2028" + ` \"\\ \u0007"}`,
	} {
		sum := sha256.Sum256([]byte(canonical))
		if want := "sha256:" + hex.EncodeToString(sum[:]); byName[name] != want {
			t.Errorf("%s: %s, want %s", name, byName[name], want)
		}
	}
}
