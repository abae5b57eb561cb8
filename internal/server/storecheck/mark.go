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
	path := filepath.Join(dir, MarkFile)
	data, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) || err == nil && len(data) == 0 {
		return Marked{Streams: map[string]uint64{}}, nil
	}
	if err != nil {
		return Marked{}, fmt.Errorf("read the last sequences of the store: %w", err)
	}
	var m Marked
	if err := json.Unmarshal(data, &m); err != nil {
		return Marked{}, fmt.Errorf("%s is damaged (%w); remove it to start without this check", path, err)
	}
	return m, nil
}

// AdoptMark records that the store now belongs to this account.
func AdoptMark(dir, account string) error {
	m, err := readMark(dir)
	if err != nil {
		return err
	}
	m.Account = account
	return m.write(dir)
}

func (m Marked) write(dir string) error {
	data, err := json.Marshal(m)
	if err != nil {
		return err
	}
	return writeSynced(filepath.Join(dir, MarkFile), append(data, '\n'))
}
