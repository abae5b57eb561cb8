package prompt_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/askbus/askbus/internal/answering/prompt"
	"github.com/clipperhouse/displaywidth"
)

func TestLongLinesBreakBetweenWords(t *testing.T) {
	t.Parallel()
	const long = "Where does the service keep its data, if the platform team may not be asked before Monday?"
	var out bytes.Buffer
	w := prompt.Wrapped(&out, 40)
	for _, line := range []string{long, "  1. " + long, "账本服务应该使用哪个数据库？请考虑审计要求、存储成本，以及平台团队已经在运维什么。", "> short", ""} {
		if n, err := fmt.Fprintln(w, line); n != len(line)+1 || err != nil {
			t.Fatal(n, err)
		}
	}
	lines := strings.Split(out.String(), "\n")
	words := strings.Fields(long)
	for _, l := range lines {
		if displaywidth.String(l) > 40 {
			t.Errorf("too wide: %q", l)
		}
	}
	if got := strings.Join(strings.Fields(strings.Join(lines[:3], " ")), " "); got != long {
		t.Errorf("%q", got)
	}
	if first := strings.Fields(lines[3]); first[0] != "1." || first[1] != words[0] || !strings.HasPrefix(lines[4], "     ") || lines[4][5] == ' ' {
		t.Errorf("an option's second line is not below its first: %q", lines[3:6])
	}
	if !strings.HasSuffix(out.String(), "> short\n\n") {
		t.Errorf("%q", out.String())
	}
	if prompt.Wrapped(&out, 0) != &out {
		t.Error("it breaks lines where the width is unknown")
	}
}
