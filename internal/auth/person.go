package auth

import (
	"time"

	"github.com/askbus/askbus/pkg/ask"
)

// Person is somebody who is signed in, and what they may see and decide.
type Person struct {
	By     ask.By
	Access ask.Access // nil: everything
}

// SignIn is what begins a session.
type SignIn struct {
	Person
	Client string    // what the browser calls itself, for lists
	Until  time.Time // when the session ends at the latest; zero: as [Options] says

	// Of a provider elsewhere, by which it can end the session and is asked again.
	Subject string // who it is there
	Session string // the session there, if it names one
	Token   string // to ask again with
}

// Refreshed is what a provider says when it is asked again.
type Refreshed struct {
	Person
	Token string // the one to ask with next time; empty: the same
}

// record is a session as shared state holds it.
type record struct {
	Principal string     `json:"principal"`
	Name      string     `json:"name,omitempty"`
	Groups    []string   `json:"groups,omitempty"`
	Proof     string     `json:"proof,omitempty"`
	Access    ask.Access `json:"access"`           // null is everything, [] nothing
	Client    string     `json:"client,omitempty"` // what the browser calls itself
	Created   time.Time  `json:"created"`
	Seen      time.Time  `json:"seen"` // when something was last done in it, to a few minutes
	Until     time.Time  `json:"until,omitzero"`

	Subject  string    `json:"subject,omitempty"`
	Provider string    `json:"provider_session,omitempty"`
	Token    string    `json:"token,omitempty"` // sealed
	Check    time.Time `json:"check,omitzero"`  // when the provider is asked again

	// Of a terminal, which was let in from a session and ends with it.
	Parent    string `json:"parent,omitempty"`    // the name of that session's entry
	Challenge string `json:"challenge,omitempty"` // of a code that no terminal has used yet
}

func (r *record) person() Person {
	return Person{ask.By{Principal: r.Principal, Name: r.Name, Groups: r.Groups, Proof: r.Proof}, r.Access}
}

// end is when the session ends at the latest.
func (r *record) end(life time.Duration) time.Time {
	end := r.Created.Add(life)
	if !r.Until.IsZero() && r.Until.Before(end) {
		end = r.Until
	}
	return end
}

// ttl is for how long shared state keeps it.
func (r *record) ttl(now time.Time, idle time.Duration) time.Duration {
	return max(time.Second, min(idle, r.end(MaxLife).Sub(now)))
}
