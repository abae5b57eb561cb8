package storecheck

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"maps"
	"os"
	"path/filepath"

	"github.com/minio/highwayhash"
)

// The server does not load a stream without its configuration, however intact
// its messages are. So the list of block files also remembers it, as the server
// wrote it.

const (
	configFile = "meta.inf"
	sumFile    = "meta.sum"
)

// configSum is the server's checksum of a stream's configuration.
func configSum(stream string, config []byte) string {
	key := sha256.Sum256([]byte(stream))
	h, err := highwayhash.New64(key[:])
	if err != nil {
		return "" // the key has the right length
	}
	_, _ = h.Write(config) // never fails
	return hex.EncodeToString(h.Sum(nil))
}

// readConfig reads a stream's configuration; ok is false if the server cannot.
func readConfig(dir, stream string) (config []byte, ok bool) {
	config, err := os.ReadFile(filepath.Join(dir, configFile))
	sum, errSum := os.ReadFile(filepath.Join(dir, sumFile))
	return config, err == nil && errSum == nil && bytes.Equal([]byte(configSum(stream, config)), sum)
}

// configsOf returns the remembered configurations, the newest of each stream.
func configsOf(lists ...*blockList) map[string]string {
	all := map[string]string{}
	for _, l := range lists { // the later ones are newer
		if l != nil {
			maps.Copy(all, l.Configs)
		}
	}
	return all
}

// config returns the configuration that a damaged stream had: the remembered
// one, or its own if only the checksum is missing. nil: unknown.
func (i *Inspection) config(name string, s *scanned) []byte {
	if known := i.configs[name]; known != "" {
		return []byte(known)
	}
	own, err := os.ReadFile(filepath.Join(s.dir, configFile))
	if _, errSum := os.Stat(filepath.Join(s.dir, sumFile)); err != nil || !errors.Is(errSum, os.ErrNotExist) {
		return nil
	}
	var c struct {
		Name string `json:"name"`
	}
	if json.Unmarshal(own, &c) != nil || c.Name != name {
		return nil
	}
	return own
}

// rebuild writes a stream's configuration again, and moves the damaged files
// aside.
func (m mender) rebuild(name string, s *scanned, config []byte) error {
	aside := filepath.Join(m.aside, name)
	if err := os.MkdirAll(aside, 0o700); err != nil {
		return err
	}
	for _, file := range []string{configFile, sumFile} {
		if err := os.Rename(filepath.Join(s.dir, file), filepath.Join(aside, file)); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	if err := writeSynced(filepath.Join(s.dir, configFile), config); err != nil {
		return err
	}
	return writeSynced(filepath.Join(s.dir, sumFile), []byte(configSum(name, config)))
}
