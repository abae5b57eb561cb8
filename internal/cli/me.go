package cli

import (
	"github.com/askbus/askbus/internal/bus/connection"
	"github.com/askbus/askbus/internal/process/config"
	"github.com/askbus/askbus/internal/protocol/assertion"
	"github.com/askbus/askbus/internal/server/rights"
	"github.com/askbus/askbus/pkg/ask"
)

// Me returns the person who answers at this command line: the signed-in one, else the user of this
// machine if the credential may assert that, else the credential itself.
func (a *App) Me(b *Bus) (ask.By, error) {
	if a.login != nil {
		return *a.login, nil
	}
	if b.Role.Name != rights.RoleAgent && !a.ownSurface(b) {
		who, err := connection.Identify(b.Cred.Creds)
		if err == nil && !who.Asserts {
			return ask.By{Principal: assertion.OwnName(who.User), Proof: ask.ProofCredential}, nil
		}
	}
	var w config.Web
	if err := config.Load(&w); err != nil {
		return ask.By{}, &ExitError{Code: ExitUsage, Err: err}
	}
	return LocalUser(w.Groups), nil
}
