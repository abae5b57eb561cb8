package exchange

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"time"

	"github.com/askbus/askbus/internal/process/file"

	"github.com/askbus/askbus/pkg/ask"
)

// Source is a rules file with a verifier for each of its issuers. The file is
// read again when it changes; while it is invalid, the previous rules apply. It
// is safe for concurrent use.
type Source struct {
	file *file.Live[trusted] // nil: only API tokens are exchanged
	opts SourceOptions
}

// trusted is the content of a rules file.
type trusted struct {
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
	opts.Logger = cmp.Or(opts.Logger, slog.New(slog.DiscardHandler))
	s := &Source{opts: opts}
	if path == "" {
		return s, nil
	}
	file, err := file.OpenLive(path, func(data []byte) (trusted, error) { return s.parse(data, filepath.Dir(path)) }, opts.Logger)
	if err != nil {
		return nil, fmt.Errorf("read the rules file: %w", err)
	}
	s.file = file
	return s, nil
}

func (s *Source) current() (*Rules, map[string]*verifier) {
	if s.file == nil {
		return &Rules{}, nil
	}
	t := s.file.Content()
	return t.rules, t.verifiers
}

func (s *Source) parse(data []byte, dir string) (trusted, error) {
	if len(data) > maxRules {
		return trusted{}, fmt.Errorf("more than %d bytes", maxRules)
	}
	rules, err := ParseRules(data, dir, s.opts.Audience)
	if err != nil {
		return trusted{}, err
	}
	t := trusted{rules, map[string]*verifier{}}
	for i, p := range rules.Providers {
		if p.TokenReview && s.opts.Review == nil {
			return trusted{}, fmt.Errorf("issuers[%d].token_review: this process is not a pod with a token for the API server; use jwks_file", i)
		}
		t.verifiers[p.Issuer] = newVerifier(p, s.opts)
	}
	return t, nil
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
