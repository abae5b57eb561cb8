package chat

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"strings"
)

// Paired is who said a pairing code in a private message, and where: the result of an app's Pair(ctx, code), which waits
// for that message until ctx ends and ignores all others.
type Paired struct {
	Place     string            // id of the private chat, as [Target.Channel]; empty: post to Person
	Person    string            // id of the user, as [Target.Person] and in [Routes.People]
	Principal string            // whom they are here: "telegram:123"
	Name      string            // what the platform says that they are called
	Settings  map[string]string // that posting there needs, by the name of the variable without its prefix
}

// Target returns where to post to them.
func (p *Paired) Target() Target {
	if p.Place != "" {
		return Target{Channel: p.Place}
	}
	return Target{Person: p.Person}
}

// What a pairing code is of.
const (
	letters     = "23456789ABCDEFGHJKLMNPQRSTUVWXYZ"
	codeLetters = 8
)

// NewPairingCode returns a code of eight letters and digits that are not taken for each other, in two halves: it is typed
// on a phone, and lives for minutes. There are 2^40.
func NewPairingCode() string {
	b := make([]byte, codeLetters)
	_, _ = rand.Read(b) // never fails
	for i := range b {
		b[i] = letters[b[i]%byte(len(letters))]
	}
	return string(b[:4]) + "-" + string(b[4:])
}

// SaysCode reports whether a private message is nothing but a pairing code, in any case and with or without its hyphen.
func SaysCode(message, code string) bool {
	said, want := bareCode(message), bareCode(code)
	return want != "" && subtle.ConstantTimeCompare([]byte(said), []byte(want)) == 1
}

// MayBeCode reports whether a private message is of the form of a pairing code.
func MayBeCode(message string) bool {
	said := bareCode(message)
	return len(said) == codeLetters && strings.Trim(said, letters) == ""
}

func bareCode(message string) string {
	return strings.ToUpper(strings.NewReplacer("-", "", " ", "").Replace(strings.TrimSpace(message)))
}

// Pairing is a code that is waited for.
type Pairing struct {
	code  string
	found chan Paired
}

// WaitForCode waits until a message says a code, which [Surface.Pairing] returns meanwhile, and returns who said it.
func (s *Surface) WaitForCode(ctx context.Context, code string) (Paired, error) {
	p := &Pairing{code, make(chan Paired, 1)}
	s.pairing.Store(p)
	defer s.pairing.Store(nil)
	select {
	case who := <-p.found:
		return who, nil
	case <-ctx.Done():
		return Paired{}, ctx.Err()
	}
}

// Pairing returns the code that is waited for; nil: none is.
func (s *Surface) Pairing() *Pairing { return s.pairing.Load() }

// Says reports whether a private message is the code.
func (p *Pairing) Says(message string) bool { return SaysCode(message, p.code) }

// Found notes who said the code; ok is false if somebody was faster.
func (p *Pairing) Found(who Paired) (ok bool) {
	select {
	case p.found <- who:
		return true
	default:
		return false
	}
}
