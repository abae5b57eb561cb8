package cli_test

import (
	"testing"

	"github.com/askbus/askbus/internal/cli"
)

func TestLinesBreakBetweenWords(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		text  string
		width int
		want  string
	}{
		"no terminal":            {"askbus: one two three", 0, "askbus: one two three"},
		"it fits":                {"askbus: one two", 15, "askbus: one two"},
		"between words":          {"askbus: one two three", 15, "askbus: one two\nthree"},
		"each line by itself":    {"one two\nthree four", 9, "one two\nthree\nfour"},
		"a command stays whole":  {`run "askbus login --phone" again`, 12, "run\n\"askbus login --phone\"\nagain"},
		"a command at the end":   {"resume with: askbus wait s/a --dir /d", 14, "resume with:\naskbus wait s/a --dir /d"},
		"a long word":            {"see http://127.0.0.1:8420/ask/x now", 12, "see\nhttp://127.0.0.1:8420/ask/x\nnow"},
		"an indented line":       {"code:\n    ABCD-EFGH IJKL", 8, "code:\n    ABCD-EFGH IJKL"},
		"a quote without an end": {`invalid id "a b c d`, 12, "invalid id\n\"a b c d"},
		"several spaces":         {"one   two", 5, "one  \ntwo"},
		"wide letters":           {"用哪个 数据库", 8, "用哪个\n数据库"},
		"nothing":                {"", 8, ""},
	} {
		if got := cli.Wrap(c.text, c.width); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
