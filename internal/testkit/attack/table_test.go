package attack_test

import (
	"slices"
	"strings"

	"github.com/askbus/askbus/internal/protocol/subject"
	"github.com/askbus/askbus/internal/server/rights"
)

// roles returns all roles and widths, by the name of the scope that signs them.
// The attacker is in tenant acme, session s1.
func roles() map[string]rights.Role {
	responder := func(typ, tenant, session string) rights.Role {
		return rights.Role{Name: rights.RoleResponder, Type: typ, Tenant: tenant, Session: session}
	}
	return map[string]rights.Role{
		"agent":                    {Name: rights.RoleAgent, Tenant: "acme", Session: "s1"},
		"agent-tenant":             {Name: rights.RoleAgent, Tenant: "acme"},
		"responder":                responder("slack", "", ""),
		"responder-tenant":         responder("slack", "acme", ""),
		"responder-session":        responder("slack", "acme", "s1"),
		"responder-web":            responder("web", "", ""),
		"responder-tenant-web":     responder("web", "acme", ""),
		"responder-push":           responder("push", "", ""),
		"responder-tenant-push":    responder("push", "acme", ""),
		"responder-webhook":        responder("webhook", "", ""),
		"responder-tenant-webhook": responder("webhook", "acme", ""),
		"responder-email":          responder("email", "", ""),
		"responder-tenant-email":   responder("email", "acme", ""),
		"host":                     {Name: rights.RoleHost, Tenant: "acme", Session: "s1"},
		"gateway":                  {Name: rights.RoleGateway},
		"operator":                 {Name: rights.RoleOperator},
		"auditor":                  {Name: rights.RoleAuditor},
		"auditor-tenant":           {Name: rights.RoleAuditor, Tenant: "acme"},
		"broker":                   {Name: rights.RoleBroker},
		"ledger":                   {Name: rights.RoleLedger},
		"maintenance":              {Name: rights.RoleMaintenance},
		"backup":                   {Name: rights.RoleBackup},
		"saved":                    {Name: rights.RoleSaved},
		"issuer":                   {Name: rights.RoleIssuer},
		"cluster":                  {Name: rights.RoleCluster},
		"clock":                    {Name: rights.RoleClock},
		"revocations":              {Name: rights.RoleRevocations},
	}
}

// line is one subject and the roles that may use it; no others may.
// [subject.Self] is replaced with the sender's own key.
type line struct {
	subject string
	may     []string
}

// other is the key of a credential that nobody in the suite has.
const other = "UAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"

// Groups of roles.
const (
	nobody    = ""
	asking    = "agent agent-tenant"
	slack     = "responder responder-tenant responder-session"
	slackWide = "responder responder-tenant"
	web       = "responder-web responder-tenant-web"
	push      = "responder-push responder-tenant-push"
	hooks     = "responder-webhook responder-tenant-webhook"
	mail      = "responder-email responder-tenant-email"
	screens   = slackWide + " " + web + " " + push + " " + hooks + " " + mail
	everyType = "responder responder-web responder-push responder-webhook responder-email"
)

// state returns the permissions for each bucket of shared state, by the role in
// the subject, and for responders by type.
func state() map[string]map[string]string {
	const read, write, remove = "get list watch", "get list watch put delete", "get list watch delete"
	all := func(verbs string, more map[string]string) map[string]string {
		for _, typ := range []string{"slack", "web", "push", "webhook", "email"} {
			more[typ] = verbs
		}
		return more
	}
	return map[string]map[string]string{
		subject.BucketTokens:        {"operator": write, "gateway": read, "issuer": read},
		subject.BucketTokenUses:     {"operator": remove, "gateway": "put", "issuer": "put"},
		subject.BucketSessions:      {"operator": remove, "web": write, "issuer": read},
		subject.BucketLoginLinks:    {"web": "put"},
		subject.BucketPasskeys:      {"operator": remove, "web": write},
		subject.BucketSnoozes:       all(read, map[string]string{"operator": remove, "gateway": read}),
		subject.BucketHandovers:     all(read, map[string]string{"operator": remove, "gateway": read}),
		subject.BucketStandIns:      all("list watch", map[string]string{"operator": remove}),
		subject.BucketClaims:        {"operator": remove},
		subject.BucketLinks:         {"operator": remove, "web": "list watch"},
		subject.BucketPush:          {"operator": remove, "web": write, "push": remove},
		subject.BucketLeases:        all(read, map[string]string{"operator": remove, "gateway": write, "agent": "get put delete"}),
		subject.BucketCallbacks:     {"operator": remove, "gateway": "list", "webhook": write},
		subject.BucketDeliveries:    {"operator": remove, "webhook": write},
		subject.BucketTaskPushes:    {"operator": remove, "gateway": "get put delete", "webhook": "get delete"},
		subject.BucketRepeats:       {"operator": remove},
		subject.BucketRemoved:       {"operator": "get list"},
		subject.BucketRevoked:       {"operator": write, "web": "put", "email": "get"},
		subject.BucketMail:          {"operator": remove, "email": write},
		subject.BucketReplicas:      all("list watch put delete", map[string]string{"operator": remove}),
		subject.BucketConversations: all("get put delete", map[string]string{"operator": remove}),
	}
}

// publish is the table of permissions to publish.
func publish() []line {
	var all []line
	add := func(may string, subjects ...string) {
		for _, s := range subjects {
			all = append(all, line{s, strings.Fields(may)})
		}
	}
	each := func(may, form string, parts ...string) {
		for _, p := range parts {
			add(may, strings.ReplaceAll(form, "VERB", p))
		}
	}
	// Agents.
	each(asking, "askv1.acme.s1.VERB", "ask.a1", "get.a1", "wait.a1", "alive.b1", "withdraw.a1", "repeat.q1", "delivered.a1", "upload.f1", "file.f1", "list")
	each("agent-tenant", "askv1.acme.s2.VERB", "ask.a1", "get.a1", "wait.a1", "alive.b1", "withdraw.a1", "repeat.q1", "delivered.a1", "upload.f1", "file.f1", "list")
	each(nobody, "askv1.VERB.s1.ask.a1", "other", "ACME", "acmex", "acm", "~")
	each("agent-tenant", "askv1.acme.VERB.ask.a1", "S1", "s1x", "s")
	add(nobody, "ASKV1.acme.s1.ask.a1", "askv2.acme.s1.ask.a1", "askv1", "askv1.acme", "askv1.acmes1.ask.a1")
	add("agent-tenant", "askv1.acme.s1")
	// Agents whose credential says for whom they ask: under their own key, and nothing else there.
	each(asking, "ansv1.agent.~.acme.s1.VERB", "ask.a1")
	each("agent-tenant", "ansv1.agent.~.acme.s2.VERB", "ask.a1")
	each(nobody, "ansv1.agent.~.VERB", "other.s1.ask.a1", "acme.s1.wait.a1", "acme.s1.alive.b1", "acme.s1.withdraw.a1", "acme.s1.repeat.q1", "acme.s1.delivered.a1", "acme.s1.ask", "acme.s1.ask.a1.x")
	each(nobody, "ansv1.agent."+other+".acme.s1.VERB", "ask.a1")
	// Gateways and operators ask for others where their replies are theirs; of
	// other types the broker hears no such verb.
	for typ, may := range map[string]string{"gateway": "gateway", "operator": "operator"} {
		each(may, "ansv1."+typ+".~.VERB", "acme.s1.ask.a1", "other.s2.ask.a1", "acme.s1.wait.a1", "acme.s1.alive.b1", "acme.s1.withdraw.a1", "acme.s1.repeat.q1", "acme.s1.delivered.a1")
		each(nobody, "ansv1."+typ+"."+other+".acme.s1.VERB", "ask.a1", "wait.a1", "alive.b1", "withdraw.a1", "repeat.q1", "delivered.a1")
	}
	// An agent whose credential says for whom it asks names its key.
	add(asking, "ansv1.agent.~.acme.s1.ask.a1")
	add("agent-tenant", "ansv1.agent.~.acme.s2.ask.a1")
	add(nobody, "ansv1.agent.~.other.s1.ask.a1", "ansv1.agent."+other+".acme.s1.ask.a1", "ansv1.agent.~.acme.s1.answer.a1", "ansv1.agent.~.acme.s1.get.a1", "ansv1.agent.~.list")
	// Responders: the type, the key, the tenant and the session are the sender's.
	ofAsk, ofType := []string{"answer.a1", "cancel.a1", "unvote.a1", "receipt.a1", "snooze.a1", "handover.a1", "seen.a1", "get.a1", "look.a1", "here.x1", "upload.f1", "file.f1", "list"}, []string{"list", "away", "claim", "link", "next", "done", "extend", "later"}
	for typ, may := range map[string][3]string{ // one session, one tenant, all
		"slack":    {slack, slackWide, "responder"},
		"web":      {web, web, "responder-web"},
		"push":     {push, push, "responder-push"},
		"webhook":  {hooks, hooks, "responder-webhook"},
		"email":    {mail, mail, "responder-email"},
		"gateway":  {"gateway", "gateway", "gateway"},
		"operator": {"operator", "operator", "operator"},
		"native":   {}, "SLACK": {}, "slackx": {}, "agent": {},
	} {
		begin := "ansv1." + typ + "."
		each(may[0], begin+"~.acme.s1.VERB", ofAsk...)
		each(may[1], begin+"~.acme.s2.VERB", ofAsk...)
		each(may[2], begin+"~.other.s1.VERB", ofAsk...)
		each(may[1], begin+"~.acme.VERB", ofType...)
		each(may[2], begin+"~.other.VERB", ofType...)
		each(may[2], begin+"~.VERB", ofType...)
		each(nobody, begin+other+".acme.s1.VERB", ofAsk...)
		each(nobody, begin+other+".VERB", ofType...)
		each(nobody, begin+"acme.s1.VERB", ofAsk...) // the form before subjects had keys
	}
	// The removal of a tenant.
	each("operator", "ansv1.operator.~.VERB", "acme.remove", "acme.readmit", "other.remove", "other.readmit")
	each(nobody, "ansv1.operator."+other+".VERB", "acme.remove", "acme.readmit")
	add("agent-tenant", "askv1.acme.remove", "askv1.acme.readmit") // which the broker does not hear
	// Hosts.
	each("host", "hostv1.~.acme.s1.VERB.a1", "get", "answer", "cancel", "receipt")
	each(nobody, "hostv1.~.acme.s2.VERB.a1", "get", "answer", "cancel", "receipt")
	each(nobody, "hostv1.~.other.s1.VERB.a1", "get", "answer", "cancel", "receipt")
	each(nobody, "hostv1."+other+".acme.s1.VERB.a1", "get", "answer", "cancel", "receipt")
	// Operators, presence, and subjects of streams only.
	add("operator", "admv1.acme.s1.abort.a1", "admv1.other.s2.abort.a1")
	add("broker", "herev1.acme.s1", "herev1.other.s1")
	add(nobody, "outv1.acme.s1.a1.q", "outv1.acme.s1.a1.o", "statev1.tokens.~.k", "statev1.policy.acme.k")
	// The audit: read by auditors, reported to by roles that see what no broker
	// sees, and written only by the broker's ledger connection.
	add("auditor-tenant", "auditv1.~.acme.read")
	add("auditor", "auditv1.~.read", "auditv1.~.read.auditor.acme", "auditv1.~.read.auditor.other")
	add("operator", "auditv1.~.read.operator", "auditv1.~.read.operator.acme", "auditv1.~.read.operator.other")
	add(nobody, "auditv1.~.other.read", "auditv1.~.ACME.read", "auditv1.~.read.auditor", "auditv1.~.read.gateway", "auditv1.~.acme.read.operator", "auditv1."+other+".read.operator")
	add("gateway", "auditv1.~.report.gateway")
	add("issuer", "auditv1.~.report.issuer")
	add("saved", "auditv1.~.report.saved")
	add("operator", "auditv1.~.report.operator")
	for typ, may := range map[string]string{"slack": slackWide, "web": web, "push": push, "webhook": hooks, "email": mail} {
		wide, narrow, _ := strings.Cut(may, " ")
		add(wide, "auditv1.~.report.responder."+typ)
		add(narrow, "auditv1.~.report.responder."+typ+".acme")
		add(nobody, "auditv1.~.report.responder."+typ+".other")
	}
	add(nobody, "auditv1."+other+".read", "auditv1."+other+".acme.read", "auditv1."+other+".report.gateway", "auditv1.read", "auditv1.acme.read",
		"auditv1.~.report", "auditv1.~.report.agent", "auditv1.~.report.broker", "auditv1.~.report.responder", "auditv1.~.report.responder.native", "auditv1.~.acme.purge")
	add("ledger", "ledgerv1.audit.acme.a", "ledgerv1.audit.~.a")
	// The exchange of credentials.
	add("gateway", "issuev1.credential")
	add("responder-web", "issuev1.~.person")
	add("responder-tenant-web", "issuev1.~.person.acme")
	add(nobody, "issuev1."+other+".person", "issuev1."+other+".person.acme", "issuev1.person", "issuev1.web.person", "issuev1.~.persons", "issuev1.~.person.other", "issuev1.~.person.acme.x")
	// The ledger.
	add("ledger", "ledgerv1.00.acme.s1.a1.q", "ledgerv1.03.acme.s1.a1.o", "ledgerv1.00.acme.s1.a1.r.web", "ledgerv1.state.tokens.~.k")
	// Shared state.
	for bucket, may := range state() {
		for _, verb := range []string{"get", "put", "delete"} {
			granted := func(role, to string) string {
				if slices.Contains(strings.Fields(may[role]), verb) {
					return to
				}
				return nobody
			}
			at := bucket + "." + verb
			for _, tenant := range []string{"acme", "other", "~"} {
				add(granted("operator", "operator"), "kvv1.operator."+at+"."+tenant+".k")
				add(granted("gateway", "gateway"), "kvv1.gateway."+at+"."+tenant+".k")
				add(granted("issuer", "issuer"), "kvv1.issuer."+at+"."+tenant+".k")
				for typ, who := range map[string]string{"slack": slackWide, "web": web, "push": push, "webhook": hooks, "email": mail} {
					if tenant != "acme" {
						who = strings.Fields(who)[0]
					}
					if bucket == subject.BucketReplicas || bucket == subject.BucketConversations { // the key begins with the type
						add(granted(typ, who), "kvv1.responder."+typ+"."+at+"."+tenant+"."+typ+".k")
						add(nobody, "kvv1.responder."+typ+"."+at+"."+tenant+".another.k", "kvv1.responder."+typ+"."+at+"."+tenant+".k")
						continue
					}
					add(granted(typ, who), "kvv1.responder."+typ+"."+at+"."+tenant+".k")
				}
			}
			add(granted("agent", "agent agent-tenant"), "kvv1.agent.acme.s1."+at)
			add(granted("agent", "agent-tenant"), "kvv1.agent.acme.s2."+at)
			add(nobody, "kvv1.agent.other.s1."+at, "kvv1.root."+at+".~.k", "kvv1.responder.native."+at+".acme.k", "kvv1.host.acme.s1."+at)
		}
		for role, who := range map[string]string{"operator": "operator", "gateway": "gateway", "issuer": "issuer", "slack": slackWide, "web": web, "push": push, "webhook": hooks, "email": mail} {
			begin, wide := "kvv1."+role+".", strings.Fields(who)[0]
			if role != "operator" && role != "gateway" && role != "issuer" {
				begin = "kvv1.responder." + role + "."
			}
			if !slices.Contains(strings.Fields(may[role]), "list") {
				who, wide = nobody, nobody
			}
			add(who, begin+bucket+".list.acme")
			add(wide, begin+bucket+".list.other", begin+bucket+".list.~", begin+bucket+".list")
			add(nobody, begin+bucket+".watch.acme.k", begin+bucket+".purge.acme.k")
		}
	}
	// The server.
	add("operator", "$SRV.PING", "$SRV.INFO.askbus")
	add("operator broker", "$SRV.STATS.askbus") // brokers compare their settings
	add("ledger maintenance backup", "$JS.API.STREAM.INFO.ASKS_00", "$JS.API.STREAM.MSG.GET.ASKS_00", "$JS.API.DIRECT.GET.ASKS_00", "$JS.API.CONSUMER.LIST.ASKS_00")
	add("ledger maintenance", "$JS.API.INFO", "$JS.API.CONSUMER.INFO.ASKS_00.web-q", "$JS.API.STREAM.NAMES", "$JS.API.STREAM.LIST",
		"$JS.API.STREAM.PEER.REMOVE.ASKS_00", "$JS.API.STREAM.LEADER.STEPDOWN.ASKS_00", "$JS.API.CONSUMER.LEADER.STEPDOWN.ASKS_00.web-q")
	add("ledger", "$JS.API.STREAM.CREATE.ASKS_00", "$JS.API.STREAM.PURGE.ASKS_00", "$JS.API.CONSUMER.CREATE.ASKS_00.x", "$JS.ACK.ASKS_00.web-q.1.1.1.1.1")
	add("maintenance", "$JS.API.STREAM.UPDATE.ASKS_00", "$JS.API.STREAM.SNAPSHOT.ASKS_00", "$JS.API.STREAM.RESTORE.ASKS_00", "$JS.SNAPSHOT.RESTORE.ASKS_00.x")
	add("ledger cluster", "$SYS.REQ.SERVER.PING.JSZ")
	add("revocations", "revokedv1.list") // and no broker, which could revoke anybody
	add("revocations clock", "revokedv1.digest")
	add("clock", "$SYS.REQ.SERVER.PING")           // and nobody may reply in the name of a server
	add("ledger cluster", "$JS.API.SERVER.REMOVE") // the ledger's account has no such command
	add("ledger", "$JS.API.META.LEADER.STEPDOWN")  // nor this
	add(nobody, "$JS.API.STREAM.DELETE.ASKS_00", "$JS.API.STREAM.MSG.DELETE.ASKS_00", "$JS.API.CONSUMER.DELETE.ASKS_00.web-q", "$JS.FC.x", "$KV.x.y", "$O.x.y", "$G.x",
		"$SYS.REQ.SERVER.PING.STATSZ", "$SYS.REQ.SERVER.PING.VARZ", "$SYS.REQ.SERVER.x.KICK", "$SYS.REQ.SERVER.PING.CONNZ", "$SYS.REQ.CLAIMS.UPDATE", "$SYS.REQ.ACCOUNT.PING.CONNZ", "$SYS.REQ.USER.INFO.x", "$SYS.ACCOUNT.x.CONNECT", "$MQTT.x", "anything")
	// Inboxes: only the broker replies.
	add("broker", "_INBOX.a.acme.s1.x", "_INBOX.at.acme.x", "_INBOX.r.web.x", "_INBOX.rt.web.acme.x", "_INBOX.rs.web.acme.s1.x", "_INBOX.h.acme.s1.x", "_INBOX.op.x", "_INBOX.g.x", "_INBOX.i.x", "_INBOX.u.x", "_INBOX.ut.acme.x", "_INBOX.sr.x", "_INBOX.b.settings.x")
	add(nobody, "_INBOX.x", "_INBOX.b.x", "_INBOX.b.settings.x.y", "_INBOX.l.x", "_INBOX.m.x", "_INBOX.s.x", "_INBOX.c.x", "_INBOX.t.x", "_inbox.a.acme.s1.x")
	return all
}

// subscribe is the table of permissions to subscribe.
func subscribe() []line {
	var all []line
	add := func(may string, subjects ...string) {
		for _, s := range subjects {
			all = append(all, line{s, strings.Fields(may)})
		}
	}
	const hearing = "gateway operator broker" // everything republished about asks
	add("agent agent-tenant "+screens+" responder-session "+hearing, "outv1.acme.s1.*.o", "outv1.acme.s1.a1.o")
	add("agent-tenant "+screens+" "+hearing, "outv1.acme.*.*.o", "outv1.acme.s2.*.o")
	add(everyType+" "+hearing, "outv1.*.*.*.o", "outv1.other.s1.*.o", "outv1.*.*.*.q", "outv1.other.s1.*.q")
	add(screens+" responder-session "+hearing, "outv1.acme.s1.*.q")
	add(screens+" "+hearing, "outv1.acme.*.*.q", "outv1.acme.s2.*.q")
	add(hearing, "outv1.>", "outv1.*.*.*.*", "outv1.acme.>")
	add(everyType+" gateway broker", "ansv1.*.*.*.*.look.*", "ansv1.*.*.other.*.look.*")
	add(screens+" gateway broker", "ansv1.*.*.acme.*.look.*", "ansv1.*.*.acme.s2.look.*")
	add(screens+" responder-session gateway broker", "ansv1.*.*.acme.s1.look.*")
	add(everyType+" gateway", "herev1.>", "herev1.other.>")
	add(screens+" gateway", "herev1.acme.>", "herev1.acme.s2")
	add(screens+" responder-session gateway", "herev1.acme.s1")
	add("revocations clock", "revokedv1.list")
	add("revocations", "revokedv1.digest")
	// Only the broker receives requests.
	add("broker", "askv1.>", "askv1.acme.s1.>", "askv1.acme.s1.ask.*", "ansv1.>", "ansv1.slack.>", "ansv1.*.*.*.*.answer.*", "ansv1.*.*.*.*.here.*", "hostv1.>", "hostv1.*.acme.s1.answer.*",
		"admv1.>", "auditv1.>", "auditv1.*.read", "kvv1.>", "kvv1.agent.acme.s1.leases.put", "$SRV.>", "$SRV.PING")
	add(nobody, ">", "*", "*.>", "*.*.*.*.*", "ledgerv1.>", "ledgerv1.00.acme.s1.a1.o", "$JS.>", "$JS.API.>", "$JS.API.STREAM.INFO.ASKS_00", "$JS.EVENT.>", "$SYS.>", "$SYS.ACCOUNT.>", "$KV.>", "statev1.>")
	add("issuer", "issuev1.credential", "issuev1.*.person", "issuev1.*.person.*", "issuev1.*.person.acme")
	add(nobody, "issuev1.>", "issuev1.*.*", "issuev1.*.*.*", "issuev1.*.>", "issuev1."+other+".>")
	// Inboxes.
	for inbox, may := range map[string]string{
		"a.acme.s1": "agent", "at.acme": "agent-tenant", "r.slack": "responder", "rt.slack.acme": "responder-tenant", "rs.slack.acme.s1": "responder-session",
		"r.web": "responder-web", "rt.web.acme": "responder-tenant-web", "r.push": "responder-push", "rt.push.acme": "responder-tenant-push", "r.webhook": "responder-webhook", "rt.webhook.acme": "responder-tenant-webhook", "r.email": "responder-email", "rt.email.acme": "responder-tenant-email",
		"h.acme.s1": "host", "g": "gateway", "op": "operator", "b": "broker", "i": "issuer", "u": "auditor", "ut.acme": "auditor-tenant", "l": "ledger", "m": "maintenance", "s": "backup", "sr": "saved", "c": "cluster", "t": "clock",
	} {
		add(may, "_INBOX."+inbox+".>", "_INBOX."+inbox+".x.*")
	}
	add(nobody, "_INBOX.>", "_INBOX.*.>", "_INBOX.a.>", "_INBOX.a.acme.>", "_INBOX.a.acme.s2.>", "_INBOX.a.acme.s1x.>", "_INBOX.at.>", "_INBOX.at.other.>",
		"_INBOX.r.>", "_INBOX.r.webx.>", "_INBOX.rt.>", "_INBOX.rt.slack.other.>", "_INBOX.rs.>", "_INBOX.rs.slack.acme.s2.>", "_INBOX.h.>", "_INBOX.h.acme.s2.>", "_INBOX.gx.>", "_INBOX.ut.>", "_INBOX.ut.other.>")
	// Shared state.
	for bucket, may := range state() {
		var wide, ofTenant []string
		for role, who := range map[string]string{"operator": "operator", "gateway": "gateway", "issuer": "issuer", "slack": slackWide, "web": web, "push": push, "webhook": hooks, "email": mail} {
			if slices.Contains(strings.Fields(may[role]), "watch") {
				wide, ofTenant = append(wide, strings.Fields(who)[0]), append(ofTenant, strings.Fields(who)...)
			}
		}
		all = append(all, line{"statev1." + bucket + ".>", wide}, line{"statev1." + bucket + ".other.>", wide}, line{"statev1." + bucket + ".~.>", wide}, line{"statev1." + bucket + ".acme.>", ofTenant})
	}
	return all
}
