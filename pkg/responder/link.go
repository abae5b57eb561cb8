package responder

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"strings"
	"time"

	"github.com/askbus/askbus/internal/bus/connection"
	"github.com/askbus/askbus/internal/bus/state"
	"github.com/askbus/askbus/internal/protocol/cloudevent"
	"github.com/askbus/askbus/internal/protocol/subject"
	"github.com/askbus/askbus/internal/protocol/wire"
	"github.com/askbus/askbus/pkg/ask"
)

// codeLetters are not taken for each other.
const codeLetters = "23456789ABCDEFGHJKLMNPQRSTUVWXYZ"

// codeOf returns one of 2^60 codes, of twelve bytes, in three parts: it may be typed.
func codeOf(b [12]byte) string {
	for i := range b {
		b[i] = codeLetters[b[i]%byte(len(codeLetters))]
	}
	return string(b[:4]) + "-" + string(b[4:8]) + "-" + string(b[8:])
}

// codeToken returns what is sent of a code, in whatever case and with or without its
// hyphens it is typed.
func codeToken(code string) string {
	return subject.CodeToken(strings.ToUpper(strings.NewReplacer("-", "", " ", "").Replace(strings.TrimSpace(code))))
}

// Claim makes a code with which a signed-in person of the inbox can say that they are a
// member of this surface's platform: once, until that time. Who has the code can do
// it: only that member may see it.
func (r *Responder) Claim(ctx context.Context, by ask.By) (code string, until time.Time, err error) {
	var b [12]byte
	_, _ = rand.Read(b[:]) // never fails
	return r.claim(ctx, by, codeOf(b))
}

// ClaimOnce is [Responder.Claim] for what several replicas hear, which make the same
// code of a seed: it is secret, and another one each time. All but one of them get
// [ask.ErrConflict].
func (r *Responder) ClaimOnce(ctx context.Context, by ask.By, seed string) (code string, until time.Time, err error) {
	sum := sha256.Sum256([]byte("askbus link seed\x00" + seed))
	return r.claim(ctx, by, codeOf([12]byte(sum[:12])))
}

func (r *Responder) claim(ctx context.Context, by ask.By, code string) (_ string, until time.Time, err error) {
	var made wire.StoredClaim
	err = r.aboutLinks(ctx, subject.VerbClaim, wire.Claim{By: by, Code: codeToken(code), ID: cloudevent.NewID()}, &made)
	return code, made.Until, err
}

// Claimed returns who would be linked with a person by a code. The error is
// [ask.ErrNotFound] if there is no such code, and [ask.ErrConflict] if the member is
// linked to somebody else. Only the web inbox may ask.
func (r *Responder) Claimed(ctx context.Context, by ask.By, code string) (ask.Link, error) {
	return r.link(ctx, wire.Link{By: by, Code: codeToken(code), Look: true})
}

// Link links the member of a chat for whom a code was made with a person. Only the web
// inbox may.
func (r *Responder) Link(ctx context.Context, by ask.By, code string) (ask.Link, error) {
	return r.link(ctx, wire.Link{By: by, Code: codeToken(code), ID: cloudevent.NewID()})
}

// Unlink ends a link that a person made.
func (r *Responder) Unlink(ctx context.Context, by ask.By, principal string) error {
	_, err := r.link(ctx, wire.Link{By: by, End: principal, ID: cloudevent.NewID()})
	return err
}

func (r *Responder) link(ctx context.Context, l wire.Link) (ask.Link, error) {
	var made wire.StoredLink
	err := r.aboutLinks(ctx, subject.VerbLink, l, &made)
	return ask.Link{Tenant: r.opts.Tenant, Principal: made.Principal, Name: made.Name, Account: made.Account, Since: made.Since}, err
}

func (r *Responder) aboutLinks(ctx context.Context, verb subject.Verb, body, reply any) error {
	return connection.JSON(ctx, r.on, string(verb), subject.Responder(r.typ, subject.Self, ask.Key{Tenant: r.opts.Tenant}, verb), body, reply)
}

// Links returns the links that there are, as far as the credential may see them: only
// the web inbox does.
func (r *Responder) Links(ctx context.Context) ([]ask.Link, error) {
	return state.ListLinks(ctx, state.Open(r.nc, state.Responder(r.typ, r.opts.Tenant), state.Links))
}
