package exchange

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/askbus/askbus/pkg/ask"
)

// Source is a rules file with a verifier for each of its issuers. The file is
// read again when it changes; while it is invalid, the previous rules apply. It
// is safe for concurrent use.
type Source struct {
	path string
	opts SourceOptions

	mu        sync.Mutex
	read      time.Time // modification time of the file; zero if it was missing
	rules     *Rules
	verifiers map[string]*verifier // by the claim iss
}

// SourceOptions tunes a [Source]. The zero value is ready to use.
type SourceOptions struct {
	// Audience is the audience of issuers for which the rules name none.
	// Default: the rules must name one.
	Audience string
	// Review lets this cluster's API server review a token. It is required if
	// the rules use token_review.
	Review func(ctx context.Context, token, audience string) (Review, error)
	// ReviewKeys reads the API server's public keys (a JSON Web Key Set), so
	// that forged tokens are not reviewed. Without it, and while it fails, every
	// token is reviewed.
	ReviewKeys func(ctx context.Context) ([]byte, error)
	Now        func() time.Time // default: time.Now
	Logger     *slog.Logger     // default: discard
}

// Open reads a rules file; without a path only API tokens are exchanged.
func Open(path string, opts SourceOptions) (*Source, error) {
	if opts.Now == nil {
		opts.Now = time.Now
	}
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	s := &Source{path: path, opts: opts, rules: &Rules{}}
	if path == "" {
		return s, nil
	}
	if err := s.load(); err != nil {
		return nil, fmt.Errorf("rules file %s: %w", path, err)
	}
	return s, nil
}

// current returns the current rules and verifiers.
func (s *Source) current() (*Rules, map[string]*verifier) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.path == "" {
		return s.rules, nil
	}
	if !modified(s.path).Equal(s.read) {
		if err := s.load(); err != nil {
			s.opts.Logger.Error("cannot read the rules file again; the previous rules stay in effect", slog.Any("error", err))
		}
	}
	return s.rules, s.verifiers
}

func (s *Source) load() error {
	s.read = modified(s.path) // also of an invalid or missing one, which is logged once
	data, err := readBounded(s.path, maxRules)
	if err != nil {
		return err
	}
	rules, err := ParseRules(data, filepath.Dir(s.path), s.opts.Audience)
	if err != nil {
		return err
	}
	for i := range rules.Providers {
		if p := &rules.Providers[i]; p.TokenReview && s.opts.Review == nil {
			return fmt.Errorf("issuers[%d].token_review: this process is not a pod with a token for the API server; use jwks_file", i)
		}
	}
	s.rules, s.verifiers = rules, map[string]*verifier{}
	for _, p := range rules.Providers {
		s.verifiers[p.Issuer] = newVerifier(p, s.opts)
	}
	return nil
}

// verify verifies a JWT with the keys of its issuer.
func (s *Source) verify(ctx context.Context, raw string) (Proof, error) {
	issuer, err := issuerOf(raw)
	if err != nil {
		return Proof{}, err
	}
	_, verifiers := s.current()
	v := verifiers[issuer]
	if v == nil {
		return Proof{}, ask.Refuse(ask.CodeUnauthorized, "this bus does not trust the issuer %.200q; list it in the rules file of \"askbus issuer\"", issuer)
	}
	return v.verify(ctx, raw)
}

// provider returns the name of the issuer that a token names, or "" if the rules
// do not have it.
func (s *Source) provider(raw string) string {
	issuer, err := issuerOf(raw)
	_, verifiers := s.current()
	if v := verifiers[issuer]; err == nil && v != nil {
		return v.Name
	}
	return ""
}

// modified returns the modification time of a file, or zero if it is missing.
func modified(path string) time.Time {
	at, err := os.Stat(path)
	if err != nil {
		return time.Time{}
	}
	return at.ModTime()
}

// readBounded reads a file of at most limit bytes.
func readBounded(path string, limit int64) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // only read
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && int64(len(data)) > limit {
		err = fmt.Errorf("%s has more than %d bytes", path, limit)
	}
	return data, err
}
