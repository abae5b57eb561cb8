package storecheck

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// MarkFile is the file with the last sequence of each stream, in the server's directory.
const MarkFile = "high-water"

// Marked is the content of the file: the owner of the store and the last
// sequence of each stream.
type Marked struct {
	Account string            `json:"account"` // the public key of the ledger's account
	Streams map[string]uint64 `json:"streams"`
}

// readMark reads the last sequences of the streams; a new store has none.
func readMark(dir string) (Marked, error) {
	m := Marked{Streams: map[string]uint64{}}
	err := load(dir, MarkFile, &m)
	return m, err
}

// AdoptMark records that the store now belongs to this account.
func AdoptMark(dir, account string) error {
	m, err := readMark(dir)
	if err != nil {
		return err
	}
	m.Account = account
	return save(dir, MarkFile, m)
}

// load reads into v what [save] wrote. Without a file, and with an empty one, v stays as it is.
func load(dir, name string, v any) error {
	path := filepath.Join(dir, name)
	data, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) || err == nil && len(data) == 0 {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read what is remembered of the store: %w", err)
	}
	if err := json.Unmarshal(data, v); err != nil {
		return fmt.Errorf("%s is damaged (%w); remove it to start without this check", path, err)
	}
	return nil
}

// save replaces a file that says what must be in the store.
func save(dir, name string, v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return writeSynced(filepath.Join(dir, name), append(data, '\n'))
}
