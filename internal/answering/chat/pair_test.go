package chat_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/askbus/askbus/internal/answering/chat"
)

func TestAPairingCodeIsSaidAlone(t *testing.T) {
	t.Parallel()
	code := chat.NewPairingCode()
	if !regexp.MustCompile(`^[2-9A-HJ-NP-Z]{4}-[2-9A-HJ-NP-Z]{4}$`).MatchString(code) || code == chat.NewPairingCode() {
		t.Errorf("the code is %q", code)
	}
	for _, said := range []string{code, strings.ToLower(code), " " + strings.ReplaceAll(code, "-", "") + "\n", strings.ReplaceAll(code, "-", " ")} {
		if !chat.SaysCode(said, code) {
			t.Errorf("%q does not say %s", said, code)
		}
	}
	for _, said := range []string{"", "hello", "code " + code, code + "?", code[:8]} {
		if chat.SaysCode(said, code) {
			t.Errorf("%q says %s", said, code)
		}
	}
	for said, want := range map[string]bool{code: true, strings.ToLower(code): true, " " + strings.ReplaceAll(code, "-", "") + "\n": true, "": false, "hello": false, "PostgreSQL": false, "10000000": false, code + "?": false} {
		if chat.MayBeCode(said) != want {
			t.Errorf("%q may be a code: %v", said, !want)
		}
	}
	if chat.SaysCode("", "") {
		t.Error("nothing says no code")
	}
	if p := (chat.Paired{Person: "U1"}); p.Target().Person != "U1" {
		t.Error(p.Target())
	}
	if p := (chat.Paired{Person: "1", Place: "1"}); p.Target().Channel != "1" || p.Target().Person != "" {
		t.Error(p.Target())
	}
}
