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

	"github.com/askbus/askbus/internal/bus/connection"
	"github.com/askbus/askbus/internal/protocol/assertion"
	"github.com/askbus/askbus/internal/protocol/subject"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/nats-io/nats.go"
)

// PersonLife is the lifetime of the credential of a person's terminal. It is
// short because a foreign NATS server learns of a revocation only when its
// configuration is reloaded; a terminal renews its credential by itself.
const PersonLife = time.Hour

// perPerson bounds the credentials per minute for the terminals of one person.
const perPerson = 60

// Person is the holder of a credential and its tenant: from shared state, not
// from the requesting web inbox.
type Person struct {
	By     ask.By
	Tenant string // of the credential; empty: every tenant
}

// Terminal is an issuer's reply to a web inbox.
type Terminal struct {
	Credential json.RawMessage `json:"credential"`
	By         ask.By          `json:"by"`
	LeftOut    int             `json:"groups_left_out,omitempty"` // number of groups that did not fit into the credential
}

// personRequest is a web inbox's request.
type personRequest struct {
	Terminal string `json:"terminal"`         // the key of its sign-in
	Of       string `json:"of,omitempty"`     // the tenant that it is stored under, if any
	Tenant   string `json:"tenant,omitempty"` // the requested tenant
	SealFor  string `json:"seal_for"`         // the inbox's curve key, to which the reply is encrypted
}

// Vouch requests the credential of a signed-in terminal from an issuer, over
// the connection of a web inbox. of is the tenant to which that inbox is
// restricted, if any; tenant is the one that the terminal requests. It returns
// a [Terminal] as JSON. The error is an [*ask.Error].
func Vouch(ctx context.Context, nc *nats.Conn, of, terminal, tenant string) ([]byte, error) {
	user, token, err := connection.On(nc).Sender()
	if err != nil {
		return nil, err
	}
	return request(ctx, nc, func(sealFor string) (*nats.Msg, error) {
		body, err := json.Marshal(personRequest{terminal, of, tenant, sealFor})
		return &nats.Msg{Subject: subject.Person(user, of), Data: body, Header: nats.Header{connection.HeaderCredential: []string{token}}}, err
	})
}

// person makes a credential for a person's terminal.
func (i *Issuer) person(ctx context.Context, m *nats.Msg) ([]byte, error) {
	var r personRequest
	if err := json.Unmarshal(m.Data, &r); err != nil || r.Terminal == "" {
		return nil, ask.Refuse(ask.CodeInvalid, "the request is malformed")
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
		return nil, ask.Refuse(ask.CodeQuota, "the terminals of %.200q have received %d credentials in this minute, the maximum; keep the one you have", p.By.Principal, perPerson)
	}
	speaks, left := speaksAs(p.By)
	if errors.Join(speaks.Exact(), speaks.Validate()) != nil {
		return nil, ask.Refuse(ask.CodeForbidden, "%.200q cannot be put into a credential", p.By.Principal)
	}
	rules, _ := i.opts.Source.current()
	grant := Grant{Role: roleResponder, Type: subject.TypeTUI, Tenant: p.Tenant, Life: PersonLife, Note: noteOfTerminal(r.Of, r.Terminal, p.By.Principal), May: speaks}
	credential, key, err := i.opts.Sign(grant, rules.NATSURL)
	if err != nil {
		return nil, err
	}
	p.By.Groups = speaks.Groups
	i.opts.Logger.Info("issued a credential to a person's terminal", slog.String("key", key), slog.String("tenant", p.Tenant), slog.String("principal", ask.CleanLine(p.By.Principal)))
	plain, err := json.Marshal(Terminal{credential, p.By, left})
	if err != nil {
		return nil, err
	}
	return seal(plain, r.SealFor)
}

// inbox checks that a request comes from a web inbox, and returns what it may
// assert. NATS has checked the key in the subject.
func (i *Issuer) inbox(m *nats.Msg, r *personRequest) (assertion.Set, error) {
	none := assertion.Set{}
	user, tenant, ok := subject.ParsePerson(m.Subject)
	tokens := m.Header.Values(connection.HeaderCredential)
	if !ok || len(tokens) != 1 {
		return none, ask.Refuse(ask.CodeForbidden, "the request does not show the credential of a web inbox")
	}
	g, err := i.opts.Verifier.Verify(tokens[0], user, i.opts.Now())
	switch {
	case err != nil:
		return none, ask.Refuse(ask.CodeForbidden, "the credential of the web inbox is not accepted: %s", err)
	case g.Type != subject.TypeWeb, g.Session != "", g.Tenant != tenant, tenant != r.Of:
		return none, ask.Refuse(ask.CodeForbidden, "this credential does not belong to a web inbox of this tenant")
	}
	return g.Assertions, nil
}

// vouched checks that a web inbox may assert its sign-in's claims about a
// person, and that a terminal of theirs may have a credential at all.
func vouched(may assertion.Set, r *personRequest, p *Person) error {
	switch p.By.Proof {
	case ask.ProofOIDC, ask.ProofPasskey, ask.ProofOS, ask.ProofLink:
	default:
		return ask.Refuse(ask.CodeForbidden, "a sign-in with proof %.40q gets no credential for a terminal", p.By.Proof)
	}
	if r.Of != "" && p.Tenant != r.Of {
		return ask.Refuse(ask.CodeForbidden, "this inbox is for tenant %s, not %s", r.Of, p.Tenant)
	}
	if p.By.Principal == "" {
		return ask.Refuse(ask.CodeForbidden, "this sign-in has no principal")
	}
	_, err := may.Speak("", p.By)
	return err
}

// speaksAs returns what the credential of a person may assert: that person,
// with that proof, in as many of their groups as fit. left is the number that
// do not fit.
func speaksAs(by ask.By) (may assertion.Set, left int) {
	may = assertion.Set{Proven: []string{by.Proof + "=" + by.Principal}}
	for _, g := range by.Groups {
		wider := assertion.Set{Proven: may.Proven, Groups: append(slices.Clone(may.Groups), g)}
		if wider.Exact() != nil || wider.Validate() != nil {
			left++
			continue
		}
		may = wider
	}
	return may, left
}

// terminalNote is the prefix of the notes of terminals' credentials in the list
// of handed-out ones.
const terminalNote = "terminal"

// noteOfTerminal returns that note. It names the sign-in, so that the
// credential can be found when the sign-in ends.
func noteOfTerminal(tenant, name, principal string) string {
	return fmt.Sprintf("%s %s/%s of %s", terminalNote, tenant, name, principal)
}

// ParseTerminalNote parses the note.
func ParseTerminalNote(note string) (tenant, name string, ok bool) {
	var word, of string
	if n, err := fmt.Sscan(note, &word, &name, &of); err != nil || n != 3 || word != terminalNote || of != "of" {
		return "", "", false
	}
	return strings.Cut(name, "/")
}
