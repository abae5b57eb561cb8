package exchange

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/askbus/askbus/internal/protocol/assertion"
	"github.com/askbus/askbus/pkg/ask"
)

// claim returns a claim: by its whole name, else by a path with slashes, such
// as kubernetes.io/pod/name. An e-mail address that the provider has not verified is
// none: who may set their own would be whomever they like.
func claim(claims map[string]any, name string) any {
	if verified, _ := text(claims["email_verified"]); name == "email" && verified != "true" {
		return nil
	}
	if v, ok := claims[name]; ok {
		return v
	}
	first, rest, deeper := strings.Cut(name, "/")
	below, ok := claims[first].(map[string]any)
	if !deeper || !ok {
		return nil
	}
	return claim(below, rest)
}

// text returns a single claim as text.
func text(v any) (string, bool) {
	switch v := v.(type) {
	case string:
		return v, true
	case bool:
		return fmt.Sprint(v), true
	case json.Number:
		return v.String(), true
	}
	return "", false
}

// matches reports whether a claim, or one entry of a list, matches a rule's
// value.
func matches(v any, want string) bool {
	is := func(v any) bool {
		s, ok := text(v)
		return ok && assertion.Match(want, s)
	}
	if list, ok := v.([]any); ok {
		return slices.ContainsFunc(list, is)
	}
	return is(v)
}

var hole = regexp.MustCompile(`\{[^{}*]+\}`)

func lacks(name string) error {
	if name == "email" {
		return errors.New("the token has no claim email with email_verified, which the rule needs")
	}
	return fmt.Errorf("the token has no claim %s, which the rule needs", name)
}

// validTemplate reports whether s can become a valid name.
func validTemplate(s string) bool {
	return s != "" && len(s) <= 512 && ask.ValidToken(hole.ReplaceAllString(s, "x"))
}

// fillPrincipal puts claims into the template of a principal. The issuer chose
// them; they are checked as a principal.
func fillPrincipal(template string, claims map[string]any) (string, error) {
	var wrong error
	filled := hole.ReplaceAllStringFunc(template, func(h string) string {
		s, ok := text(claim(claims, strings.Trim(h, "{}")))
		if !ok || s == "" {
			wrong = errors.Join(wrong, lacks(strings.Trim(h, "{}")))
		}
		return s
	})
	return filled, wrong
}

// fill puts claims into a template. Each must itself be a valid name, so that
// no claim becomes a wildcard or another token of a subject.
func fill(template string, claims map[string]any) (string, error) {
	var wrong error
	filled := hole.ReplaceAllStringFunc(template, func(h string) string {
		name := strings.Trim(h, "{}")
		s, ok := text(claim(claims, name))
		switch {
		case !ok:
			wrong = errors.Join(wrong, lacks(name))
		case !ask.ValidToken(s):
			wrong = errors.Join(wrong, fmt.Errorf("the claim %s is %.80q, which cannot be part of a name: use 1 to %d of A-Z a-z 0-9 _ -", name, s, ask.MaxToken))
		}
		return s
	})
	return filled, wrong
}
