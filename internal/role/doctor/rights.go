package doctor

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/askbus/askbus/internal/bus/connection"
	"github.com/askbus/askbus/internal/bus/servertime"
	"github.com/askbus/askbus/internal/process/finding"
	"github.com/askbus/askbus/internal/protocol/subject"
	"github.com/askbus/askbus/internal/server/rights"
	"github.com/nats-io/nats.go"
)

// Credential returns a credential of a role.
type Credential func(rights.Role) (*nats.Conn, error)

// tried is a role with the subjects that it must and must not be able to publish to. A message to a
// forbidden subject has no effect even if it is allowed.
type tried struct {
	role        rights.Role
	may, mayNot []string // subjects
}

func trials() []tried {
	const (
		of         = rights.Probe + ".s1" // a session
		api, other = "$JS.API.STREAM.INFO." + rights.Probe, "ledgerv1." + rights.Probe
		web, stop  = "ansv1.web.~." + of + ".wait.none", "$JS.API.STREAM.DELETE." + rights.Probe
		get        = "askv1." + of + ".get.none"
	)
	otherUser := "U" + strings.Repeat("A", 55) // an unused key
	return []tried{
		{rights.Role{Name: rights.RoleAgent, Tenant: rights.Probe, Session: "s1"}, []string{get}, []string{api, other, "askv1." + rights.Probe + ".s2.get.none", web}},
		{rights.Role{Name: rights.RoleResponder, Type: rights.Probe}, []string{"ansv1." + rights.Probe + ".~.list"}, []string{api, other, web, "ansv1." + rights.Probe + "." + otherUser + ".list", get}},
		{rights.Role{Name: rights.RoleGateway}, []string{"ansv1.gateway.~.list", "ansv1.gateway.~." + of + ".wait.none"}, []string{api, other, web, get}},
		{rights.Role{Name: rights.RoleOperator}, []string{"$SRV.PING.askbus", "ansv1.operator.~.list"}, []string{api, other, web}},
		{rights.Role{Name: rights.RoleBroker}, []string{"_INBOX.a." + rights.Probe}, []string{api, other}},
		{rights.Role{Name: rights.RoleLedger}, []string{"$JS.API.INFO"}, []string{stop, "outv1." + rights.Probe}},
		{rights.Role{Name: rights.RoleClock}, []string{servertime.Subject}, []string{api, other, "$SYS.REQ.SERVER.PING." + rights.Probe}},
		{rights.Role{Name: rights.RoleMaintenance}, []string{"$JS.API.INFO"}, []string{other, "outv1." + rights.Probe, stop}},
	}
}

// tryRights connects as each role and tests its rights.
func tryRights(as Credential) finding.List {
	var l finding.List
	for _, t := range trials() {
		what := "rights of " + t.role.Name
		nc, err := as(t.role)
		if err != nil {
			l.Say(what, finding.Broken, "it cannot connect: %v%s", err, accounts(err))
			continue
		}
		var too, little []string
		user, _, _ := connection.On(nc).Sender() // without one its subjects are denied
		for _, pattern := range slices.Concat(t.may, t.mayNot) {
			subject, _ := subject.As(pattern, user)
			denied, err := publishes(nc, subject)
			switch allowed := slices.Contains(t.may, pattern); {
			case err != nil:
				little = append(little, fmt.Sprintf("%s (%v)", subject, err))
			case denied && allowed:
				little = append(little, subject)
			case !denied && !allowed:
				too = append(too, subject)
			}
		}
		nc.Close()
		switch {
		case len(too) > 0:
			l.Say(what, finding.Broken, `it may publish to %s but must not: the server does not use the accounts that askbus signs; see "askbus auth config" and docs/identities.md`, strings.Join(too, ", "))
		case len(little) > 0:
			l.Say(what, finding.Broken, `it may not publish to %s: its signing key has an older template; run "askbus auth init", and give the server what "askbus auth config" prints`, strings.Join(little, ", "))
		default:
			l.Say(what, finding.Good, "checked, as they should be")
		}
	}
	return l
}

// accounts advises on a refused credential.
func accounts(err error) string {
	if errors.Is(err, nats.ErrAuthorization) {
		return "; check that the server has the accounts of this directory"
	}
	return ""
}

// publishes publishes to a subject and reports whether it was denied.
func publishes(nc *nats.Conn, subject string) (denied bool, err error) {
	before := nc.LastError()
	msg := nats.NewMsg(subject)
	if strings.HasPrefix(subject, "$SRV.") { // micro logs an error for a request without a reply subject
		msg.Reply = nc.NewInbox()
	}
	if err := nc.PublishMsg(msg); err != nil {
		return false, err
	}
	if err := nc.FlushTimeout(5 * time.Second); err != nil {
		return false, errors.Join(errNoReply, err)
	}
	last := nc.LastError()
	return last != nil && (before == nil || last.Error() != before.Error()) && errors.Is(last, nats.ErrPermissionViolation) && strings.Contains(last.Error(), subject), nil
}
