package wire_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/askbus/askbus/internal/protocol/wire"
	"github.com/askbus/askbus/pkg/ask"
)

func TestTextIsUTF8(t *testing.T) {
	t.Parallel()
	for _, good := range []string{
		``, `{}`, `{"a":"数据库 🎉"}`, `"\ud83c\udf89"`, `"\uD83C\uDF89x"`, `"\\ud800"`, `"\\\\u0000"`, `"a\n\u0001\""`, `"\uZZZZ"`, `"\u12`, `\`, "\ufeff{}",
	} {
		if err := wire.CheckText([]byte(good)); err != nil {
			t.Errorf("%q: %v", good, err)
		}
	}
	for bad, says := range map[string]string{
		"{\"text\":\"\xca\xfd\xbe\xdd\"}": "byte 9 of the body (0xCA) is not UTF-8", // 数据 in GBK
		"\xff\xfe{\x00}\x00":              "byte 0 of the body (0xFF) is not UTF-8", // UTF-16
		"{\x00}\x00":                      "byte 1 of the body is NUL",
		"\"\xed\xa0\x80\"":                "byte 1 of the body (0xED)", // a surrogate as three bytes
		`{"a":"x\u0000"}`:                 `byte 7 of the body is the escape \u0000`,
		`"\\\u0000"`:                      `byte 3 of the body is the escape \u0000`,
		`"\ud83c"`:                        `byte 1 of the body is the escape \ud83c`,
		`"\ud83cx"`:                       `\ud83c, half of a surrogate pair`,
		`"\ud83c\ud83c\udf89"`:            `byte 1`,
		`"ab\udf89"`:                      `byte 3 of the body is the escape \udf89, half`,
		`"\ud83c`:                         `\ud83c, half of a surrogate pair`,
	} {
		if err := wire.CheckText([]byte(bad)); !errors.Is(err, ask.ErrInvalid) || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: %v, want %q", bad, err, says)
		}
	}
}

// Every strict decoder refuses it too, wherever its bytes come from.
func TestStrictDecodersRefuseWhatIsNoText(t *testing.T) {
	t.Parallel()
	for _, bad := range []string{"{\"of\":\"question\xff\"}", `{"of":"question\u0000"}`, `{"of":"\ud800"}`, `{"\ud800":1}`} {
		if _, err := wire.DecodeNext([]byte(bad)); !errors.Is(err, ask.ErrInvalid) || !strings.Contains(err.Error(), "byte ") {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

func TestACharsetIsUTF8(t *testing.T) {
	t.Parallel()
	for _, good := range []string{"", "application/json", "application/json; charset=UTF-8", `application/json; charset="utf-8"`, "text/plain;charset=us-ascii", "broken/;;"} {
		if err := wire.CheckCharset(good); err != nil {
			t.Errorf("%q: %v", good, err)
		}
	}
	for _, bad := range []string{"application/json; charset=GBK", "application/cloudevents+json; charset=utf-16"} {
		e := wire.AsError(wire.CheckCharset(bad))
		if e == nil || e.Code != wire.CodeMediaType || !strings.Contains(strings.ToLower(e.Detail), strings.ToLower(bad[strings.Index(bad, "=")+1:])) {
			t.Errorf("%q: %v", bad, e)
		}
	}
}
