package gateway

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"

	"github.com/askbus/askbus/internal/cloudevent"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/client"
)

// ask takes an ask in native JSON, or with ?dialect= in that shape.
func (g *Gateway) ask(w http.ResponseWriter, r *http.Request, c *caller) error {
	if d, given, err := dialectOf(r); given || err != nil {
		if err != nil {
			return err
		}
		return g.askIn(w, r, c, d, style{})
	}
	body, err := g.body(w, r)
	if err != nil {
		return err
	}
	if len(body) > ask.MaxEventBytes {
		return ask.Refuse(http.StatusRequestEntityTooLarge, ask.CodeTooLarge, "the ask has %d bytes; send at most %d", len(body), ask.MaxEventBytes)
	}
	a, err := cloudevent.DecodeAsk(body)
	if err != nil {
		return err
	}
	if err := g.place(r, c, &a, ""); err != nil {
		return err
	}
	wait, err := g.waitOf(r, 0)
	if err != nil {
		return err
	}
	named := a.ID != ""
	if !named {
		a.ID = cloudevent.NewID()
	}
	attached := false
	if named {
		_, err := g.resp.Get(r.Context(), a.Key())
		attached = err == nil
	}
	st, err := g.store(r.Context(), a, traceOf(r))
	if err != nil {
		return err
	}
	k := a.Key()
	o := st.Outcome
	if o == nil {
		if o, err = g.await(w, r, k, wait); err != nil {
			return err
		}
	}
	h := w.Header()
	h.Set("Location", location(c, r, k, ""))
	if o != nil && wait > 0 {
		return g.sendOutcome(w, k, o)
	}
	body, err = cloudevent.EncodeStatus(&cloudevent.Status{
		State: stateOf(o), Key: k, Deadline: st.Deadline, Warnings: st.Warnings, Present: st.Present, Outcome: o,
	})
	if err != nil {
		return err
	}
	h.Set("Askbus-State", string(stateOf(o)))
	status := http.StatusCreated
	switch {
	case wait > 0:
		status = http.StatusAccepted
	case attached:
		status = http.StatusOK
	}
	sendJSON(w, status, body)
	return nil
}

// place says whose ask it is: tenant, session and id.
func (g *Gateway) place(r *http.Request, c *caller, a *ask.Ask, session string) error {
	tenant, err := c.tenantOf(r)
	if err != nil {
		return err
	}
	a.Tenant, a.Session = tenant, c.sessionOf(r, session)
	if err := c.mayAsk(a.Tenant, a.Session); err != nil {
		return err
	}
	key := strings.Trim(r.Header.Get("Idempotency-Key"), `"`)
	switch {
	case key == "":
	case a.ID == "":
		a.ID = ask.Token(key)
	case a.ID != key && a.ID != ask.Token(key):
		return ask.InvalidError("ask", []ask.Fault{{Pointer: "/id", Message: "is " + quote(a.ID) + ", but Idempotency-Key says " + quote(key) + "; they must agree"}})
	}
	return nil
}

func traceOf(r *http.Request) string {
	if s := r.Header.Get("Traceparent"); len(s) <= 128 && len(s) > 0 {
		return s
	}
	return ""
}

func stateOf(o *ask.Outcome) ask.State {
	if o == nil {
		return ask.StatePending
	}
	return ask.StateResolved
}

// location is where an ask is picked up again.
func location(c *caller, r *http.Request, k ask.Key, dialect string) string {
	q := url.Values{}
	if k.Tenant != c.Tenant {
		q.Set("tenant", k.Tenant)
	}
	if dialect != "" {
		q.Set("dialect", dialect)
	}
	if wait := r.URL.Query().Get("wait"); wait != "" && wait != "0" {
		q.Set("wait", wait)
	}
	at := c.prefix + "/v1/asks/" + k.Session + "/" + k.ID
	if len(q) > 0 {
		at += "?" + q.Encode()
	}
	return at
}

// sendOutcome writes an outcome in native JSON.
func (g *Gateway) sendOutcome(w http.ResponseWriter, k ask.Key, o *ask.Outcome) error {
	body, err := cloudevent.EncodeOutcome(o, nil)
	if err != nil {
		return err
	}
	w.Header().Set("Askbus-State", string(ask.StateResolved))
	sendJSON(w, http.StatusOK, body)
	g.again.told(k)
	return nil
}

// get reads an ask: its status, or with ?wait= its outcome when it comes in
// time, or with ?dialect= either in that shape.
func (g *Gateway) get(w http.ResponseWriter, r *http.Request, c *caller) error {
	k, err := c.key(r)
	if err != nil {
		return err
	}
	if err := c.maySee(k.Tenant, k.Session); err != nil {
		return err
	}
	wait, err := g.waitOf(r, 0)
	if err != nil {
		return err
	}
	d, foreign, err := dialectOf(r)
	if err != nil {
		return err
	}
	rec, err := g.resp.Get(r.Context(), k)
	if err != nil {
		return err
	}
	if rec.State == ask.StatePending && wait > 0 {
		o, err := g.await(w, r, k, wait)
		if err != nil {
			return err
		}
		if o != nil {
			rec.State, rec.Outcome = ask.StateResolved, o
		}
	}
	switch {
	case foreign:
		return g.getIn(w, r, c, d, &rec)
	case wait > 0 && rec.Outcome != nil:
		return g.sendOutcome(w, k, rec.Outcome)
	}
	return g.sendStatus(w, k, &rec, wait > 0)
}

func (g *Gateway) sendStatus(w http.ResponseWriter, k ask.Key, rec *ask.Record, waited bool) error {
	s := cloudevent.Status{
		State: rec.State, Key: k, Deadline: rec.Ask.Deadline, AskedAt: rec.AskedAt, Seq: rec.Seq, Ask: &rec.Ask, Receipts: rec.Receipts,
	}
	if rec.Outcome != nil {
		o := *rec.Outcome
		o.Ask = nil // it stands beside
		s.Outcome = &o
	}
	body, err := cloudevent.EncodeStatus(&s)
	if err != nil {
		return err
	}
	status := http.StatusOK
	if waited {
		status = http.StatusAccepted
	}
	w.Header().Set("Askbus-State", string(rec.State))
	sendJSON(w, status, body)
	if rec.Outcome != nil {
		g.again.told(k)
	}
	return nil
}

// withdraw takes an ask back.
func (g *Gateway) withdraw(w http.ResponseWriter, r *http.Request, c *caller) error {
	k, err := c.key(r)
	if err != nil {
		return err
	}
	if err := c.mayAsk(k.Tenant, k.Session); err != nil {
		return err
	}
	body, err := g.body(w, r)
	if err != nil {
		return err
	}
	reason := struct {
		Reason string `json:"reason"`
	}{}
	if len(body) > 0 {
		if err := cloudevent.Strict("withdrawal", body, &reason); err != nil {
			return err
		}
	}
	if reason.Reason == "" {
		reason.Reason = r.URL.Query().Get("reason")
	}
	o, err := g.end(r, k, reason.Reason)
	if err != nil {
		return err
	}
	return g.sendOutcome(w, k, &o)
}

func (g *Gateway) end(r *http.Request, k ask.Key, reason string) (ask.Outcome, error) {
	one, err := client.New(g.nc, k.Tenant, k.Session, client.Options{Logger: g.opts.Logger, Trace: traceOf(r)})
	if err != nil {
		return ask.Outcome{}, err
	}
	ctx, cancel := detached(r.Context())
	defer cancel()
	return one.Withdraw(ctx, k.ID, reason)
}

// asObject reads a JSON object field by field.
func asObject(what string, body []byte) (map[string]json.RawMessage, error) {
	var probe any
	if err := cloudevent.Strict(what, body, &probe); err != nil { // depth, and fields given twice
		return nil, err
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(body, &fields); err != nil || fields == nil {
		return nil, ask.InvalidError(what, []ask.Fault{{Message: "is no JSON object; give one"}})
	}
	return fields, nil
}
