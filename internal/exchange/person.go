package exchange

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/askbus/askbus/internal/call"
	"github.com/askbus/askbus/internal/identity"
	"github.com/askbus/askbus/internal/subject"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/nats-io/nats.go"
)

// PersonLife is how long the credential of a person's terminal is good. It is
// short because a NATS server of somebody else's learns of a revocation only when
// its configuration is loaded again; a terminal gets another one by itself.
const PersonLife = time.Hour

// perPerson is how many credentials the terminals of one person get in a minute.
const perPerson = 60

// Person is whose credential it is, and what for: as shared state says, not as
// the web inbox that asks.
type Person struct {
	By     ask.By
	Tenant string // which the credential is for; empty: every tenant
}

// Terminal is what an issuer answers a web inbox.
type Terminal struct {
	Credential json.RawMessage `json:"credential"`
	By         ask.By          `json:"by"`
	LeftOut    int             `json:"groups_left_out,omitempty"` // of the person's groups: a credential holds so many
}

// personRequest is what a web inbox sends.
type personRequest struct {
	Terminal string `json:"terminal"`         // the name of its sign-in
	Of       string `json:"of,omitempty"`     // the tenant under which that lies, if one
	Tenant   string `json:"tenant,omitempty"` // that it wants the credential for
	SealFor  string `json:"seal_for"`         // the inbox's curve key, which the reply is encrypted for
}

// Vouch has an issuer make the credential of a signed-in terminal, over the
// connection of a web inbox. Of is the tenant to which that inbox is narrowed, if
// it is; tenant is what the terminal wants the credential for. It returns a
// [Terminal] as JSON. The error is an [*ask.Error].
func Vouch(ctx context.Context, nc *nats.Conn, of, terminal, tenant string) ([]byte, error) {
	user, token, err := call.On(nc).Sender()
	if err != nil {
		return nil, err
	}
	return request(ctx, nc, func(sealFor string) (*nats.Msg, error) {
		body, err := json.Marshal(personRequest{terminal, of, tenant, sealFor})
		return &nats.Msg{Subject: subject.Person(user), Data: body, Header: nats.Header{call.HeaderCredential: []string{token}}}, err
	})
}

// person makes a credential for a person's terminal.
func (i *Issuer) person(ctx context.Context, m *nats.Msg) ([]byte, error) {
	var r personRequest
	if err := json.Unmarshal(m.Data, &r); err != nil || r.Terminal == "" {
		return nil, ask.Refuse(ask.CodeInvalid, "the request is damaged")
	}
	if i.opts.Person == nil {
		return nil, ask.Refuse(ask.CodeUnavailable, "this issuer makes no credentials for people")
	}
	may, err := i.inbox(m, &r)
	if err != nil {
		return nil, err
	}
	if err := sealable(r.SealFor); err != nil {
		return nil, err
	}
	p, err := i.opts.Person(ctx, r.Of, r.Terminal, r.Tenant)
	if errors.Is(err, ask.ErrNotFound) {
		return nil, ask.Refuse(ask.CodeUnauthorized, "this terminal is signed out; sign in again with \"askbus login\"")
	}
	if err != nil {
		return nil, err
	}
	if r.Of != "" && p.Tenant == "" {
		p.Tenant = r.Of
	}
	if err := vouched(may, &r, &p); err != nil {
		return nil, err
	}
	now := i.opts.Now()
	if !i.people.Take(p.By.Principal, now) {
		return nil, ask.Refuse(ask.CodeQuota, "%d credentials in this minute for the terminals of %.200q are enough; keep the one you have", perPerson, p.By.Principal)
	}
	speaks, left := speaksAs(p.By)
	if errors.Join(speaks.Exact(), speaks.Validate()) != nil {
		return nil, ask.Refuse(ask.CodeForbidden, "%.200q cannot stand in a credential", p.By.Principal)
	}
	rules, _ := i.opts.Source.current()
	grant := Grant{Role: RoleResponder, Type: subject.TypeTUI, Tenant: p.Tenant, Life: PersonLife, Note: TerminalNote(r.Of, r.Terminal, p.By.Principal), May: speaks}
	credential, key, err := i.opts.Sign(grant, rules.NATSURL)
	if err != nil {
		return nil, err
	}
	p.By.Groups = speaks.Groups
	i.opts.Logger.Info("a credential is issued to a person's terminal", slog.String("key", key), slog.String("tenant", p.Tenant), slog.String("principal", ask.CleanLine(p.By.Principal)))
	plain, err := json.Marshal(Terminal{credential, p.By, left})
	if err != nil {
		return nil, err
	}
	return seal(plain, r.SealFor)
}

// inbox checks that a request comes from a web inbox, and says what that may
// assert. NATS has checked the key in the subject.
func (i *Issuer) inbox(m *nats.Msg, r *personRequest) (identity.Assertions, error) {
	none := identity.Assertions{}
	user, ok := subject.ParsePerson(m.Subject)
	tokens := m.Header.Values(call.HeaderCredential)
	if !ok || len(tokens) != 1 {
		return none, ask.Refuse(ask.CodeForbidden, "the request does not show the credential of a web inbox")
	}
	g, err := i.opts.Verifier.Verify(tokens[0], user, i.opts.Now())
	switch {
	case err != nil:
		return none, ask.Refuse(ask.CodeForbidden, "the credential of the web inbox does not count: %s", err)
	case g.Type != subject.TypeWeb, g.Session != "", g.Tenant != r.Of:
		return none, ask.Refuse(ask.CodeForbidden, "this credential is not that of a web inbox of this tenant")
	}
	return g.Assertions, nil
}

// vouched checks that a web inbox may say what its sign-in says of a person, and
// that a terminal of theirs may have a credential at all.
func vouched(may identity.Assertions, r *personRequest, p *Person) error {
	switch p.By.Proof {
	case ask.ProofOIDC, ask.ProofPasskey, ask.ProofOS, ask.ProofLink:
	default:
		return ask.Refuse(ask.CodeForbidden, "somebody who is known by %.40q gets no credential for a terminal", p.By.Proof)
	}
	if r.Of != "" && p.Tenant != r.Of {
		return ask.Refuse(ask.CodeForbidden, "this inbox is of tenant %s, not of %s", r.Of, p.Tenant)
	}
	if p.By.Principal == "" {
		return ask.Refuse(ask.CodeForbidden, "this sign-in names nobody")
	}
	_, err := may.Speak("", p.By)
	return err
}

// speaksAs is what the credential of a person may assert: that person, with that
// proof, in as many of their groups as fit. Left says how many do not.
func speaksAs(by ask.By) (may identity.Assertions, left int) {
	may = identity.Assertions{Proven: []string{by.Proof + "=" + by.Principal}}
	for _, g := range by.Groups {
		wider := identity.Assertions{Proven: may.Proven, Groups: append(slices.Clone(may.Groups), g)}
		if wider.Exact() != nil || wider.Validate() != nil {
			left++
			continue
		}
		may = wider
	}
	return may, left
}

// terminalNote begins the notes of terminals' credentials in the list of what was
// handed out.
const terminalNote = "terminal"

// TerminalNote is that note: it names the sign-in, by which the credential is
// found when that ends.
func TerminalNote(tenant, name, principal string) string {
	return fmt.Sprintf("%s %s/%s of %s", terminalNote, tenant, name, principal)
}

// ParseTerminalNote reads it back.
func ParseTerminalNote(note string) (tenant, name string, ok bool) {
	var word, of string
	if n, err := fmt.Sscan(note, &word, &name, &of); err != nil || n != 3 || word != terminalNote || of != "of" {
		return "", "", false
	}
	return strings.Cut(name, "/")
}
