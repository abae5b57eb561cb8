package ask_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/askbus/askbus/pkg/ask"
)

func TestValidTokensStayAsTheyAre(t *testing.T) {
	t.Parallel()
	for _, s := range []string{"a", "A-Z_09", strings.Repeat("x", 64), "-", "_"} {
		if !ask.ValidToken(s) || ask.Token(s) != s {
			t.Errorf("%q becomes %q", s, ask.Token(s))
		}
	}
	for _, s := range []string{"", "a.b", "a b", "*", ">", "é", strings.Repeat("x", 65), "a\x00"} {
		if ask.ValidToken(s) {
			t.Errorf("%q is a token", s)
		}
	}
}

func FuzzToken(f *testing.F) {
	for _, s := range []string{"", "a.b", "会话", "----", "a b", strings.Repeat("é", 100), "\xff"} {
		f.Add(s, s+"x")
	}
	f.Fuzz(func(t *testing.T, one, two string) {
		if !ask.ValidToken(ask.Token(one)) || ask.Token(ask.Token(one)) != ask.Token(one) {
			t.Errorf("%q becomes %q", one, ask.Token(one))
		}
		if one != two && !ask.ValidToken(one) && !ask.ValidToken(two) && ask.Token(one) == ask.Token(two) {
			t.Errorf("%q and %q both become %q", one, two, ask.Token(one))
		}
	})
}

func ExampleToken() {
	fmt.Println(ask.Token("session-1"))
	fmt.Println(ask.Token("my session / 1"))
	fmt.Println(ask.Token("会话"))
	// Output:
	// session-1
	// my-session-1-a645c531
	// a6328025
}
