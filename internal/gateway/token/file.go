package token

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"
)

// What a token that does not pass is.
var (
	ErrUnknown = errors.New("this token is unknown or revoked")
	ErrExpired = errors.New("this token has expired")
)

// File is a file of tokens. It is safe for concurrent use, also by processes.
type File struct {
	path string

	mu   sync.Mutex
	seen stamp
	held map[string]Token
	err  error
}

// stamp tells one version of a file from another.
type stamp struct {
	mod   time.Time
	size  int64
	inode uint64
}

type content struct {
	Tokens []Token `json:"tokens"`
}

// Open names a file of tokens, which need not exist yet.
func Open(path string) *File { return &File{path: path} }

// Path is where the file is.
func (f *File) Path() string { return f.path }

// Check finds the token that s is. The error is [ErrUnknown] or [ErrExpired],
// or says that the file cannot be read.
func (f *File) Check(s string, now time.Time) (Token, error) {
	held, err := f.current()
	if err != nil {
		return Token{}, err
	}
	id, secret, ok := split(s)
	t, known := held[id]
	if proven := t.proves(secret); !ok || !known || !proven {
		return Token{}, ErrUnknown
	}
	if t.Expired(now) {
		return Token{}, ErrExpired
	}
	return t, nil
}

// current is what the file holds now; it is read again when it has changed.
func (f *File) current() (map[string]Token, error) {
	now, err := stampOf(f.path)
	if err != nil {
		return nil, fmt.Errorf("tokens: %w", err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.held != nil && now == f.seen {
		return f.held, f.err
	}
	tokens, err := f.read()
	f.held, f.err, f.seen = make(map[string]Token, len(tokens)), err, now
	for _, t := range tokens {
		f.held[t.ID] = t
	}
	return f.held, f.err
}

func stampOf(path string) (stamp, error) {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return stamp{}, nil
	}
	if err != nil {
		return stamp{}, err
	}
	s := stamp{mod: info.ModTime(), size: info.Size()}
	if sys, ok := info.Sys().(*syscall.Stat_t); ok {
		s.inode = sys.Ino
	}
	return s, nil
}

func (f *File) read() ([]Token, error) {
	data, err := os.ReadFile(f.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("tokens: %w", err)
	}
	var c content
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields() // a scope that is misspelt must not be taken for a wider one
	if err := d.Decode(&c); err != nil {
		return nil, fmt.Errorf("%s is damaged: %w", f.path, err)
	}
	for i := range c.Tokens {
		if err := c.Tokens[i].Validate(); err != nil {
			return nil, fmt.Errorf("%s is damaged: token %s: %w", f.path, c.Tokens[i].ID, err)
		}
	}
	return c.Tokens, nil
}

// List is every token, in the order of issue.
func (f *File) List() ([]Token, error) { return f.read() }

// Issue makes a token, keeps it, and returns it with its secret.
func (f *File) Issue(t Token) (Token, string, error) {
	made, secret, err := New(t)
	if err != nil {
		return Token{}, "", err
	}
	err = f.change(func(tokens []Token) ([]Token, error) { return append(tokens, made), nil })
	return made, secret, err
}

// Revoke takes a token away, by its id or by itself.
func (f *File) Revoke(idOrToken string) (Token, error) {
	id := idOrToken
	if of, _, ok := split(idOrToken); ok {
		id = of
	}
	var gone Token
	err := f.change(func(tokens []Token) ([]Token, error) {
		for i := range tokens {
			if tokens[i].ID == id {
				gone = tokens[i]
				return append(tokens[:i:i], tokens[i+1:]...), nil
			}
		}
		return nil, fmt.Errorf("no token has the id %q; \"askbus token list\" shows them", id)
	})
	return gone, err
}

// change writes the file anew, one process at a time. Readers see the old file
// or the new one.
func (f *File) change(edit func([]Token) ([]Token, error)) error {
	if err := os.MkdirAll(filepath.Dir(f.path), 0o700); err != nil {
		return fmt.Errorf("tokens: %w", err)
	}
	lock, err := os.OpenFile(f.path+".lock", os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return fmt.Errorf("tokens: %w", err)
	}
	defer lock.Close() //nolint:errcheck // which unlocks it
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		return fmt.Errorf("tokens: %w", err)
	}
	tokens, err := f.read()
	if err != nil {
		return err
	}
	if tokens, err = edit(tokens); err != nil {
		return err
	}
	if err := f.write(tokens); err != nil {
		return fmt.Errorf("tokens: %w", err)
	}
	return nil
}

func (f *File) write(tokens []Token) error {
	data, err := json.MarshalIndent(content{tokens}, "", "  ")
	if err != nil {
		return err
	}
	tmp, err := os.CreateTemp(filepath.Dir(f.path), filepath.Base(f.path)+".new*") // 0600
	if err != nil {
		return err
	}
	_, err = tmp.Write(append(data, '\n'))
	err = errors.Join(err, tmp.Sync(), tmp.Close())
	if err == nil {
		err = os.Rename(tmp.Name(), f.path)
	}
	if err != nil {
		_ = os.Remove(tmp.Name())
	}
	return err
}
