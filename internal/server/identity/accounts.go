package identity

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/askbus/askbus/internal/bus/servertime"
	"github.com/askbus/askbus/internal/process/file"
	"github.com/askbus/askbus/internal/protocol/subject"
	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nkeys"
)

// Accounts is the public part of a directory: what a server needs.
type Accounts struct {
	Operator *jwt.OperatorClaims

	OperatorToken string            // its JWT
	Keys          map[string]string // public keys by name
	Tokens        map[string]string // account JWTs by name
}

// Ensure creates the keys of a directory if there are none, and signs its
// accounts again if the scopes have changed.
func Ensure(dir string, scopes []Scope) (*Accounts, error) {
	var a *Accounts
	err := locked(dir, func() error {
		if !Exists(dir) {
			if err := create(dir, scopes); err != nil {
				return fmt.Errorf("make keys: %w", err)
			}
		}
		var err error
		if a, err = ReadAccounts(dir); err != nil {
			return err
		}
		return a.update(dir, scopes)
	})
	if err != nil {
		return nil, err
	}
	return a, nil
}

// create writes all files to a temporary directory and moves it in place
// atomically.
func create(dir string, scopes []Scope) error {
	tmp, err := os.MkdirTemp(dir, folder+".new-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp) //nolint:errcheck // moved, or useless
	k, operator, err := newKeys()
	if err != nil {
		return err
	}
	if _, err := k.scopes(scopes); err != nil {
		return err
	}
	a := &Accounts{Keys: k.Accounts, Tokens: map[string]string{}}
	public, err := operator.PublicKey()
	if err != nil {
		return err
	}
	a.Operator = jwt.NewOperatorClaims(public)
	a.Operator.Name, a.Operator.SystemAccount = "askbus", k.Accounts[System]
	token, err := a.Operator.Encode(operator)
	if err != nil {
		return err
	}
	private, err := seed(operator)
	if err != nil {
		return err
	}
	for name, text := range map[string]string{operatorSeed: private, operatorFile: token} {
		if err := file.Replace(filepath.Join(tmp, name), []byte(text+"\n"), 0o600); err != nil {
			return err
		}
	}
	for _, claims := range a.plain(scopes) {
		if claims.SigningKeys, err = k.signers(claims.Name, scopes); err != nil {
			return err
		}
		if err := a.sign(tmp, operator, claims); err != nil {
			return err
		}
	}
	if err := errors.Join(k.save(tmp), file.SyncDir(tmp)); err != nil {
		return err
	}
	if err := os.Rename(tmp, filepath.Join(dir, folder)); err != nil {
		return err
	}
	return file.SyncDir(dir)
}

// plain returns the accounts without users. Their limit of subscriptions, which
// nats-server applies to each connection, is the highest of their scopes.
func (a *Accounts) plain(scopes []Scope) []*jwt.AccountClaims {
	system, ledger, bus, backup := jwt.NewAccountClaims(a.Keys[System]), jwt.NewAccountClaims(a.Keys[Ledger]), jwt.NewAccountClaims(a.Keys[Bus]), jwt.NewAccountClaims(a.Keys[Backup])
	system.Name, ledger.Name, bus.Name, backup.Name = System, Ledger, Bus, Backup
	ledger.Limits.JetStreamLimits = jwt.JetStreamLimits{MemoryStorage: jwt.NoLimit, DiskStorage: jwt.NoLimit, Streams: jwt.NoLimit, Consumer: jwt.NoLimit}
	// The ledger's account exports to clients only what the streams republish:
	// questions and outcomes, and changes of shared state.
	for _, root := range []string{subject.Out, subject.StateOut} {
		all := jwt.Subject(root + ".>")
		ledger.Exports.Add(&jwt.Export{Name: root, Subject: all, Type: jwt.Stream})
		bus.Imports.Add(&jwt.Import{Name: root, Subject: all, Account: a.Keys[Ledger], Type: jwt.Stream})
	}
	// Backups read it from outside: one request may have many replies.
	// Without an import of INFO, nats-server imports the API of the account itself,
	// which has no streams.
	for _, s := range append(Reading(), "$JS.API.INFO") {
		ledger.Exports.Add(&jwt.Export{Name: s, Subject: jwt.Subject(s), Type: jwt.Service, ResponseType: jwt.ResponseTypeStream})
		backup.Imports.Add(&jwt.Import{Name: s, Subject: jwt.Subject(s), Account: a.Keys[Ledger], Type: jwt.Service})
	}
	// Brokers learn from each server how much it may store.
	system.Exports.Add(&jwt.Export{Name: "servers", Subject: subject.Servers, Type: jwt.Service, ResponseType: jwt.ResponseTypeStream})
	ledger.Imports.Add(&jwt.Import{Name: "servers", Subject: subject.Servers, Account: a.Keys[System], Type: jwt.Service})
	all := []*jwt.AccountClaims{system, ledger, bus, backup}
	for _, claims := range all {
		claims.Limits.Subs = mostSubscriptions(claims.Name, scopes)
		sort.Sort(claims.Exports) // as Encode does, so that what is signed compares equal
		sort.Sort(claims.Imports)
	}
	return all
}

func mostSubscriptions(account string, scopes []Scope) int64 {
	var most int64 = 1 // for an account without users; 0 would be no limit in a JWT
	for _, s := range scopes {
		switch {
		case s.Account != account:
		case s.Subscriptions == 0:
			return jwt.NoLimit
		default:
			most = max(most, s.Subscriptions)
		}
	}
	return most
}

// ReadAccounts reads the public part of a directory.
func ReadAccounts(dir string) (*Accounts, error) {
	k, err := LoadKeys(dir)
	if err != nil {
		return nil, err
	}
	token, err := read(dir, operatorFile)
	if err != nil {
		return nil, err
	}
	a := &Accounts{Keys: k.Accounts, Tokens: map[string]string{}, OperatorToken: token}
	if a.Operator, err = jwt.DecodeOperatorClaims(token); err != nil {
		return nil, fmt.Errorf("%s is damaged: %w; restore it from a backup", filepath.Join(dir, folder, operatorFile), err)
	}
	for name, key := range k.Accounts {
		if a.Tokens[name], err = read(dir, name+".jwt"); name == Backup && errors.Is(err, os.ErrNotExist) {
			continue // of older keys; Ensure signs it
		} else if err != nil {
			return nil, err
		}
		claims, err := jwt.DecodeAccountClaims(a.Tokens[name])
		if err != nil || claims.Subject != key || claims.Issuer != a.Operator.Subject {
			return nil, fmt.Errorf("%s is damaged or belongs to another bus; restore it from a backup", filepath.Join(dir, folder, name+".jwt"))
		}
	}
	return a, nil
}

func read(dir, name string) (string, error) {
	data, err := os.ReadFile(filepath.Join(dir, folder, name))
	if err != nil {
		return "", fmt.Errorf("read keys: %w; restore it from a backup", err)
	}
	return strings.TrimSpace(string(data)), nil
}

// Claims parses an account's JWT.
func (a *Accounts) Claims(name string) (*jwt.AccountClaims, error) {
	return jwt.DecodeAccountClaims(a.Tokens[name])
}

// update signs accounts again whose signing keys differ from the scopes'.
func (a *Accounts) update(dir string, scopes []Scope) error {
	k, err := LoadKeys(dir)
	if err != nil {
		return err
	}
	changed, err := k.scopes(scopes)
	if err != nil {
		return err
	}
	if k.Accounts[Backup] == "" {
		if err := k.backup(); err != nil {
			return err
		}
		changed, a.Keys = true, k.Accounts
	}
	if changed { // first: a key that no account lists is harmless
		if err := k.save(filepath.Join(dir, folder)); err != nil {
			return err
		}
	}
	for _, want := range a.plain(scopes) {
		claims := &jwt.AccountClaims{}
		if a.Tokens[want.Name] != "" {
			if claims, err = a.Claims(want.Name); err != nil {
				return err
			}
		}
		if want.SigningKeys, err = k.signers(want.Name, scopes); err != nil {
			return err
		}
		want.Revocations = claims.Revocations
		if same(claims, want) {
			continue
		}
		if err := a.resign(dir, want); err != nil {
			return err
		}
	}
	return nil
}

// resign signs an account with the operator's key.
func (a *Accounts) resign(dir string, claims *jwt.AccountClaims) error {
	operator, err := operatorKey(dir)
	if err != nil {
		return err
	}
	at := filepath.Join(dir, folder)
	if err := a.sign(at, operator, claims); err != nil {
		return err
	}
	return file.SyncDir(at)
}

// Under makes the accounts ready for servers with another operator, whose
// system account this is: it exports what askbus asks the servers. Nothing is
// written; the accounts are signed with the operator's key of dir.
func (a *Accounts) Under(dir, system string) error {
	if !nkeys.IsValidPublicAccountKey(system) {
		return fmt.Errorf("%.64q is not the public key of an account, such as %s", system, a.Keys[System])
	}
	operator, err := operatorKey(dir)
	if err != nil {
		return err
	}
	own, err := a.Claims(System)
	if err != nil {
		return err
	}
	ledger, err := a.Claims(Ledger)
	if err != nil {
		return err
	}
	own.Exports = nil
	own.Imports.Add(&jwt.Import{Name: "time", Subject: servertime.Subject, Account: system, Type: jwt.Service})
	for _, i := range ledger.Imports {
		i.Account = system
	}
	for _, claims := range []*jwt.AccountClaims{own, ledger} {
		if a.Tokens[claims.Name], err = claims.Encode(operator); err != nil {
			return fmt.Errorf("sign account %s: %w", claims.Name, err)
		}
	}
	return nil
}

// operatorKey reads the operator's key, which may be stored elsewhere.
func operatorKey(dir string) (nkeys.KeyPair, error) {
	path := filepath.Join(dir, folder, operatorSeed)
	data, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("the permissions or the revocations must be signed again, but the operator's key %s is missing; put it back and run \"askbus auth init --dir %s\"", path, dir)
	}
	if err != nil {
		return nil, fmt.Errorf("read the operator's key: %w", err)
	}
	kp, err := nkeys.FromSeed([]byte(strings.TrimSpace(string(data))))
	if err != nil {
		return nil, fmt.Errorf("the operator's key %s is damaged; restore it from a backup", path)
	}
	return kp, nil
}

// sign signs an account and writes its JWT into dir.
func (a *Accounts) sign(dir string, operator nkeys.KeyPair, claims *jwt.AccountClaims) error {
	token, err := claims.Encode(operator)
	if err != nil {
		return fmt.Errorf("sign account %s: %w", claims.Name, err)
	}
	if err := file.Replace(filepath.Join(dir, claims.Name+".jwt"), []byte(token+"\n"), 0o600); err != nil {
		return err
	}
	a.Tokens[claims.Name] = token
	return nil
}

// signers returns the signing keys of an account, each with its scope's
// template.
func (k *Keys) signers(account string, scopes []Scope) (jwt.SigningKeys, error) {
	keys := jwt.SigningKeys{}
	for _, s := range scopes {
		if s.Account != account {
			continue
		}
		for _, private := range k.Signing[s.Name].Seeds {
			kp, err := nkeys.FromSeed([]byte(private))
			if err != nil {
				return nil, fmt.Errorf("the signing key of %s is damaged; restore %s from a backup", s.Name, keysFile)
			}
			public, err := kp.PublicKey()
			if err != nil {
				return nil, err
			}
			scope := jwt.NewUserScope()
			scope.Key, scope.Role, scope.Template.Permissions = public, s.Name, s.Permissions
			if s.Subscriptions > 0 {
				scope.Template.Subs = s.Subscriptions
			}
			switch {
			case s.InProcess:
				scope.Template.AllowedConnectionTypes = jwt.StringList{jwt.ConnectionTypeInProcess}
			case s.Leaf:
				scope.Template.AllowedConnectionTypes = jwt.StringList{jwt.ConnectionTypeLeafnode, jwt.ConnectionTypeLeafnodeWS}
			default:
				scope.Template.AllowedConnectionTypes = jwt.StringList{jwt.ConnectionTypeStandard, jwt.ConnectionTypeWebsocket, jwt.ConnectionTypeInProcess}
			}
			keys.AddScopedSigner(scope)
		}
	}
	return keys, nil
}

// same compares accounts, ignoring when they were signed.
func same(a, b *jwt.AccountClaims) bool {
	text := func(c *jwt.AccountClaims) []string {
		account := c.Account
		account.GenericFields, account.SigningKeys = jwt.GenericFields{}, nil
		parts := []any{account}
		for _, s := range c.SigningKeys {
			parts = append(parts, s)
		}
		var all []string
		for _, part := range parts {
			data, err := json.Marshal(part)
			if err != nil {
				return nil
			}
			all = append(all, string(data))
		}
		slices.Sort(all)
		return all
	}
	return slices.Equal(text(a), text(b))
}

// Share copies the keys of a directory to another, of the same bus, which keeps
// what only it has issued or revoked.
func Share(from, to string) error {
	return locked(to, func() error {
		own, err := readIssued(to)
		if err != nil {
			return fmt.Errorf("share keys: %w", err)
		}
		source, target := filepath.Join(from, folder), filepath.Join(to, folder)
		entries, err := os.ReadDir(source)
		if err != nil {
			return fmt.Errorf("share keys: %w", err)
		}
		if err := os.MkdirAll(target, 0o700); err != nil {
			return fmt.Errorf("share keys: %w", err)
		}
		for _, e := range entries {
			if strings.HasPrefix(e.Name(), ".") || e.Name() == issuedFile {
				continue // a mounted Secret keeps its versions there; the list is written at the end
			}
			data, err := os.ReadFile(filepath.Join(source, e.Name()))
			if err == nil {
				err = file.Replace(filepath.Join(target, e.Name()), data, 0o600)
			}
			if err != nil {
				return fmt.Errorf("share keys: %w", err)
			}
		}
		if err := file.SyncDir(target); err != nil {
			return fmt.Errorf("share keys: %w", err)
		}
		k, err := LoadKeys(to)
		if err != nil {
			return err
		}
		list, err := readIssued(from)
		if err != nil {
			return err
		}
		list, _ = union(list, own, time.Now())
		if err := write(to, k, list, time.Now()); err != nil {
			return fmt.Errorf("share keys: keep what %s has issued and revoked: %w", target, err)
		}
		return nil
	})
}
