package role

import (
	"strings"

	"github.com/askbus/askbus/internal/answering/chat"
	"github.com/askbus/askbus/internal/answering/sshserver"
	"github.com/askbus/askbus/internal/answering/web"
	"github.com/askbus/askbus/internal/asking/gateway/access"
	"github.com/askbus/askbus/internal/bus/audit"
	"github.com/askbus/askbus/internal/process/daemon"
	"github.com/askbus/askbus/internal/server/exchange"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/nats-io/nats.go"
)

// reports adds the part that reports to the audit what a part of this process sees
// and no broker does. It starts before that part and stops after it.
func (r *Process) reports(nc *nats.Conn, part string, from audit.Sender) *audit.Reporter {
	to, run, _ := r.reporter(nc, part, from)
	r.parts = append(r.parts, run)
	return to
}

// reporter makes that part. Remove removes what is measured of it.
func (r *Process) reporter(nc *nats.Conn, part string, from audit.Sender) (to *audit.Reporter, run daemon.Part, remove func()) {
	to = audit.NewReporter(audit.Over(nc, from), audit.ReporterOptions{Logger: r.Log})
	return to, daemon.Part{Name: "audit of the " + part, Run: to.Run}, r.metrics.AuditReports(part, to.Lost)
}

// gatewayRefusals reports whom a gateway refuses.
func gatewayRefusals(to *audit.Reporter) func(access.Refusal) {
	return func(f access.Refusal) {
		a := audit.Attempt{What: f.What, Code: f.Code, Why: f.Why, Address: f.Address, Token: f.Claimed}
		if f.Token.ID != "" {
			a.Token, a.Tenant, a.Known = f.Token.ID, f.Token.Tenant, true
			if by := f.Token.By(""); f.Token.Principal != "" && by.Principal == f.Token.Principal {
				a.By = by
			}
		}
		to.Refused(a)
	}
}

// inboxEvents reports what a web inbox lets in and refuses.
func inboxEvents(to *audit.Reporter) func(web.Event) {
	return func(e web.Event) {
		action := audit.SignedIn
		switch e.Kind {
		case web.EventRefused:
			to.Refused(audit.Attempt{What: e.What, Code: e.Code, Why: e.Why, Tenant: e.Tenant, Session: e.Session, Address: e.Address, By: e.By, Known: e.Known})
			return
		case web.EventDeclined:
			action = audit.AsksDeclined
		case web.EventDismissed:
			action = audit.AsksDismissed
		}
		p := audit.Report{Action: action, Address: e.Address, Principal: e.By.Principal, Proof: e.By.Proof, Name: e.By.Name}
		if e.Why != "" {
			p.Object = &audit.Object{Kind: "asks", Note: e.Why}
		}
		to.Report(p)
	}
}

// chatRefusals reports whom a chat refuses.
func chatRefusals(to *audit.Reporter) func(chat.Refusal) {
	return func(f chat.Refusal) {
		to.Refused(audit.Attempt{What: f.What, Code: f.Code, Why: f.Why, Tenant: f.Ask.Tenant, Session: f.Ask.Session, Address: f.Address, By: f.By, Known: f.By.Principal != ""})
	}
}

// sshRefusals reports logins that the inbox over SSH refuses.
func sshRefusals(to *audit.Reporter) func(sshserver.Refusal) {
	return func(f sshserver.Refusal) {
		to.Refused(audit.Attempt{What: "sign-in over SSH", Code: f.Code, Why: f.Why, Address: f.Address})
	}
}

// exchangeRefusals reports to whom an issuer gives no credential.
func exchangeRefusals(to *audit.Reporter) func(string, exchange.Proof, *ask.Error) {
	return func(what string, p exchange.Proof, e *ask.Error) {
		a := audit.Attempt{What: what, Code: e.Code, Why: e.Detail, Tenant: p.Tenant, Known: p.Subject != ""}
		if a.Known {
			a.Token = strings.TrimPrefix(p.Provider+" "+p.Subject, exchange.TokenProvider+" ")
		}
		to.Refused(a)
	}
}
