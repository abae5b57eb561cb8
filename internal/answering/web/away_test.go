package web_test

import (
	"context"
	"net/http"
	"net/url"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/answering/auth"
	"github.com/askbus/askbus/internal/answering/web"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/responder"
)

// absence is who stands in for whom, without a bus.
type absence struct {
	set []responder.Away
	all []ask.StandIn
}

func (a *absence) All() []ask.StandIn { return a.all }

func (a *absence) Of(by ask.By) (all []ask.StandIn) {
	for _, one := range a.all {
		if one.By == by.Principal {
			all = append(all, one)
		}
	}
	return all
}

func (a *absence) Set(_ context.Context, s responder.Away) (ask.StandIn, error) {
	a.set = append(a.set, s)
	if s.To == "group:x" {
		return ask.StandIn{}, ask.InvalidError("away", []ask.Fault{ask.NewFault("/to", ask.FaultNoStandIn, s.To)})
	}
	return ask.StandIn{}, nil
}

// TestThePageOfStandIns: a person says who stands in, is told what is wrong, and
// ends only their own; the stand-in finds the asks of the one who is away.
func TestThePageOfStandIns(t *testing.T) {
	t.Parallel()
	b, away := newBus(), &absence{all: []ask.StandIn{
		{Absent: mei, By: "os:tom", Until: time.Now().Add(time.Hour)},
		{Absent: tom, By: "os:<b>", Tenant: "acme", Until: time.Now().Add(time.Hour)},
	}}
	in := serve(t, b, func(o *web.Options) { o.StandIns = away })
	u := in.signedIn(t, mei)
	page := u.get("/away")
	if page.status != http.StatusOK || !contains(page.body, "os:tom") || contains(page.body, "<b>") || !contains(page.body, `name="end"`) {
		t.Fatalf("%d %s", page.status, page.body)
	}
	// Whom the inbox has seen is suggested, unless they may be of other tenants.
	for _, access := range []ask.Access{nil, {{Tenants: []string{"acme"}}}} {
		body := in.as(t, auth.Person{By: mei, Access: access}).get("/away").body
		if contains(body, `<datalist id="people"><option value="os:tom">Tom (os:tom)</option></datalist>`) != (access == nil) || contains(body, `<option value="os:mei"`) {
			t.Errorf("with the rights %v it suggests %s", access, body)
		}
	}
	day := time.Now().UTC().AddDate(0, 0, 3).Truncate(24 * time.Hour)
	if res := u.post("/away", url.Values{"to": {"os:tom"}, "until": {day.Format(time.DateOnly)}, "tenant": {"acme"}}); res.path != "/away" || res.status != http.StatusOK {
		t.Fatalf("%d at %s", res.status, res.path)
	}
	if s := away.set[0]; s.By.Principal != mei.Principal || s.To != "os:tom" || s.Tenant != "acme" || !s.Until.Equal(day.AddDate(0, 0, 1)) {
		t.Errorf("set: %+v", s)
	}
	for name, form := range map[string]url.Values{
		"a group":        {"to": {"group:x"}, "until": {day.Format(time.DateOnly)}},
		"no day":         {"to": {"os:tom"}, "until": {"soon"}},
		"another tenant": {"to": {"os:tom"}, "until": {day.Format(time.DateOnly)}, "tenant": {"a.>"}},
	} {
		if res := u.post("/away", form); res.status != http.StatusUnprocessableEntity || !contains(res.body, `role="alert"`) {
			t.Errorf("%s: %d", name, res.status)
		}
	}
	if res := u.post("/away", url.Values{"to": {"group:x"}, "until": {day.Format(time.DateOnly)}}); !contains(res.body, "Nothing was changed: &#34;group:x&#34; cannot stand in for you; give another person") {
		t.Errorf("it does not say what is wrong: %s", res.body)
	}
	u.post("/away", url.Values{"to": {"os:tom"}, "end": {"1"}})
	if s := away.set[len(away.set)-1]; s.To != "os:tom" || !s.Until.IsZero() {
		t.Errorf("ended: %+v", s)
	}
	a := question("d1", database())
	a.Audience = []string{"os:mei"}
	k := b.ask(a, 0)
	if res := in.signedIn(t, tom).get("/ask/" + k.String()); !contains(res.body, "You stand in for Mei.") {
		t.Errorf("the stand-in sees %s", res.body)
	}
}

// TestAStandInGetsNoMoreThanThePersonMay: a rule of sign-in that gives less than a
// tenant gives nobody else the groups' rights in it; ending is always possible.
func TestAStandInGetsNoMoreThanThePersonMay(t *testing.T) {
	t.Parallel()
	day := time.Now().UTC().AddDate(0, 0, 3).Format(time.DateOnly)
	for name, c := range map[string]struct {
		access       ask.Access
		tenant, want string
		ok           bool
	}{
		"everything":     {nil, "", "", true},
		"every tenant":   {ask.Access{{}}, "beta", "beta", true},
		"one, unnamed":   {ask.Access{{Tenants: []string{"acme"}}}, "", "acme", true},
		"one, named":     {ask.Access{{Tenants: []string{"acme"}}}, "acme", "acme", true},
		"another":        {ask.Access{{Tenants: []string{"acme"}}}, "beta", "", false},
		"one of two":     {ask.Access{{Tenants: []string{"acme", "beta"}}}, "", "", false},
		"a reader":       {ask.Access{{ReadOnly: true}}, "", "", false},
		"some sessions":  {ask.Access{{Tenants: []string{"acme"}, Sessions: []string{"deploy-*"}}}, "acme", "", false},
		"some audiences": {ask.Access{{Audiences: []string{"group:sre"}}}, "acme", "", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			away := &absence{}
			u := serve(t, newBus(), func(o *web.Options) { o.StandIns = away }).as(t, auth.Person{By: mei, Access: c.access})
			res := u.post("/away", url.Values{"to": {"os:tom"}, "until": {day}, "tenant": {c.tenant}})
			switch {
			case !c.ok && (res.status != http.StatusUnprocessableEntity || len(away.set) > 0 || !contains(res.body, "Name a tenant in which you may.")):
				t.Errorf("%d, %+v", res.status, away.set)
			case c.ok && (len(away.set) != 1 || away.set[0].Tenant != c.want):
				t.Errorf("%d, %+v", res.status, away.set)
			}
			if u.post("/away", url.Values{"to": {"os:tom"}, "tenant": {c.tenant}, "end": {"1"}}); len(away.set) == 0 || !away.set[len(away.set)-1].Until.IsZero() {
				t.Errorf("it cannot be ended: %+v", away.set)
			}
		})
	}
}
