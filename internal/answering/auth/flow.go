package auth

import (
	"context"
	"time"
)

// Flow holds the secrets of one sign-in at a provider, from leaving for it to
// coming back. Each is separate, and valid for this flow only.
type Flow struct {
	State    string // comes back with the browser
	Nonce    string // comes back in the provider's signed token
	Verifier string // proves to the provider that the same client finishes the flow (PKCE)
	Login    bool   // the provider must ask who it is, even if it knows this browser
}

// Logout is a provider's message that somebody has signed out there.
type Logout struct {
	Issuer  string // the provider
	Subject string // whose sessions to end
	Session string // or only this one
	Issued  time.Time
}

// Provider signs people in elsewhere. All methods are safe for concurrent use.
type Provider interface {
	// Name returns its display name, for a button.
	Name() string
	// Begin returns the URL to which the browser goes.
	Begin(ctx context.Context, f Flow) (url string, err error)
	// Finish returns the person who came back with a code. The error is
	// [ask.ErrForbidden] if the person is not admitted, [ask.ErrInvalid] if the
	// response is not valid, and another one if the provider could not be
	// reached.
	Finish(ctx context.Context, f Flow, code string) (SignIn, error)
	// Logout reads a signed message that somebody has signed out there.
	Logout(ctx context.Context, token string) (Logout, error)
}
