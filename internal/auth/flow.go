package auth

import (
	"context"
	"time"
)

// Flow is one sign-in at a provider, between leaving for it and coming back.
// Each part is a secret of its own, and good for this flow alone.
type Flow struct {
	State    string // comes back with the browser
	Nonce    string // comes back in what the provider signs
	Verifier string // proves to the provider that who began is who ends (PKCE)
}

// Logout is what a provider says when somebody has signed out there.
type Logout struct {
	Subject string // whose sessions end
	Session string // or this one alone
	Issued  time.Time
}

// Provider signs people in elsewhere. All methods are safe for concurrent use.
type Provider interface {
	// Name is what people call it, for a button.
	Name() string
	// Begin says where the browser goes.
	Begin(ctx context.Context, f Flow) (url string, err error)
	// Finish says who came back with a code. The error is [ask.ErrForbidden] when
	// they are not let in, [ask.ErrInvalid] when what came back cannot be believed,
	// and another one when the provider could not be asked.
	Finish(ctx context.Context, f Flow, code string) (SignIn, error)
	// Logout reads a signed message about somebody who has signed out there.
	Logout(ctx context.Context, token string) (Logout, error)
}
