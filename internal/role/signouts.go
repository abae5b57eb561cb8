package role

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/askbus/askbus/internal/answering/auth"
	"github.com/askbus/askbus/internal/server/exchange"
	"github.com/askbus/askbus/internal/server/rights"
	"github.com/askbus/askbus/pkg/ask"
)

// signOutEvery is how often sign-ins are compared with the issued credentials, in addition to
// whenever one ends.
const signOutEvery = 30 * time.Second

// signOuts revokes the credentials of terminals whose sign-in has ended, until ctx ends.
func (r *Process) signOuts(ctx context.Context, dir string, terminals *auth.Terminals) error {
	tick := time.NewTicker(signOutEvery)
	defer tick.Stop()
	failed := false
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		case <-terminals.Ended():
		}
		n, err := revokeSignedOut(ctx, dir, terminals)
		switch {
		case n > 0:
			r.Log.Info("revoked the credentials of signed-out terminals", slog.Int("credentials", n))
			failed = false
		case err != nil && !failed && ctx.Err() == nil:
			r.Log.Error("cannot revoke the credentials of signed-out terminals; they expire", slog.Any("error", err), slog.Duration("within", exchange.PersonLife))
			failed = true
		}
	}
}

// revokeSignedOut revokes them once and returns how many. Credentials that cannot be checked stay
// valid.
func revokeSignedOut(ctx context.Context, dir string, terminals *auth.Terminals) (int, error) {
	list, err := rights.Issued(dir)
	if err != nil {
		return 0, err
	}
	var gone []string
	checked := map[string]bool{} // by note: whether the sign-in has ended
	for _, i := range list {
		tenant, name, ok := exchange.ParseTerminalNote(i.Note)
		if !ok || i.Revoked != nil || !time.Now().Before(i.Expires) {
			continue
		}
		ended, known := checked[i.Note]
		if !known {
			_, err := terminals.Person(ctx, tenant, name)
			ended = errors.Is(err, ask.ErrNotFound)
			checked[i.Note] = ended
		}
		if ended {
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
