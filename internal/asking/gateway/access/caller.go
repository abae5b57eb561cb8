package access

import (
	"net/http"

	"github.com/askbus/askbus/pkg/ask"
)

// TenantOf returns the tenant of a request. Only operators may name another one than their own.
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

// SessionOf returns the session of a request: the named one, else the only one of its token, else
// the default.
func (c *Caller) SessionOf(r *http.Request, named string) string {
	return c.SessionOr(r, named, ask.DefaultSession)
}

// SessionOr is [Caller.SessionOf] with another default, which is made a token.
func (c *Caller) SessionOr(r *http.Request, named, otherwise string) string {
	for _, s := range []string{named, r.URL.Query().Get("session"), r.URL.Query().Get("sessionId"), r.Header.Get("Askbus-Session")} {
		if s != "" {
			return ask.Token(s)
		}
	}
	if s, one := c.Session(); one {
		return s
	}
	return ask.Token(otherwise)
}

// Forbid returns the refusal of something that the caller's token does not allow.
func (c *Caller) Forbid(what string) error {
	return ask.Refusal(ask.CodeForbidden, ask.FaultTokenBeyond, c.Scope(), what)
}

// CheckAsk returns an error if the caller may not ask in a session.
func (c *Caller) CheckAsk(tenant, session string) error {
	if c.MayAsk(tenant, session) {
		return nil
	}
	return c.Forbid("asking for session " + session + " of tenant " + tenant)
}

// CheckAnswer returns an error if the caller may not answer in a session.
func (c *Caller) CheckAnswer(tenant, session string) error {
	if c.MayAnswer(tenant, session) {
		return nil
	}
	return c.Forbid("answering for session " + session + " of tenant " + tenant)
}

// CheckSee returns an error if the caller may not see a session.
func (c *Caller) CheckSee(tenant, session string) error {
	if c.MaySee(tenant, session) {
		return nil
	}
	return c.Forbid("session " + session + " of tenant " + tenant)
}

// Check returns an error if a caller may not do something in a session, such as [Caller.CheckAsk].
type Check func(tenant, session string) error

// Key returns the ask of a path, in whose session the caller must pass check.
func (c *Caller) Key(r *http.Request, check Check) (ask.Key, error) {
	tenant, err := c.TenantOf(r)
	if err != nil {
		return ask.Key{}, err
	}
	k := ask.Key{Tenant: tenant, Session: r.PathValue("session"), ID: r.PathValue("id")}
	if !k.Valid() {
		return k, ask.Refusal(ask.CodeNotFound, ask.FaultBadName, "session or id", ask.Clip(k.Session+"/"+k.ID, 200), ask.MaxToken)
	}
	return k, check(k.Tenant, k.Session)
}
