// Package assertion says for whom a credential may speak: what it may assert about
// the person who acted, how that is written in the tags of its JWT, and what a
// verified credential grants. It decides and does not verify: the keys are in
// internal/server/identity.
package assertion

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/askbus/askbus/pkg/ask"
)

// Set is what a credential may say about the person who acted, in
// addition to its own name, and for whom its holder asks. It is stored in the tags of its JWT, so that
// anybody with the account's public keys can verify it. The zero value means
// nothing.
type Set struct {
	// Proven are principals with their proofs, written as PROOF=PRINCIPAL.
	// Either may end in "*", which matches any rest.
	Proven []string
	// Groups are the groups that it may assert; likewise.
	Groups []string
	// Asker are the principals of the one person for whom the holder asks, of
	// a credential that asks. They are exact.
	Asker []string
}

// Anything returns assertions without limits, for tests and benchmarks.
func Anything() Set { return Set{Proven: []string{"*=*"}, Groups: []string{"*"}} }

// Bounds of assertions: a JWT is sent with every answer, and a server reads at
// most 4 KiB of it on connect.
const (
	maxAssertions = 32
	maxTagBytes   = 1024
)

// Tags of a JWT.
const (
	tagAssert = "assert:"
	tagGroup  = "group:"
	tagAsker  = "asker:"
)

// Validate returns an error for an invalid assertion.
func (a Set) Validate() error {
	size := 0
	for _, p := range a.Proven {
		proof, principal, ok := strings.Cut(p, "=")
		if !ok || !pattern(proof) || !pattern(principal) {
			return fmt.Errorf("invalid assertion %q: use PROOF=PRINCIPAL, such as oidc=oidc:* or os=os:mei; %q is allowed only at the end", p, "*")
		}
		size += len(tagAssert) + len(p)
	}
	for _, g := range a.Groups {
		if !pattern(g) {
			return fmt.Errorf("invalid group %q: use a name, or one that ends in %q", g, "*")
		}
		size += len(tagGroup) + len(g)
	}
	if err := CheckAsker(a.Asker); err != nil {
		return err
	}
	for _, p := range a.Asker {
		size += len(tagAsker) + len(p)
	}
	if n := len(a.Proven) + len(a.Groups) + len(a.Asker); n > maxAssertions || size > maxTagBytes {
		return fmt.Errorf("a credential asserts %d things in %d bytes; the maximum is %d in %d: use patterns such as oidc=oidc:*", n, size, maxAssertions, maxTagBytes)
	}
	return nil
}

// CheckAsker returns an error unless these can be the principals of an asker.
func CheckAsker(principals []string) error {
	if len(principals) > ask.MaxAskers {
		return fmt.Errorf("%d principals of one asker are too many; give at most %d", len(principals), ask.MaxAskers)
	}
	for _, p := range principals {
		if !pattern(p) || strings.HasSuffix(p, "*") || strings.HasPrefix(p, "group:") || utf8.RuneCountInString(p) > ask.MaxName {
			return fmt.Errorf("invalid asker %.80q: use a principal of one person, such as oidc:id.example.com#mei@example.com or os:mei", p)
		}
		if strings.HasPrefix(p, ask.ProofOIDC+":") && !strings.Contains(p, "#") { // it would name nobody, and exclude nobody
			return fmt.Errorf("invalid asker %.80q: name the provider as well, such as oidc:id.example.com#mei@example.com", p)
		}
	}
	return nil
}

// pattern reports whether s is a valid pattern: printable, with "*" only at its
// end.
func pattern(s string) bool {
	return s != "" && !strings.Contains(strings.TrimSuffix(s, "*"), "*") && !strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r == 0x7f })
}

// Match reports whether a pattern, which may end in "*", matches a text.
func Match(pattern, s string) bool {
	if begin, open := strings.CutSuffix(pattern, "*"); open {
		return strings.HasPrefix(s, begin)
	}
	return pattern == s
}

// Exact returns an error unless the assertions name only single people and
// groups, which is required for a credential that many can hold.
func (a Set) Exact() error {
	open := func(p string) bool { return strings.HasSuffix(p, "*") || strings.Contains(p, "*=") }
	if slices.ContainsFunc(a.Proven, open) || slices.ContainsFunc(a.Groups, open) {
		return fmt.Errorf("invalid assertion: this credential may name single principals and groups only, without %q", "*")
	}
	return nil
}

// Tags returns the tags of a JWT with these assertions.
func (a Set) Tags() []string {
	var tags []string
	for _, p := range a.Proven {
		tags = append(tags, tagAssert+p)
	}
	for _, g := range a.Groups {
		tags = append(tags, tagGroup+g)
	}
	for _, p := range a.Asker {
		tags = append(tags, tagAsker+p)
	}
	return tags
}

// FromTags parses the tags of a JWT.
func FromTags(tags []string) Set {
	var a Set
	for _, t := range tags {
		if p, ok := strings.CutPrefix(t, tagAssert); ok {
			a.Proven = append(a.Proven, p)
		} else if g, ok := strings.CutPrefix(t, tagGroup); ok {
			a.Groups = append(a.Groups, g)
		} else if p, ok := strings.CutPrefix(t, tagAsker); ok {
			a.Asker = append(a.Asker, p)
		}
	}
	return a
}

// OwnName returns the principal of a credential that acts as itself.
func OwnName(user string) string { return "nats:" + user }

// Speak returns what a credential may say about the person who acted: the zero
// By becomes the credential's own name. The error is an [*ask.Error] that names
// the field which it may not assert.
func (a Set) Speak(user string, by ask.By) (ask.By, error) {
	if by.Principal == "" || by.Principal == OwnName(user) {
		return ownName(user, by)
	}
	var faults []ask.Fault
	refuse := func(at string, code ask.FaultCode, args ...any) {
		faults = append(faults, ask.NewFault(at, code, args...))
	}
	principal := ask.Clip(by.Principal, 80)
	named, proven := false, false
	for _, p := range a.Proven {
		proof, principal, _ := strings.Cut(p, "=")
		if Match(principal, by.Principal) {
			named = true
			proven = proven || by.Proof == "" || Match(proof, by.Proof)
		}
	}
	switch {
	case !named:
		refuse("/by/principal", ask.FaultMayNotSpeakFor, principal, a.principals(user))
	case !proven:
		refuse("/by/proof", ask.FaultMayNotProve, principal, ask.Clip(by.Proof, 80), a.proofs(by.Principal))
	}
	for _, g := range by.Groups {
		if !slices.ContainsFunc(a.Groups, func(p string) bool { return Match(p, g) }) {
			refuse("/by/groups", ask.FaultMayNotGroup, ask.Clip(g, 80), orNone(a.Groups))
			break
		}
	}
	if faults != nil {
		return by, forbidden(faults)
	}
	return by, nil
}

// Names reports whether the credential is of a surface that signs people in,
// which knows their display names: it asserts a pattern of principals, with a
// proof no weaker than a sign-in. A person's own credential names itself as it
// likes.
func (a Set) Names(by ask.By) bool {
	return by.Proves(ask.ProofOIDC) && slices.ContainsFunc(a.Proven, func(p string) bool {
		proof, principal, _ := strings.Cut(p, "=")
		return strings.HasSuffix(principal, "*") && Match(principal, by.Principal) && Match(proof, by.Proof)
	})
}

// ownName returns the By of a credential that acts as itself.
func ownName(user string, by ask.By) (ask.By, error) {
	var faults []ask.Fault
	if by.Proof != "" && by.Proof != ask.ProofCredential {
		faults = append(faults, ask.NewFault("/by/proof", ask.FaultOwnProof, ask.Clip(by.Proof, 80), ask.ProofCredential))
	}
	if len(by.Groups) > 0 {
		faults = append(faults, ask.NewFault("/by/groups", ask.FaultOwnGroups))
	}
	if by.Name != "" {
		faults = append(faults, ask.NewFault("/by/name", ask.FaultOwnName))
	}
	if faults != nil {
		return by, forbidden(faults)
	}
	return ask.By{Principal: OwnName(user), Proof: ask.ProofCredential, Responder: by.Responder}, nil
}

func forbidden(faults []ask.Fault) error {
	return &ask.Error{Code: ask.CodeForbidden, Detail: "the credential does not allow this; get one from \"askbus auth responder --asserts\", and send its JWT in the header Askbus-Credential", Faults: faults}
}

func (a Set) principals(user string) string {
	list := []string{OwnName(user)}
	for _, p := range a.Proven {
		if _, principal, _ := strings.Cut(p, "="); !slices.Contains(list, principal) {
			list = append(list, principal)
		}
	}
	return strings.Join(list, ", ")
}

func (a Set) proofs(principal string) string {
	var list []string
	for _, p := range a.Proven {
		if proof, who, _ := strings.Cut(p, "="); Match(who, principal) && !slices.Contains(list, proof) {
			list = append(list, proof)
		}
	}
	return orNone(list)
}

func orNone(list []string) string {
	if len(list) == 0 {
		return "none"
	}
	return strings.Join(list, ", ")
}
