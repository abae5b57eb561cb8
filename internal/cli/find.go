package cli

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"slices"
	"strings"

	"github.com/askbus/askbus/internal/protocol/subject"
	"github.com/askbus/askbus/internal/server/rights"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/client"
	"github.com/askbus/askbus/pkg/responder"
	"github.com/nats-io/nats.go"
)

// OptionIDs parses a list of options, each an id or an exact label, either of which may contain
// commas.
func OptionIDs(q *ask.Question, value string) []string {
	one := func(s string) (string, bool) {
		if q.Option(s) != nil {
			return s, true
		}
		for i := range q.Options {
			if q.Options[i].Label == s {
				return q.Options[i].ID, true
			}
		}
		return s, false
	}
	if id, ok := one(value); ok {
		return []string{id}
	}
	var ids []string
	parts := strings.Split(value, ",")
	for len(parts) > 0 {
		n := len(parts) // the longest run that is an option: a label may have commas
		id, ok := one(strings.TrimSpace(strings.Join(parts[:n], ",")))
		for ; !ok && n > 1; n-- {
			id, ok = one(strings.TrimSpace(strings.Join(parts[:n-1], ",")))
		}
		ids = append(ids, id) // the broker reports unknown options
		parts = parts[n:]
	}
	return ids
}

// SurfaceType is the responder type of this command line.
const SurfaceType = "cli"

// Records lists the asks that the credential may see: an agent's in its session, a responder's and
// an operator's in the named tenant or session.
func (a *App) Records(ctx context.Context, b *Bus, session, id string, state ask.State) (iter.Seq2[ask.Record, error], error) {
	tenant, home := a.Home(b)
	if b.Role.Name == rights.RoleAgent {
		return b.Asks.Session(tenant, home).All(ctx, client.Query{State: state, PageSize: 500}), nil
	}
	r, err := a.Responder(b)
	if err != nil {
		return nil, err
	}
	session = cmp.Or(b.Role.Session, session)
	return r.All(ctx, responder.Query{Tenant: tenant, Session: session, ID: id, State: state, PageSize: 500}), nil
}

// Responder returns a responder of the credential's type. An operator is not a surface: with the
// directory's keys this command line connects as a surface of its own, without them the operator
// answers as itself.
func (a *App) Responder(b *Bus) (*responder.Responder, error) {
	nc, typ := b.NC, b.Role.Type
	switch b.Role.Name {
	case rights.RoleAgent, rights.RoleHost:
		return nil, ask.Refuse(ask.CodeForbidden, "credential %s may not answer; use a responder's or the operator's", b.Role.Name)
	case rights.RoleGateway:
		typ = subject.TypeGateway
	case rights.RoleOperator:
		if typ = subject.TypeOperator; a.ownSurface(b) {
			var err error
			if nc, err = a.surface(b); err != nil {
				return nil, err
			}
			typ = SurfaceType
		}
	}
	return responder.New(nc, typ, responder.Options{Tenant: b.Role.Tenant, Session: b.Role.Session, Logger: a.Logger()})
}

// Answering returns the responder, and who answers.
func (a *App) Answering(b *Bus) (*responder.Responder, ask.By, error) {
	r, err := a.Responder(b)
	if err != nil {
		return nil, ask.By{}, err
	}
	by, err := a.Me(b)
	return r, by, err
}

// ownSurface reports whether this command line answers as a surface of its own.
func (a *App) ownSurface(b *Bus) bool {
	return b.Role.Name == rights.RoleOperator && a.Creds == "" && rights.HasKeys(a.Dir)
}

// surface connects as this command line's own surface, at most once.
func (a *App) surface(b *Bus) (*nats.Conn, error) {
	if b.surface != nil {
		return b.surface, nil
	}
	cred, err := a.Local(rights.Role{Name: rights.RoleResponder, Type: SurfaceType})
	if err != nil {
		return nil, err
	}
	cred.URL = b.Cred.URL
	b.surface, err = a.Connect(cred)
	return b.surface, err
}

// Find resolves ID or SESSION/ID to the key of one ask. A bare id may be in any session that the
// credential may see, unless --session names one. An id may be shortened to a prefix or a suffix
// that is unique.
func (a *App) Find(ctx context.Context, b *Bus, ref string) (ask.Key, error) {
	tenant, session := a.Home(b)
	k := ask.Key{Tenant: tenant, Session: session, ID: ref}
	if s, id, both := strings.Cut(ref, "/"); both {
		k.Session, k.ID = s, id
	}
	if !k.Valid() {
		return k, Usage("invalid ask %q: use ID or SESSION/ID, with A-Z a-z 0-9 _ -", ref)
	}
	if strings.Contains(ref, "/") || a.Session != "" || b.Role.Session != "" {
		if _, err := a.read(ctx, b, k); errors.Is(err, ask.ErrNotFound) {
			if short, ok, err := a.shortened(ctx, b, ref); ok || err != nil {
				return short, err
			}
		}
		return k, nil
	}
	found, err := a.Records(ctx, b, "", k.ID, "")
	if err != nil {
		return k, err
	}
	seen := map[ask.Key]bool{}
	for rec, err := range found {
		if err != nil {
			return k, err
		}
		if rec.Ask.ID == k.ID {
			seen[rec.Ask.Key()] = true
		}
	}
	switch len(seen) {
	case 0:
		if short, ok, err := a.shortened(ctx, b, ref); ok || err != nil {
			return short, err
		}
		return k, ask.Refuse(ask.CodeNotFound, "no ask %q in any session of tenant %q; see \"%s\"", k.ID, tenant, a.Hint("list"))
	case 1:
		for only := range seen {
			return only, nil
		}
	}
	var names []string
	for one := range seen {
		names = append(names, one.Session+"/"+one.ID)
	}
	slices.Sort(names)
	return k, Usage("several sessions have an ask %q; name one of %s", k.ID, strings.Join(names, ", "))
}

// Record reads one ask.
func (a *App) Record(ctx context.Context, b *Bus, k ask.Key) (ask.Record, error) {
	rec, err := a.read(ctx, b, k)
	if errors.Is(err, ask.ErrNotFound) {
		return rec, a.NoAsk(k)
	}
	return rec, err
}

// NoAsk returns the error for an ask that does not exist.
func (a *App) NoAsk(k ask.Key) error {
	return ask.Refuse(ask.CodeNotFound, "no ask %s/%s in tenant %q; see \"%s\"", k.Session, k.ID, k.Tenant, a.Hint("list"))
}

func (a *App) read(ctx context.Context, b *Bus, k ask.Key) (ask.Record, error) {
	if b.Role.Name == rights.RoleAgent {
		return b.Asks.Session(k.Tenant, k.Session).Get(ctx, k.ID)
	}
	r, err := a.Responder(b)
	if err != nil {
		return ask.Record{}, err
	}
	return r.Get(ctx, k)
}

// PickMost limits how many asks are offered for selection.
const PickMost = 50

// shortened finds the one ask whose name begins or ends with ref. Waiting asks take precedence over
// ended ones.
func (a *App) shortened(ctx context.Context, b *Bus, ref string) (ask.Key, bool, error) {
	for _, state := range []ask.State{ask.StatePending, ask.StateResolved} {
		records, err := a.Records(ctx, b, a.Session, "", state)
		if err != nil {
			return ask.Key{}, false, err
		}
		found := map[ask.Key]bool{}
		var last ask.Key
		for rec, err := range records {
			if err != nil {
				return ask.Key{}, false, err
			}
			if k := rec.Ask.Key(); meant(k, ref) {
				found[k], last = true, k
			}
			if len(found) > PickMost {
				break
			}
		}
		switch {
		case len(found) == 1:
			return last, true, nil
		case len(found) > 1:
			names := make([]string, 0, len(found))
			for k := range found {
				names = append(names, k.Session+"/"+k.ID)
			}
			slices.Sort(names)
			most := names[:min(len(names), 10)]
			return ask.Key{}, false, Usage("%q matches %d asks; name one of %s", ref, len(names), strings.Join(most, ", "))
		}
	}
	return ask.Key{}, false, nil
}

// meant reports whether ref may abbreviate k.
func meant(k ask.Key, ref string) bool {
	if session, id, both := strings.Cut(ref, "/"); both {
		return k.Session == session && (strings.HasPrefix(k.ID, id) || strings.HasSuffix(k.ID, id))
	}
	return strings.HasPrefix(k.ID, ref) || strings.HasSuffix(k.ID, ref)
}
