package sshserver

import (
	"bytes"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/askbus/askbus/pkg/ask"
	"golang.org/x/crypto/ssh"
)

// proof is the [ask.By.Proof] of a person who signed in with a key.
const proof = "ssh-key"

// maxKeysFile bounds the file of keys.
const maxKeysFile = 1 << 20

// errUnknownKey rejects a key that is not in the file.
var errUnknownKey = errors.New("unknown key")

// lookUp finds a key in a file in the authorized_keys format. The key's comment names the person,
// unless its options do:
//
//	ssh-ed25519 AAAA… mei
//	principal="os:mei",groups="platform,ops" ssh-ed25519 AAAA… Mei's phone
func lookUp(path string, key ssh.PublicKey) (ask.By, error) {
	info, err := os.Stat(path)
	if err != nil {
		return ask.By{}, err
	}
	if info.Size() > maxKeysFile {
		return ask.By{}, fmt.Errorf("%s has more than %d bytes", path, maxKeysFile)
	}
	rest, err := os.ReadFile(path)
	if err != nil {
		return ask.By{}, err
	}
	for len(rest) > 0 {
		var known ssh.PublicKey
		var comment string
		var options []string
		known, comment, options, rest, err = ssh.ParseAuthorizedKey(rest)
		if err != nil { // no more keys; invalid lines are skipped
			break
		}
		if bytes.Equal(known.Marshal(), key.Marshal()) {
			return identity(comment, options, known)
		}
	}
	return ask.By{}, errUnknownKey
}

// identity returns the person of a line of the file.
func identity(comment string, options []string, key ssh.PublicKey) (ask.By, error) {
	by := ask.By{Name: ask.CleanLine(comment), Proof: proof}
	for _, o := range options {
		name, value, _ := strings.Cut(o, "=")
		value = strings.Trim(value, `"`)
		switch name {
		case "principal":
			by.Principal = ask.CleanLine(value)
		case "groups":
			by.Groups = strings.FieldsFunc(ask.CleanLine(value), func(r rune) bool { return r == ',' || r == ' ' })
		default: // "restrict" and the like apply to everybody here; other restrictions reject the key
			switch strings.ToLower(name) { // as OpenSSH reads them
			case "cert-authority", "from", "expiry-time", "verify-required":
				return ask.By{}, fmt.Errorf("unsupported option %s: the key is ignored", name)
			}
		}
	}
	switch {
	case by.Principal != "":
	case by.Name != "":
		by.Principal = "ssh:" + strings.ReplaceAll(by.Name, " ", "-")
	default:
		by.Principal = "ssh:" + ssh.FingerprintSHA256(key)
	}
	return by, nil
}

// HostKey reads the host key from a file, or makes one.
func HostKey(path string) (ssh.Signer, error) {
	data, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		if data, err = newHostKey(path); err != nil {
			return nil, fmt.Errorf("make a host key: %w", err)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("read the host key: %w", err)
	}
	signer, err := ssh.ParsePrivateKey(data)
	if err != nil {
		return nil, fmt.Errorf("host key %s: %w", path, err)
	}
	return signer, nil
}

// newHostKey writes a new key, unless another process has written one.
func newHostKey(path string) ([]byte, error) {
	_, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return nil, err
	}
	block, err := ssh.MarshalPrivateKey(private, "askbus")
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, err
	}
	tmp, err := os.CreateTemp(filepath.Dir(path), "ssh-host-key-*") // mode 0600
	if err != nil {
		return nil, err
	}
	defer os.Remove(tmp.Name()) //nolint:errcheck // the hard link remains
	_, err = tmp.Write(pem.EncodeToMemory(block))
	if err = errors.Join(err, tmp.Sync(), tmp.Close()); err != nil {
		return nil, err
	}
	if err := os.Link(tmp.Name(), path); err != nil && !errors.Is(err, os.ErrExist) {
		return nil, err
	}
	return os.ReadFile(path)
}
