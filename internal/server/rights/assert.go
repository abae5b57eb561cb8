package rights

import (
	"errors"

	"github.com/askbus/askbus/internal/protocol/assertion"
	"github.com/askbus/askbus/pkg/ask"
)

// Assertions returns what a role may usually assert about the person who acted:
// what its surface can prove. A credential of one session, or of a type that
// this version does not know, may assert only its own name.
func (r Role) Assertions() assertion.Set {
	groups := []string{"*"}
	switch {
	case r.Name == RoleGateway:
		return assertion.Set{Proven: []string{ask.ProofToken + "=*"}, Groups: groups}
	case r.Name == RoleHost:
		return hostAssertions()
	case r.Name != RoleResponder || r.Session != "":
		return assertion.Set{}
	}
	switch kind := ask.SurfaceKind(r.Type); kind {
	case "web":
		return assertion.Set{Proven: []string{ask.ProofOIDC + "=*", ask.ProofPasskey + "=*", ask.ProofProxy + "=proxy:*", ask.ProofLink + "=*", ask.ProofOS + "=os:*", "local=os:*"}, Groups: groups} // local: sign-ins of older builds
	case "cli", "tui":
		return assertion.Set{Proven: []string{ask.ProofOS + "=os:*"}, Groups: groups}
	case "ssh":
		return assertion.Set{Proven: []string{ask.ProofSSHKey + "=*"}, Groups: groups}
	case "slack": // the groups are those that the routes map
		return assertion.Set{Proven: []string{ask.ProofSlack + "-*=slack:*"}, Groups: groups}
	case ask.ProofTelegram, ask.ProofDiscord, ask.ProofFeishu, ask.ProofTeams, ask.ProofMattermost: // named like the types; the groups are those that the routes map
		return assertion.Set{Proven: []string{kind + "=" + kind + ":*"}, Groups: groups}
	case "email":
		return assertion.Set{Proven: []string{ask.ProofEmailLink + "=mailto:*", ask.ProofEmail + "=mailto:*"}, Groups: groups}
	case "webhook":
		return assertion.Set{Proven: []string{ask.ProofWebhook + "=webhook:*"}}
	case ask.ResponderNative, ask.ResponderElicit:
		return hostAssertions()
	}
	return assertion.Set{}
}

// hostAssertions returns the assertions of an agent's own host, which proves
// only that somebody is there.
func hostAssertions() assertion.Set {
	return assertion.Set{Proven: []string{ask.ProofHostDialog + "=os:*", ask.ProofAskerTerminal + "=os:*"}}
}

// MayAssert returns an error if a role cannot be given assertions, or an asker.
func (r Role) MayAssert(may assertion.Set) error {
	if err := may.Validate(); err != nil {
		return err
	}
	if len(may.Asker) > 0 && r.Name != RoleAgent && r.Name != RoleOperator {
		return errors.New("a credential of " + r.Name + " has no asker: only agents and operators ask for one person")
	}
	if len(may.Proven) == 0 && len(may.Groups) == 0 {
		return nil
	}
	switch {
	case r.Name == RoleResponder && r.Session != "", r.Name == RoleOperator:
		return may.Exact()
	case r.Name == RoleResponder, r.Name == RoleGateway, r.Name == RoleHost:
		return nil
	}
	return errors.New("a credential of " + r.Name + " cannot have assertions: only roles that answer for people can")
}
