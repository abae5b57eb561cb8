package identity

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"
)

const issuedFile = "issued.jsonl"

// Issued records a handed-out credential: enough to find and revoke it, without
// secrets.
type Issued struct {
	Key     string     `json:"key"`
	Name    string     `json:"name"`
	Scope   string     `json:"scope"`
	Note    string     `json:"note,omitempty"`
	Issued  time.Time  `json:"issued"`
	Expires time.Time  `json:"expires"`
	Revoked *time.Time `json:"revoked,omitempty"`
}

// HandOut issues a credential and adds it to the directory's list.
func HandOut(dir string, u User, note string, now time.Time) (Credential, error) {
	var c Credential
	err := locked(dir, func() error {
		k, err := LoadKeys(dir)
		if err != nil {
			return err
		}
		if c, err = k.Issue(u, now); err != nil {
			return err
		}
		return appendIssued(dir, Issued{Key: c.Key, Name: u.Name, Scope: u.Scope, Note: note, Issued: c.Issued.UTC(), Expires: c.Expires.UTC()})
	})
	return c, err
}

// appendIssued appends one entry. It ends a partial line, which a crash may
// leave and [readIssued] skips.
func appendIssued(dir string, i Issued) error {
	line, err := json.Marshal(i)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(filepath.Join(dir, folder, issuedFile), os.O_CREATE|os.O_APPEND|os.O_RDWR, 0o600)
	if err != nil {
		return fmt.Errorf("note the credential: %w", err)
	}
	before, err := f.Seek(0, io.SeekEnd)
	if last := make([]byte, 1); err == nil && before > 0 {
		_, err = f.ReadAt(last, before-1)
		if last[0] != '\n' {
			line = slices.Concat([]byte("\n"), line)
		}
	}
	if err == nil {
		_, err = f.Write(append(line, '\n'))
	}
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return fmt.Errorf("note the credential: %w", err)
	}
	if before/tidyEvery != (before+int64(len(line))+1)/tidyEvery {
		return tidy(dir, i.Issued)
	}
	return nil
}

// tidyEvery is the growth in bytes after which the list drops old entries.
const tidyEvery = 1 << 20

// tidy drops entries that are no longer needed.
func tidy(dir string, now time.Time) error {
	list, err := readIssued(dir)
	if err != nil {
		return err
	}
	return writeIssued(dir, slices.DeleteFunc(list, func(i Issued) bool { return i.forgotten(now) }))
}

// forgotten reports whether an entry may be dropped: a month after it expired,
// or an hour after if its life was at most a day, as for exchanged credentials,
// of which there are many.
func (i *Issued) forgotten(now time.Time) bool {
	after := forget
	if i.Expires.Sub(i.Issued) <= 24*time.Hour {
		after = time.Hour
	}
	return now.Sub(i.Expires) > after
}

func readIssued(dir string) ([]Issued, error) {
	data, err := os.ReadFile(filepath.Join(dir, folder, issuedFile))
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the list of credentials: %w", err)
	}
	var all []Issued
	for line := range bytes.Lines(data) {
		var i Issued
		if json.Unmarshal(line, &i) == nil && i.Key != "" {
			all = append(all, i)
		}
	}
	return all, nil
}
