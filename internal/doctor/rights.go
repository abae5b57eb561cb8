package doctor

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/askbus/askbus/internal/call"
	"github.com/askbus/askbus/internal/finding"
	"github.com/askbus/askbus/internal/natsd"
	"github.com/askbus/askbus/internal/subject"
	"github.com/nats-io/nats.go"
)

// Credential returns a credential of a role.
type Credential func(natsd.Role) (*nats.Conn, error)

// tried is a role with the subjects that it must and must not be able to publish to. A message to a
// forbidden subject has no effect even if it is allowed.
type tried struct {
	role        natsd.Role
	may, mayNot []string // subjects
}

func trials() []tried {
	const api, other = "$JS.API.INFO", "ledgerv1.doctor"
	otherUser := "U" + strings.Repeat("A", 55) // an unused key
	return []tried{
		{natsd.Role{Name: natsd.RoleAgent, Tenant: "doctor", Session: "s1"}, []string{"askv1.doctor.s1.get.none"}, []string{api, other, "askv1.doctor.s2.get.none", "ansv1.web.~.list"}},
		{natsd.Role{Name: natsd.RoleResponder, Type: "doctor"}, []string{"ansv1.doctor.~.list"}, []string{api, other, "ansv1.web.~.list", "ansv1.doctor." + otherUser + ".list", "askv1.doctor.s1.get.none"}},
		{natsd.Role{Name: natsd.RoleGateway}, []string{"ansv1.gateway.~.list", "ansv1.gateway.~.doctor.s1.wait.none"}, []string{api, other, "ansv1.web.~.list", "askv1.doctor.s1.get.none"}},
		{natsd.Role{Name: natsd.RoleOperator}, []string{"$SRV.PING.askbus", "ansv1.operator.~.list"}, []string{api, other, "ansv1.web.~.list"}},
		{natsd.Role{Name: natsd.RoleBroker}, []string{"_INBOX.a.doctor"}, []string{api, other}},
		{natsd.Role{Name: natsd.RoleLedger}, []string{api}, []string{"$JS.API.STREAM.DELETE.DOCTOR", "outv1.doctor"}},
		{natsd.Role{Name: natsd.RoleMaintenance}, []string{api}, []string{other, "outv1.doctor", "$JS.API.STREAM.DELETE.DOCTOR"}},
	}
}

// tryRights connects as each role and tests its rights.
func tryRights(as Credential) finding.List {
	var l finding.List
	for _, t := range trials() {
		what := "rights of " + t.role.Name
		nc, err := as(t.role)
		if err != nil {
			l.Say(what, finding.Broken, "it cannot connect: %v; check that the server has the accounts of this directory", err)
			continue
		}
		var too, little []string
		user, _, _ := call.On(nc).Sender() // without one its subjects are denied
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
