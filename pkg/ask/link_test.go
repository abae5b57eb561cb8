package ask_test

import (
	"testing"

	"github.com/askbus/askbus/pkg/ask"
)

func TestALinkShowsWhereItLeads(t *testing.T) {
	t.Parallel()
	for link, want := range map[string]bool{
		"https://example.com":                     true,
		"http://localhost:3000/acme/payments":     true,
		"https://[::1]:8080/x?a=b#c":              true,
		"https://example.com?x":                   true,
		"":                                        false,
		"https://":                                false,
		"https:///path":                           false,
		"https://:80/":                            false, // leads nowhere
		"javascript:alert(1)":                     false,
		"//example.com":                           false,
		"https://example.com@elsewhere.test/":     false,
		"https://exаmple.com/":                    false, // a Cyrillic letter
		"https://example.com/\u202egpj.exe":       false,
		"https://example.com/a b":                 false,
		"https://example.com\\@elsewhere.test":    false,
		"https://example.com/\\elsewhere.test/x":  false,
		"HTTPS://example.com/":                    false,
		"https://example.com/@user/project?q=a@b": true,
	} {
		if got := ask.ValidLink(link); got != want {
			t.Errorf("ValidLink(%q) = %v", link, got)
		}
	}
}
