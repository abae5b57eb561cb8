package httpapi

import (
	"cmp"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/askbus/askbus/internal/asking/gateway/access"
	"github.com/askbus/askbus/internal/asking/sameask"
	"github.com/askbus/askbus/internal/protocol/wire"
	"github.com/askbus/askbus/pkg/ask"
)

// ask handles an ask in native JSON, or with ?dialect= in a foreign format.
func (api *API) ask(w http.ResponseWriter, r *http.Request, c *access.Caller) error {
	if d, given, err := dialectOf(r); given || err != nil {
		if err != nil {
			return err
		}
		return api.askIn(w, r, c, d, style{})
	}
	body, err := api.access.Body(w, r)
	if err != nil {
		return err
	}
	a, err := wire.DecodeAsk(body)
	if err != nil {
		return err
	}
	if err := api.place(r, c, &a, ""); err != nil {
		return err
	}
	wait, err := waitOf(r, 0)
	if err != nil {
		return err
	}
	st, err := api.asks.Store(r.Context(), &a, sameask.Origin{Waits: wait > 0}, traceOf(r))
	if err != nil {
		return err
	}
	k := a.Key()
	o, err := api.await(w, r, st, wait)
	if err != nil {
		return err
	}
	h := w.Header()
	h.Set("Location", location(c, r, k, ""))
	if o != nil {
		api.delivered(r, c, k)
	}
	if o != nil && wait > 0 {
		return sendOutcome(w, o)
	}
	s := wire.StatusReply{State: stateOf(o), Key: k, Deadline: st.Deadline, Created: &st.Created, Warnings: st.Warnings, Present: st.Present, Outcome: o}
	if (a.Approval != nil || len(a.Escalate) > 0 || st.Progress != "") && o == nil { // a policy may demand votes
		if rec, err := api.resp.Get(r.Context(), k); err == nil { // else the votes are left out
			s.Votes, s.Escalated, s.Progress = rec.Votes, rec.Escalated, rec.Waits("", time.Now())
		}
	}
	body, err = wire.EncodeStatus(&s)
	if err != nil {
		return err
	}
	h.Set("Askbus-State", string(stateOf(o)))
	status := http.StatusCreated
	switch {
	case wait > 0:
		status = http.StatusAccepted
	case !st.Created:
		status = http.StatusOK
	}
	access.SendJSON(w, status, body)
	return nil
}

// place sets the ask's tenant, session and id.
func (api *API) place(r *http.Request, c *access.Caller, a *ask.Ask, session string) error {
	tenant, err := c.TenantOf(r)
	if err != nil {
		return err
	}
	a.Tenant, a.Session = tenant, c.SessionOf(r, session)
	if err := c.CheckAsk(a.Tenant, a.Session); err != nil {
		return err
	}
	key := strings.Trim(r.Header.Get("Idempotency-Key"), `"`)
	switch {
	case key == "":
	case a.ID == "":
		a.ID = ask.Token(key)
	case a.ID != key && a.ID != ask.Token(key):
		return ask.InvalidError("ask", []ask.Fault{ask.NewFault("/id", ask.FaultDisagrees, ask.Clip(a.ID, 80), "idempotency_key", ask.Clip(key, 80))})
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

func location(c *access.Caller, r *http.Request, k ask.Key, dialect string) string {
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
	at := c.Prefix + "/v1/asks/" + k.Session + "/" + k.ID
	if len(q) > 0 {
		at += "?" + q.Encode()
	}
	return at
}

// sendOutcome writes an outcome in native JSON.
func sendOutcome(w http.ResponseWriter, o *ask.Outcome) error {
	body, err := wire.CarryOutcome(o)
	if err != nil {
		return err
	}
	w.Header().Set("Askbus-State", string(ask.StateResolved))
	access.SendJSON(w, http.StatusOK, body)
	return nil
}

// delivered records that the outcome of an ask goes to its asker with this response. Callers that may
// not ask, such as screens, are not the asker, and a response to HEAD has no outcome.
func (api *API) delivered(r *http.Request, c *access.Caller, k ask.Key) {
	if r.Method != http.MethodHead && c.CheckAsk(k.Tenant, k.Session) == nil {
		api.asks.Delivered(r.Context(), k)
	}
}

// get returns an ask: its status, with ?wait= its outcome if it ends in time, and with ?dialect=
// either in that format.
func (api *API) get(w http.ResponseWriter, r *http.Request, c *access.Caller) error {
	k, err := c.Key(r, c.CheckSee)
	if err != nil {
		return err
	}
	wait, err := waitOf(r, 0)
	if err != nil {
		return err
	}
	d, foreign, err := dialectOf(r)
	if err != nil {
		return err
	}
	rec, err := api.resp.Get(r.Context(), k)
	if err != nil {
		return err
	}
	if rec.State == ask.StatePending && wait > 0 {
		o, err := api.await(w, r, api.asks.Asked(k), wait)
		if err != nil {
			return err
		}
		if o != nil {
			rec.State, rec.Outcome = ask.StateResolved, o
		} else if rec.Ask.Approval != nil { // people may have voted meanwhile
			if again, err := api.resp.Get(r.Context(), k); err == nil {
				rec = again
			}
		}
	}
	if rec.Outcome != nil {
		api.delivered(r, c, k)
	}
	switch {
	case foreign:
		return api.getIn(w, r, c, d, &rec)
	case wait > 0 && rec.Outcome != nil:
		return sendOutcome(w, rec.Outcome)
	}
	return api.sendStatus(w, k, &rec, wait > 0)
}

func (api *API) sendStatus(w http.ResponseWriter, k ask.Key, rec *ask.Record, waited bool) error {
	s := wire.StatusReply{
		State: rec.State, Key: k, Deadline: rec.Ask.Deadline, AskedAt: rec.AskedAt, Life: rec.Life, Seq: rec.Seq, Ask: &rec.Ask, Receipts: rec.Receipts,
		Votes: rec.Votes, Escalated: rec.Escalated, Progress: rec.Waits("", time.Now()),
	}
	if rec.Outcome != nil {
		o := *rec.Outcome
		o.Ask = nil // it is in the status
		s.Outcome = &o
	}
	body, err := wire.EncodeStatus(&s)
	if rec.Raw != nil { // of a newer broker: passed on as it is
		body, err = rec.Raw, nil
	}
	if err != nil {
		return err
	}
	status := http.StatusOK
	if waited {
		status = http.StatusAccepted
	}
	w.Header().Set("Askbus-State", string(rec.State))
	access.SendJSON(w, status, body)
	return nil
}

// withdraw takes an ask back. The reason comes from the body, else from ?reason.
func (api *API) withdraw(w http.ResponseWriter, r *http.Request, c *access.Caller) error {
	k, err := c.Key(r, c.CheckAsk)
	if err != nil {
		return err
	}
	body, err := api.access.Body(w, r)
	if err != nil {
		return err
	}
	reason := struct {
		Reason string `json:"reason"`
	}{}
	if len(body) > 0 {
		if err := wire.Strict("withdrawal", body, &reason); err != nil {
			return err
		}
	}
	reason.Reason = cmp.Or(reason.Reason, r.URL.Query().Get("reason"))
	o, err := api.end(r, k, reason.Reason)
	if err != nil {
		return err
	}
	return sendOutcome(w, &o)
}

func (api *API) end(r *http.Request, k ask.Key, reason string) (ask.Outcome, error) {
	return api.asks.Withdraw(r.Context(), k, reason, traceOf(r))
}
