// Package passkey signs people in with passkeys (WebAuthn), for teams without a
// provider. An administrator invites a person, who registers a passkey and
// signs in with it from then on.
//
// It keeps people's access and public keys in shared state, but no secrets. It
// leaves invitations, cookies and sessions to its callers, which also keep a
// ceremony's secrets between its two steps.
package passkey

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/askbus/askbus/internal/answering/auth"
	"github.com/askbus/askbus/internal/bus/state"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/go-webauthn/webauthn/protocol"
	"github.com/go-webauthn/webauthn/webauthn"
)

// maxKeys is how many passkeys a person may have.
const maxKeys = 8

// Keys are the passkeys of people. It is safe for concurrent use.
type Keys struct {
	bucket *state.Bucket
	cache  *state.Cache
	origin string
	party  *webauthn.WebAuthn
}

// record is a person with passkeys, as stored in shared state.
type record struct {
	Principal string                `json:"principal"`
	Name      string                `json:"name"`
	Groups    []string              `json:"groups,omitempty"`
	Access    ask.Access            `json:"access"` // null means everything
	Since     time.Time             `json:"since"`
	Keys      []webauthn.Credential `json:"keys"`
}

// Origin returns the address at which browsers accept passkeys for an inbox: a
// host name, with TLS or on this machine. A loopback address becomes localhost.
func Origin(base string) (string, error) {
	u, err := url.Parse(base)
	if err != nil || u.Host == "" {
		return "", fmt.Errorf("invalid address %q of the inbox", base)
	}
	host, ip := u.Hostname(), net.ParseIP(u.Hostname())
	if ip != nil && ip.IsLoopback() {
		host, ip = "localhost", nil
		if port := u.Port(); port != "" {
			u.Host = net.JoinHostPort(host, port)
		} else {
			u.Host = host
		}
	}
	local := host == "localhost" || strings.HasSuffix(host, ".localhost")
	if ip != nil || u.Scheme != "https" && !local {
		return "", fmt.Errorf("browsers accept no passkeys at %s: give the inbox a host name and TLS, and set ASKBUS_HTTP_URL to it", base)
	}
	return u.Scheme + "://" + u.Host, nil
}

// New makes the passkeys over a bucket of shared state, for an inbox at an
// origin from [Origin].
func New(bucket *state.Bucket, origin string, log *slog.Logger) (*Keys, error) {
	u, err := url.Parse(origin)
	if err != nil {
		return nil, fmt.Errorf("passkeys: %w", err)
	}
	party, err := webauthn.New(&webauthn.Config{
		RPID: u.Hostname(), RPDisplayName: "askbus", RPOrigins: []string{origin},
		AttestationPreference: protocol.PreferNoAttestation,
		AuthenticatorSelection: protocol.AuthenticatorSelection{
			ResidentKey: protocol.ResidentKeyRequirementRequired, RequireResidentKey: new(true), UserVerification: protocol.VerificationRequired,
		},
	})
	if err != nil {
		return nil, fmt.Errorf("passkeys: %w", err)
	}
	return &Keys{bucket, state.NewCache(bucket, state.CacheOptions{Logger: log}), origin, party}, nil
}

// Run follows the bucket until ctx ends.
func (k *Keys) Run(ctx context.Context) error { return k.cache.Run(ctx) }

// Origin returns the address at which the passkeys work.
func (k *Keys) Origin() string { return k.origin }

// Any reports whether anybody has a passkey.
func (k *Keys) Any() bool {
	all, err := k.cache.All()
	return err == nil && len(all) > 0
}

// handle returns an authenticator's name for a principal.
func handle(principal string) []byte {
	sum := sha256.Sum256([]byte("askbus passkey\x00" + principal))
	return sum[:]
}

func (k *Keys) key(handle []byte) state.Key {
	return state.Key{Tenant: k.bucket.Tenant(), Name: base64.RawURLEncoding.EncodeToString(handle)}
}

// read returns the record of a handle; revision 0 means that there is none.
func (k *Keys) read(ctx context.Context, handle []byte) (r record, revision uint64, err error) {
	if len(handle) != sha256.Size {
		return r, 0, ask.Refuse(ask.CodeNotFound, "nobody here has this passkey")
	}
	e, err := k.bucket.Get(ctx, k.key(handle))
	if err != nil {
		return r, 0, err
	}
	return r, e.Revision, json.Unmarshal(e.Value, &r)
}

// BeginRegister begins to register a passkey of an invited person: it returns
// the options for the browser, and the data to keep for FinishRegister.
func (k *Keys) BeginRegister(ctx context.Context, p auth.Person) (options, keep []byte, err error) {
	r, _, err := k.read(ctx, handle(p.By.Principal))
	if err != nil && !errors.Is(err, ask.ErrNotFound) {
		return nil, nil, err
	}
	if len(r.Keys) >= maxKeys {
		return nil, nil, auth.Tell(ask.CodeInvalid, "%s already has %d passkeys; \"askbus people remove %s\" removes them", p.By.Principal, len(r.Keys), p.By.Principal)
	}
	was := r.Keys
	creation, session, err := k.party.BeginRegistration(user{recordOf(p, was)}, webauthn.WithExclusions(webauthn.Credentials(was).CredentialDescriptors()))
	if err != nil {
		return nil, nil, fmt.Errorf("begin a passkey: %w", err)
	}
	return both(creation.Response, session)
}

func recordOf(p auth.Person, keys []webauthn.Credential) record {
	return record{Principal: p.By.Principal, Name: p.By.Name, Groups: p.By.Groups, Access: p.Access, Keys: keys}
}

// FinishRegister stores the passkey that a browser has made. The person's
// access is from now on that of this invitation. It calls use once, after it
// has verified the passkey and before it stores it; an error of use ends the
// registration.
func (k *Keys) FinishRegister(ctx context.Context, p auth.Person, kept, answer []byte, use func() error) (auth.Person, error) {
	var session webauthn.SessionData
	if err := json.Unmarshal(kept, &session); err != nil {
		return auth.Person{}, fmt.Errorf("finish a passkey: %w", err)
	}
	parsed, err := protocol.ParseCredentialCreationResponseBytes(answer)
	if err != nil {
		return auth.Person{}, notBelieved(err)
	}
	id := handle(p.By.Principal)
	for range 3 {
		was, revision, err := k.read(ctx, id)
		if err != nil && !errors.Is(err, ask.ErrNotFound) {
			return auth.Person{}, err
		}
		r := recordOf(p, was.Keys)
		made, err := k.party.CreateCredential(user{r}, session, parsed)
		if err != nil {
			return auth.Person{}, notBelieved(err)
		}
		if len(r.Keys) >= maxKeys || slices.ContainsFunc(r.Keys, func(c webauthn.Credential) bool { return string(c.ID) == string(made.ID) }) {
			return auth.Person{}, auth.Tell(ask.CodeInvalid, "this passkey is already registered")
		}
		if use != nil {
			if err := use(); err != nil {
				return auth.Person{}, err
			}
			use = nil
		}
		made.Attestation = webauthn.CredentialAttestation{} // none was requested
		r.Keys = append(slices.Clone(r.Keys), *made)
		if r.Since = was.Since; r.Since.IsZero() {
			r.Since = time.Now().UTC()
		}
		if _, err = k.bucket.Update(ctx, k.key(id), r, revision, 0); err == nil {
			return r.person(), nil
		}
		if !errors.Is(err, ask.ErrConflict) {
			return auth.Person{}, fmt.Errorf("keep a passkey: %w", err)
		}
	}
	return auth.Person{}, ask.Refuse(ask.CodeUnavailable, "another registration for %s is in progress; try again", p.By.Principal)
}

// BeginLogin begins a sign-in of an unknown person.
func (k *Keys) BeginLogin() (options, keep []byte, err error) {
	assertion, session, err := k.party.BeginDiscoverableLogin(webauthn.WithUserVerification(protocol.VerificationRequired))
	if err != nil {
		return nil, nil, fmt.Errorf("begin a sign-in: %w", err)
	}
	return both(assertion.Response, session)
}

// FinishLogin returns the person who has signed in. With an error it is whose
// passkey was named, if anybody's: who that is was not proven.
func (k *Keys) FinishLogin(ctx context.Context, kept, answer []byte) (auth.Person, error) {
	var session webauthn.SessionData
	if err := json.Unmarshal(kept, &session); err != nil {
		return auth.Person{}, fmt.Errorf("finish a sign-in: %w", err)
	}
	parsed, err := protocol.ParseCredentialRequestResponseBytes(answer)
	if err != nil {
		return auth.Person{}, notBelieved(err)
	}
	r, revision, err := k.read(ctx, parsed.Response.UserHandle)
	if errors.Is(err, ask.ErrNotFound) {
		return auth.Person{}, auth.Tell(ask.CodeInvalid, "nobody here has this passkey")
	}
	if err != nil {
		return auth.Person{}, err
	}
	_, used, err := k.party.ValidatePasskeyLogin(func(_, _ []byte) (webauthn.User, error) { return user{r}, nil }, session, parsed)
	if err != nil {
		return r.person(), notBelieved(err)
	}
	if used.Authenticator.CloneWarning {
		return r.person(), auth.Tell(ask.CodeInvalid, "this passkey has been copied: its counter went back")
	}
	for i := range r.Keys {
		if string(r.Keys[i].ID) == string(used.ID) {
			r.Keys[i] = *used
		}
	}
	// The counter must be stored before the sign-in succeeds; the second of two
	// concurrent sign-ins fails and is tried again.
	if _, err := k.bucket.Update(ctx, k.key(parsed.Response.UserHandle), r, revision, 0); err != nil {
		return auth.Person{}, fmt.Errorf("keep a sign-in: %w", err)
	}
	return r.person(), nil
}

func (r *record) person() auth.Person {
	return auth.Person{By: ask.By{Principal: r.Principal, Name: r.Name, Groups: r.Groups, Proof: ask.ProofPasskey}, Access: r.Access}
}

func both(options, session any) (a, b []byte, err error) {
	if a, err = json.Marshal(options); err == nil {
		b, err = json.Marshal(session)
	}
	return a, b, err
}

// notBelieved returns the refusal of an authenticator's response.
func notBelieved(err error) error {
	detail := err.Error()
	if e, ok := errors.AsType[*protocol.Error](err); ok && e.Details != "" {
		detail = e.Details
	}
	return auth.Tell(ask.CodeInvalid, "this passkey is not valid: %s", ask.Clip(ask.CleanLine(detail), 200))
}

// user adapts a record to the library's interface.
type user struct{ record }

func (u user) WebAuthnID() []byte                         { return handle(u.Principal) }
func (u user) WebAuthnName() string                       { return strings.TrimPrefix(u.Principal, "passkey:") }
func (u user) WebAuthnDisplayName() string                { return u.Name }
func (u user) WebAuthnCredentials() []webauthn.Credential { return u.Keys }
