package auth

import (
	"time"

	"github.com/askbus/askbus/pkg/ask"
)

// Person is a signed-in person with their access.
type Person struct {
	By     ask.By
	Access ask.Access // nil: everything
}

// SignIn is the start of a session.
type SignIn struct {
	Person
	Client string    // the browser's name, for lists
	Until  time.Time // when the session ends at the latest; zero: by [Options]

	// Set by a provider, which can end the session and is asked again.
	Issuer  string // the provider
	Subject string // the person's id there
	Session string // the session there, if known
	Token   string // the refresh token
}

// Refreshed is a provider's reply to a refresh.
type Refreshed struct {
	Person
	Token string // the next refresh token; empty: unchanged
}

// record is a session as stored in shared state.
type record struct {
	Principal string     `json:"principal"`
	Name      string     `json:"name,omitempty"`
	Groups    []string   `json:"groups,omitempty"`
	Proof     string     `json:"proof,omitempty"`
	Access    ask.Access `json:"access"`           // null means everything, [] nothing
	Client    string     `json:"client,omitempty"` // the browser's name
	Created   time.Time  `json:"created"`
	Seen      time.Time  `json:"seen"` // last activity, to a few minutes
	Until     time.Time  `json:"until,omitzero"`

	Issuer   string    `json:"issuer,omitempty"`
	Subject  string    `json:"subject,omitempty"`
	Provider string    `json:"provider_session,omitempty"`
	Token    string    `json:"token,omitempty"` // encrypted
	Check    time.Time `json:"check,omitzero"`  // when to ask the provider again

	// Of a terminal, which a session admitted and which ends with it.
	Parent    string `json:"parent,omitempty"`    // the key of that session's entry
	Challenge string `json:"challenge,omitempty"` // of a code that no terminal has redeemed yet
}

func (r *record) person() Person {
	return Person{ask.By{Principal: r.Principal, Name: r.Name, Groups: r.Groups, Proof: r.Proof}, r.Access}
}

// end returns when the session ends at the latest.
func (r *record) end(life time.Duration) time.Time {
	end := r.Created.Add(life)
	if !r.Until.IsZero() && r.Until.Before(end) {
		end = r.Until
	}
	return end
}

// ttl returns how long shared state keeps it.
func (r *record) ttl(now time.Time, idle time.Duration) time.Duration {
	return max(time.Second, min(idle, r.end(maxLife).Sub(now)))
}
