package ask

// Session is one run of one agent, within its tenant.
type Session struct {
	Tenant string `json:"tenant"`
	Name   string `json:"session"`
}

// String is the session as people write it: tenant/session.
func (s Session) String() string { return s.Tenant + "/" + s.Name }

// Valid reports whether both parts are tokens.
func (s Session) Valid() bool { return ValidToken(s.Tenant) && ValidToken(s.Name) }

// Key names an ask of this session.
func (s Session) Key(id string) Key { return Key{Tenant: s.Tenant, Session: s.Name, ID: id} }

// Key names one ask on the bus.
type Key struct {
	Tenant  string `json:"tenant"`
	Session string `json:"session"`
	ID      string `json:"id"`
}

// String is the key as people write it: tenant/session/id.
func (k Key) String() string { return k.Tenant + "/" + k.Session + "/" + k.ID }

// Valid reports whether all three parts are tokens.
func (k Key) Valid() bool { return ValidToken(k.Tenant) && ValidToken(k.Session) && ValidToken(k.ID) }

// InSession is the session of the ask.
func (k Key) InSession() Session { return Session{Tenant: k.Tenant, Name: k.Session} }

// Key names this ask.
func (a *Ask) Key() Key { return Key{Tenant: a.Tenant, Session: a.Session, ID: a.ID} }

// Key names the ask that this outcome ended.
func (o *Outcome) Key() Key { return Key{Tenant: o.Tenant, Session: o.Session, ID: o.AskID} }
