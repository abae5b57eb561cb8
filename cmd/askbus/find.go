package main

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"

	"github.com/askbus/askbus/internal/natsd"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/client"
	"github.com/askbus/askbus/pkg/responder"
)

// cliType is the responder type of this command line.
const cliType = "cli"

// records lists what the credential may see: an agent its session, a responder
// and an operator the tenant or the session that is named.
func (a *app) records(ctx context.Context, b *bus, session, id string, state ask.State) (iter.Seq2[ask.Record, error], error) {
	tenant, home := a.home(b)
	if b.role.Name == natsd.RoleAgent {
		c, err := client.New(b.nc, tenant, home, client.Options{Logger: a.log()})
		if err != nil {
			return nil, err
		}
		return c.All(ctx, client.Query{State: state, Limit: 500}), nil
	}
	r, err := a.responder(b)
	if err != nil {
		return nil, err
	}
	if b.role.Session != "" {
		session = b.role.Session
	}
	return r.All(ctx, responder.Query{Tenant: tenant, Session: session, ID: id, State: state, Limit: 500}), nil
}

// responder speaks as the credential's responder type, or as cli.
func (a *app) responder(b *bus) (*responder.Responder, error) {
	typ := b.role.Type
	if typ == "" {
		typ = cliType
	}
	if b.role.Name == natsd.RoleAgent {
		return nil, ask.Refuse(403, ask.CodeForbidden, "an agent's credential never answers; use a responder's or the operator's")
	}
	return responder.New(b.nc, typ, responder.Options{Tenant: b.role.Tenant, Session: b.role.Session, Logger: a.log()})
}

// find turns ID or SESSION/ID into the key of one ask. A bare id spans the
// sessions that the credential may see, unless one is given.
func (a *app) find(ctx context.Context, b *bus, ref string) (ask.Key, error) {
	tenant, session := a.home(b)
	k := ask.Key{Tenant: tenant, Session: session, ID: ref}
	if s, id, both := strings.Cut(ref, "/"); both {
		k.Session, k.ID = s, id
	}
	if !k.Valid() {
		return k, usage("%q names no ask; give ID or SESSION/ID, of A-Z a-z 0-9 _ -", ref)
	}
	if strings.Contains(ref, "/") || a.session != "" || b.role.Session != "" {
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
		return k, fmt.Errorf("no ask %q in any session of tenant %q; see \"askbus list\": %w", k.ID, tenant, ask.ErrNotFound)
	case 1:
		for only := range seen {
			return only, nil
		}
	}
	var names []string
	for one := range seen {
		names = append(names, one.Session+"/"+one.ID)
	}
	return k, usage("several sessions have an ask %q; name one of %s", k.ID, strings.Join(names, ", "))
}

// record reads one ask.
func (a *app) record(ctx context.Context, b *bus, k ask.Key) (ask.Record, error) {
	rec, err := a.read(ctx, b, k)
	if errors.Is(err, ask.ErrNotFound) {
		return rec, fmt.Errorf("no ask %s/%s in tenant %q; see \"askbus list\": %w", k.Session, k.ID, k.Tenant, ask.ErrNotFound)
	}
	return rec, err
}

func (a *app) read(ctx context.Context, b *bus, k ask.Key) (ask.Record, error) {
	if b.role.Name == natsd.RoleAgent {
		c, err := client.New(b.nc, k.Tenant, k.Session, client.Options{Logger: a.log()})
		if err != nil {
			return ask.Record{}, err
		}
		return c.Get(ctx, k.ID)
	}
	r, err := a.responder(b)
	if err != nil {
		return ask.Record{}, err
	}
	return r.Get(ctx, k)
}
