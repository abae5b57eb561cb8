package access

import (
	"net/http"

	"github.com/askbus/askbus/pkg/ask"
)

// TenantOf is the tenant that a request is about. Only operators may name
// another one than their own.
func (c *Caller) TenantOf(r *http.Request) (string, error) {
	t := r.URL.Query().Get("tenant")
	switch {
	case t == "" || t == c.Tenant:
		return c.Tenant, nil
	case !c.MaySee(t, ask.DefaultSession) || !ask.ValidToken(t):
		return "", c.Forbid("tenant " + Quote(t))
	}
	return t, nil
}

// SessionOf is the session that a request is about: the one it names, else the
// only one of its token, else the one for those who have none.
func (c *Caller) SessionOf(r *http.Request, named string) string {
	for _, s := range []string{named, r.URL.Query().Get("session"), r.URL.Query().Get("sessionId"), r.Header.Get("Askbus-Session")} {
		if s != "" {
			return ask.Token(s)
		}
	}
	if s, one := c.Session(); one {
		return s
	}
	return ask.DefaultSession
}

// Forbid is the refusal of something that is beyond the caller's token.
func (c *Caller) Forbid(what string) error {
	return ask.Refuse(ask.CodeForbidden, "this token %s; %s is beyond it", c.Scope(), what)
}

// CheckAsk is nil, or the refusal of a caller who may not ask for a session.
func (c *Caller) CheckAsk(tenant, session string) error {
	if c.MayAsk(tenant, session) {
		return nil
	}
	return c.Forbid("asking for session " + session + " of tenant " + tenant)
}

// CheckAnswer is nil, or the refusal of a caller who may not answer for a
// session.
func (c *Caller) CheckAnswer(tenant, session string) error {
	if c.MayAnswer(tenant, session) {
		return nil
	}
	return c.Forbid("answering for session " + session + " of tenant " + tenant)
}

// CheckSee is nil, or the refusal of a caller who may not see a session.
func (c *Caller) CheckSee(tenant, session string) error {
	if c.MaySee(tenant, session) {
		return nil
	}
	return c.Forbid("session " + session + " of tenant " + tenant)
}

// Key is the ask that a path names.
func (c *Caller) Key(r *http.Request) (ask.Key, error) {
	tenant, err := c.TenantOf(r)
	if err != nil {
		return ask.Key{}, err
	}
	k := ask.Key{Tenant: tenant, Session: r.PathValue("session"), ID: r.PathValue("id")}
	if !k.Valid() {
		return k, ask.Refuse(ask.CodeNotFound, "%.200q names no ask; a session and an id are 1 to %d of A-Z a-z 0-9 _ -", k.Session+"/"+k.ID, ask.MaxToken)
	}
	return k, nil
}
