package identity

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/askbus/askbus/internal/process/file"
	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nkeys"
)

const (
	// maxRevoked bounds the revocations of an account: its JWT may have 1 MiB,
	// about 11,000 of them.
	maxRevoked = 10_000

	// longest is how long a revocation of a key with an unknown expiry is kept.
	longest = 367 * 24 * time.Hour

	// forget is how long an expired credential stays in the list.
	forget = 30 * 24 * time.Hour
)

// List returns the handed-out credentials, the newest last.
func List(dir string) ([]Issued, error) {
	if _, err := LoadKeys(dir); err != nil {
		return nil, err
	}
	return readIssued(dir)
}

// Revoke revokes credentials by their public keys, and returns their entries in
// the list. It also revokes keys that are not in the list. Signing the account
// again drops revocations of expired credentials.
func Revoke(dir string, keys []string, now time.Time) ([]Issued, error) {
	for _, key := range keys {
		if !nkeys.IsValidPublicUserKey(key) {
			return nil, fmt.Errorf("invalid key %q: it begins with U and has 56 characters; see \"askbus auth list\"", key)
		}
	}
	var revoked []Issued
	err := locked(dir, func() error {
		k, err := LoadKeys(dir)
		if err != nil {
			return err
		}
		list, err := readIssued(dir)
		if err != nil {
			return err
		}
		now := now.UTC().Truncate(time.Second)
		for _, key := range keys {
			i := slices.IndexFunc(list, func(i Issued) bool { return i.Key == key })
			if i < 0 {
				list = append(list, Issued{Key: key, Name: "unknown", Issued: now, Expires: now.Add(longest)})
				i = len(list) - 1
			}
			if list[i].Revoked == nil {
				list[i].Revoked = &now
			}
			revoked = append(revoked, list[i])
		}
		return write(dir, k, list, now)
	})
	return revoked, err
}

// Merge adds the entries of another directory of the same bus to the list,
// except expired ones, revokes what is revoked there, and returns how much of it
// is new here.
func Merge(dir string, others []Issued, now time.Time) (int, error) {
	added := 0
	err := locked(dir, func() error {
		k, err := LoadKeys(dir)
		if err != nil {
			return err
		}
		list, err := readIssued(dir)
		if err != nil {
			return err
		}
		if list, added = union(list, others, now); added == 0 {
			return nil
		}
		return write(dir, k, list, now)
	})
	return added, err
}

// union adds others to a list, and returns how much of them is new.
func union(list, others []Issued, now time.Time) ([]Issued, int) {
	at := map[string]int{}
	for n, i := range list {
		at[i.Key] = n
	}
	added := 0
	for _, i := range others {
		if !nkeys.IsValidPublicUserKey(i.Key) || !now.Before(i.Expires) {
			continue
		}
		if limit := now.Add(longest); i.Expires.After(limit) {
			i.Expires = limit
		}
		n, has := at[i.Key]
		switch {
		case !has:
			at[i.Key] = len(list)
			list = append(list, i)
		case i.Revoked != nil && list[n].Revoked == nil:
			list[n].Revoked = i.Revoked
		case list[n].Scope == "" && i.Scope != "": // revoked here by its key alone
			list[n] = i
		default:
			continue
		}
		added++
	}
	return list, added
}

// write writes the list without the forgotten entries, and signs its
// revocations. The list first: a revocation that is not in it would never be
// dropped.
func write(dir string, k *Keys, list []Issued, now time.Time) error {
	list = slices.DeleteFunc(list, func(i Issued) bool { return i.forgotten(now) })
	if err := writeIssued(dir, list); err != nil {
		return err
	}
	return revocations(dir, k, list, now)
}

// Revoked reads the revocations of a directory that still count, sorted by key.
// It reads the file again only when that has changed. It is not safe for
// concurrent use.
type Revoked struct {
	Dir string

	seen os.FileInfo
	list []Issued
}

// Merge is [Merge] into the directory.
func (r *Revoked) Merge(others []Issued, now time.Time) (int, error) {
	return Merge(r.Dir, others, now)
}

// Read returns them.
func (r *Revoked) Read(now time.Time) ([]Issued, error) {
	info, err := os.Stat(filepath.Join(r.Dir, folder, issuedFile))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("read the list of credentials: %w", err)
	}
	if r.seen == nil || info == nil || !os.SameFile(info, r.seen) || info.Size() != r.seen.Size() || !info.ModTime().Equal(r.seen.ModTime()) {
		all, err := readIssued(r.Dir)
		if err != nil {
			return nil, err
		}
		r.seen, r.list = info, slices.DeleteFunc(all, func(i Issued) bool { return i.Revoked == nil })
		sort.Slice(r.list, func(i, j int) bool { return r.list[i].Key < r.list[j].Key })
	}
	r.list = slices.DeleteFunc(r.list, func(i Issued) bool { return !now.Before(i.Expires) })
	return slices.Clone(r.list), nil
}

// revocations signs the accounts whose revocations differ from the list's.
func revocations(dir string, k *Keys, list []Issued, now time.Time) error {
	a, err := ReadAccounts(dir)
	if err != nil {
		return err
	}
	for _, name := range Names() {
		if a.Tokens[name] == "" {
			continue // of backups, in older keys: it has no users yet
		}
		claims, err := a.Claims(name)
		if err != nil {
			return err
		}
		want := jwt.RevocationList{}
		for _, i := range list {
			if account := k.Signing[i.Scope].Account; i.Revoked != nil && now.Before(i.Expires) && (account == name || account == "") {
				want.Revoke(i.Key, *i.Revoked)
			}
		}
		if len(want) > maxRevoked {
			return fmt.Errorf("%d credentials of account %s are revoked, more than %d; make new signing keys for their roles with \"askbus auth rotate ROLE\" and drop the old keys with --drop-old, and hand out new credentials", len(want), name, maxRevoked)
		}
		if len(want) == 0 {
			want = nil
		}
		if len(want) == len(claims.Revocations) && !slices.ContainsFunc(list, func(i Issued) bool {
			_, has := claims.Revocations[i.Key]
			_, wanted := want[i.Key]
			return has != wanted
		}) {
			continue
		}
		claims.Revocations = want
		if err := a.resign(dir, claims); err != nil {
			return err
		}
	}
	return nil
}

// writeIssued writes the whole list.
func writeIssued(dir string, list []Issued) error {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	for _, i := range list {
		if err := enc.Encode(i); err != nil {
			return err
		}
	}
	if err := file.Replace(filepath.Join(dir, folder, issuedFile), b.Bytes(), 0o600); err != nil {
		return fmt.Errorf("write the list of credentials: %w", err)
	}
	return nil
}

// Rotate makes a new signing key for a role, in all its widths. The old keys
// stay valid until they are dropped, which invalidates every credential that
// they signed.
func Rotate(dir string, scopes []Scope, role string, dropOld bool) error {
	return locked(dir, func() error {
		k, err := LoadKeys(dir)
		if err != nil {
			return err
		}
		found := false
		for name, s := range k.Signing {
			if name != role && !strings.HasPrefix(name, role+"-") {
				continue
			}
			found = true
			if dropOld {
				s.Seeds = s.Seeds[:1]
			} else {
				kp, err := nkeys.CreateAccount()
				if err != nil {
					return err
				}
				private, err := seed(kp)
				if err != nil {
					return err
				}
				s.Seeds = append([]string{private}, s.Seeds...)
			}
			k.Signing[name] = s
		}
		if !found {
			return fmt.Errorf("no role %q has signing keys here", role)
		}
		if err := k.save(filepath.Join(dir, folder)); err != nil {
			return fmt.Errorf("write keys: %w", err)
		}
		a, err := ReadAccounts(dir)
		if err != nil {
			return err
		}
		return a.update(dir, scopes)
	})
}
