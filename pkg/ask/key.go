package ask

// Key names one ask on the bus.
type Key struct{ Tenant, Session, ID string }

// String is the key as people write it: tenant/session/id.
func (k Key) String() string { return k.Tenant + "/" + k.Session + "/" + k.ID }

// Valid reports whether all three parts are tokens.
func (k Key) Valid() bool { return ValidToken(k.Tenant) && ValidToken(k.Session) && ValidToken(k.ID) }

// Key names this ask.
func (a *Ask) Key() Key { return Key{Tenant: a.Tenant, Session: a.Session, ID: a.ID} }

// Key names the ask that this outcome ended.
func (o *Outcome) Key() Key { return Key{Tenant: o.Tenant, Session: o.Session, ID: o.AskID} }
