package role

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/askbus/askbus/internal/answering/auth"
	"github.com/askbus/askbus/internal/asking/gateway/token"
	"github.com/askbus/askbus/internal/server/exchange"
	"github.com/askbus/askbus/internal/server/rights"
	"github.com/askbus/askbus/pkg/ask"
)

// endedEvery is how often sign-ins and API tokens are compared with the issued credentials, in
// addition to whenever one ends.
const endedEvery = 30 * time.Second

// revokeEnded revokes the credentials of terminals whose sign-in has ended, and those that were
// exchanged for an API token that was revoked, until ctx ends.
func (r *Process) revokeEnded(ctx context.Context, dir string, terminals *auth.Terminals, tokens *token.Checker) error {
	tick := time.NewTicker(endedEvery)
	defer tick.Stop()
	failed := false
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		case <-terminals.Ended():
		case <-tokens.Ended():
		}
		n, err := revokeOnce(dir, func(note string) bool {
			if tenant, name, ok := exchange.ParseTerminalNote(note); ok {
				_, err := terminals.Person(ctx, tenant, name)
				return errors.Is(err, ask.ErrNotFound)
			}
			id, ok := exchange.ParseTokenNote(note)
			return ok && tokens.Gone(ctx, id)
		})
		switch {
		case n > 0:
			r.Log.Info("revoked the credentials of signed-out terminals and revoked API tokens", slog.Int("credentials", n))
			failed = false
		case err != nil && !failed && ctx.Err() == nil:
			r.Log.Error("cannot revoke the credentials of signed-out terminals and revoked API tokens; they expire", slog.Any("error", err), slog.Duration("within", exchange.PersonLife))
			failed = true
		}
	}
}

// revokeOnce revokes the credentials for whose notes ended is true, and returns how many. Of one
// note it is called once.
func revokeOnce(dir string, ended func(note string) bool) (int, error) {
	list, err := rights.Issued(dir)
	if err != nil {
		return 0, err
	}
	var gone []string
	checked := map[string]bool{}
	for _, i := range list {
		if i.Revoked != nil || !time.Now().Before(i.Expires) {
			continue
		}
		has, known := checked[i.Note]
		if !known {
			has = ended(i.Note)
			checked[i.Note] = has
		}
		if has {
			gone = append(gone, i.Key)
		}
	}
	if len(gone) == 0 {
		return 0, nil
	}
	_, err = rights.Revoke(dir, gone...)
	if err != nil {
		return 0, err
	}
	return len(gone), nil
}
