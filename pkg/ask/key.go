package ask

import "strings"

// Session is one run of one agent, within its tenant.
type Session struct {
	Tenant string `json:"tenant"`
	Name   string `json:"session"`
}

// String returns the session in its text form: tenant/session.
func (s Session) String() string { return s.Tenant + "/" + s.Name }

// Valid reports whether both parts are tokens.
func (s Session) Valid() bool { return ValidToken(s.Tenant) && ValidToken(s.Name) }

// Key returns the key of the ask with this id in the session.
func (s Session) Key(id string) Key { return Key{Tenant: s.Tenant, Session: s.Name, ID: id} }

// Key names one ask on the bus.
type Key struct {
	Tenant  string `json:"tenant"`
	Session string `json:"session"`
	ID      string `json:"id"`
}

// String returns the key in its text form: tenant/session/id.
func (k Key) String() string { return k.Tenant + "/" + k.Session + "/" + k.ID }

// ParseKey parses what [Key.String] returned; ok is false unless the key is valid.
func ParseKey(s string) (k Key, ok bool) {
	tenant, rest, _ := strings.Cut(s, "/")
	session, id, _ := strings.Cut(rest, "/")
	k = Key{Tenant: tenant, Session: session, ID: id}
	return k, k.Valid()
}

// Valid reports whether all three parts are tokens.
func (k Key) Valid() bool { return ValidToken(k.Tenant) && ValidToken(k.Session) && ValidToken(k.ID) }

// Check returns an [*Error] with [ErrInvalid] unless the key is valid.
func (k Key) Check() error {
	var f []Fault
	for _, part := range [][2]string{{"/tenant", k.Tenant}, {"/session", k.Session}, {"/id", k.ID}} {
		if !ValidToken(part[1]) {
			f = append(f, NewFault(part[0], FaultBadToken, clip(part[1]), MaxToken))
		}
	}
	if f == nil {
		return nil
	}
	return InvalidError("ask", f)
}

// InSession returns the session of the ask.
func (k Key) InSession() Session { return Session{Tenant: k.Tenant, Name: k.Session} }

// Key returns the key of the ask.
func (a *Ask) Key() Key { return Key{Tenant: a.Tenant, Session: a.Session, ID: a.ID} }

// Key returns the key of the ask that this outcome ended.
func (o *Outcome) Key() Key { return Key{Tenant: o.Tenant, Session: o.Session, ID: o.AskID} }
