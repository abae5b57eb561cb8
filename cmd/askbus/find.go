package main

import (
	"context"
	"errors"
	"iter"
	"slices"
	"strings"

	"github.com/askbus/askbus/internal/natsd"
	"github.com/askbus/askbus/internal/subject"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/client"
	"github.com/askbus/askbus/pkg/responder"
	"github.com/nats-io/nats.go"
)

// cliType is the responder type of this command line.
const cliType = "cli"

// records lists the asks that the credential may see: an agent's in its session, a responder's and
// an operator's in the named tenant or session.
func (a *app) records(ctx context.Context, b *bus, session, id string, state ask.State) (iter.Seq2[ask.Record, error], error) {
	tenant, home := a.home(b)
	if b.role.Name == natsd.RoleAgent {
		return b.asks.Session(tenant, home).All(ctx, client.Query{State: state, PageSize: 500}), nil
	}
	r, err := a.responder(b)
	if err != nil {
		return nil, err
	}
	if b.role.Session != "" {
		session = b.role.Session
	}
	return r.All(ctx, responder.Query{Tenant: tenant, Session: session, ID: id, State: state, PageSize: 500}), nil
}

// responder returns a responder of the credential's type. An operator is not a surface: with the
// directory's keys this command line connects as a surface of its own, without them the operator
// answers as itself.
func (a *app) responder(b *bus) (*responder.Responder, error) {
	nc, typ := b.nc, b.role.Type
	switch b.role.Name {
	case natsd.RoleAgent, natsd.RoleHost:
		return nil, ask.Refuse(ask.CodeForbidden, "credential %s may not answer; use a responder's or the operator's", b.role.Name)
	case natsd.RoleGateway:
		typ = subject.TypeGateway
	case natsd.RoleOperator:
		if typ = subject.TypeOperator; a.ownSurface(b) {
			var err error
			if nc, err = a.surface(b); err != nil {
				return nil, err
			}
			typ = cliType
		}
	}
	return responder.New(nc, typ, responder.Options{Tenant: b.role.Tenant, Session: b.role.Session, Logger: a.log()})
}

// ownSurface reports whether this command line answers as a surface of its own.
func (a *app) ownSurface(b *bus) bool {
	return b.role.Name == natsd.RoleOperator && a.Creds == "" && natsd.HasKeys(a.Dir)
}

// surface connects as this command line's own surface, at most once.
func (a *app) surface(b *bus) (*nats.Conn, error) {
	if b.surface != nil {
		return b.surface, nil
	}
	cred, err := a.local(natsd.Role{Name: natsd.RoleResponder, Type: cliType})
	if err != nil {
		return nil, err
	}
	cred.URL = b.cred.URL
	b.surface, err = client.Connect(a.trust(cred), a.log(), nats.RetryOnFailedConnect(false))
	return b.surface, err
}

// find resolves ID or SESSION/ID to the key of one ask. A bare id may be in any session that the
// credential may see, unless --session names one. An id may be shortened to a prefix or a suffix
// that is unique.
func (a *app) find(ctx context.Context, b *bus, ref string) (ask.Key, error) {
	tenant, session := a.home(b)
	k := ask.Key{Tenant: tenant, Session: session, ID: ref}
	if s, id, both := strings.Cut(ref, "/"); both {
		k.Session, k.ID = s, id
	}
	if !k.Valid() {
		return k, usage("invalid ask %q: use ID or SESSION/ID, with A-Z a-z 0-9 _ -", ref)
	}
	if strings.Contains(ref, "/") || a.session != "" || b.role.Session != "" {
		if _, err := a.read(ctx, b, k); errors.Is(err, ask.ErrNotFound) {
			if short, ok, err := a.shortened(ctx, b, ref); ok || err != nil {
				return short, err
			}
		}
		return k, nil
	}
	found, err := a.records(ctx, b, "", k.ID, "")
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
		return k, ask.Refuse(ask.CodeNotFound, "no ask %q in any session of tenant %q; see \"%s\"", k.ID, tenant, a.hint("list"))
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
	return k, usage("several sessions have an ask %q; name one of %s", k.ID, strings.Join(names, ", "))
}

// record reads one ask.
func (a *app) record(ctx context.Context, b *bus, k ask.Key) (ask.Record, error) {
	rec, err := a.read(ctx, b, k)
	if errors.Is(err, ask.ErrNotFound) {
		return rec, a.noAsk(k)
	}
	return rec, err
}

func (a *app) noAsk(k ask.Key) error {
	return ask.Refuse(ask.CodeNotFound, "no ask %s/%s in tenant %q; see \"%s\"", k.Session, k.ID, k.Tenant, a.hint("list"))
}

func (a *app) read(ctx context.Context, b *bus, k ask.Key) (ask.Record, error) {
	if b.role.Name == natsd.RoleAgent {
		return b.asks.Session(k.Tenant, k.Session).Get(ctx, k.ID)
	}
	r, err := a.responder(b)
	if err != nil {
		return ask.Record{}, err
	}
	return r.Get(ctx, k)
}
