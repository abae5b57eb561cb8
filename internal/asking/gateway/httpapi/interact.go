package httpapi

import (
	"errors"
	"net/http"
	"strings"

	"github.com/askbus/askbus/internal/asking/gateway/access"
	"github.com/askbus/askbus/internal/asking/hook/hostcall"
	"github.com/askbus/askbus/internal/asking/sameask"
	"github.com/askbus/askbus/internal/protocol/wire"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/dialect"
)

// interact is the only call of the dialect interact: it asks one question and waits for the answer.
// It is refused at once if nobody is present for the session.
func (api *API) interact(w http.ResponseWriter, r *http.Request, c *access.Caller) error {
	return api.askIn(w, r, c, dialect.Named("interact"), style{wait: ask.MaxHold, require: true})
}

// permission is the callback of an agent SDK and of a coding agent's CLI hook as an HTTP request
// with the same bodies.
func (api *API) permission(w http.ResponseWriter, r *http.Request, c *access.Caller) error {
	body, err := api.access.Body(w, r)
	if err != nil {
		return err
	}
	fields, err := access.ReadObject("permission call", body)
	if err != nil {
		return err
	}
	if fields["hook_event_name"] != nil {
		return api.hook(w, r, c, body)
	}
	call, err := hostcall.ReadCallback(body)
	if err != nil {
		return err
	}
	o, warnings, err := api.askFor(w, r, c, &call.Ask, sameask.Origin{Place: call.Place}, call.Warnings, ask.MaxHold, held{})
	if err != nil {
		return err
	}
	warn(w, warnings)
	k := call.Ask.Key()
	if o == nil {
		w.Header().Set("Location", location(c, r, k, "claude-code"))
		return ask.Refusal(wire.CodePending, ask.FaultStillPending)
	}
	api.delivered(r, c, k)
	w.Header().Set("Askbus-State", string(ask.StateResolved))
	access.SendJSON(w, http.StatusOK, call.Decide(o))
	return nil
}

// noDecision leaves the decision to the hook's host, like /v1/hook.
func noDecision(w http.ResponseWriter, reason string) error {
	if reason, _, _ = strings.Cut(reason, "\n"); reason != "" {
		w.Header().Set("Askbus-Reason", ascii(reason))
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// hook handles a hook's call. Hosts time out hooks: before that it returns no decision, and the ask
// stays pending.
func (api *API) hook(w http.ResponseWriter, r *http.Request, c *access.Caller, body []byte) error {
	if end, ok := hostcall.ReadEnd(body); ok {
		return api.ended(w, r, c, end)
	}
	call, ours, err := hostcall.ReadEvent(body)
	if err != nil {
		return err
	}
	if !ours {
		return noDecision(w, "")
	}
	if call.Permission() || call.Form() {
		return noDecision(w, "permissions of tools and forms are asked at /v1/hook")
	}
	if call.Name == hostcall.PostToolUse {
		return api.answeredThere(w, r, c, &call)
	}
	hostcall.MarkAsked(&call.Ask)
	call.Ask.Agent, call.Ask.WhileWaiting = hostcall.Agent(body), true
	o, warnings, err := api.askFor(w, r, c, &call.Ask, sameask.Origin{Place: call.Place, Dialog: true}, call.Warnings, ask.MaxHold*9/10, held{})
	if err != nil {
		return err
	}
	warn(w, warnings)
	k := call.Ask.Key()
	if o == nil {
		w.Header().Set("Location", location(c, r, k, "claude-code"))
		return noDecision(w, "nobody has answered yet; the question stays open as "+k.String())
	}
	api.delivered(r, c, k)
	w.Header().Set("Askbus-State", string(ask.StateResolved))
	decision := call.Decide(o)
	if decision == nil {
		return noDecision(w, dialect.Report(&call.Ask, o))
	}
	access.SendJSON(w, http.StatusOK, decision)
	return nil
}

// answeredThere closes an ask that was answered in the agent's own dialog. An agent's token never
// answers, so it withdraws the ask with the reason; "askbus hook" records the answer itself.
func (api *API) answeredThere(w http.ResponseWriter, r *http.Request, c *access.Caller, call *hostcall.Event) error {
	from := sameask.Origin{Call: sameask.TakeCall(&call.Ask), Run: call.Ask.Session, Place: call.Place, Dialog: true}
	if err := api.place(r, c, &call.Ask, call.Ask.Session); err != nil {
		return err
	}
	if _, answered := call.Native(); !answered {
		return noDecision(w, "")
	}
	for _, id := range append(from.Find(&call.Ask), call.Ask.ID) {
		if id == "" {
			continue
		}
		k := call.Ask.Key()
		k.ID = id
		_, err := api.end(r, k, "answered in the agent's own dialog")
		if e := access.Problem(err); err != nil && wire.HTTPStatus(e.Code) >= http.StatusInternalServerError {
			return err
		}
		if err == nil {
			break
		}
	}
	return noDecision(w, "")
}

// ended withdraws the hook's asks of an agent that has stopped.
func (api *API) ended(w http.ResponseWriter, r *http.Request, c *access.Caller, end hostcall.End) error {
	session := ""
	if end.Session != "" {
		session = ask.Token(end.Session)
	}
	at := ask.Ask{}
	if err := api.place(r, c, &at, session); err != nil {
		return err
	}
	var gone []ask.Key
	for rec, err := range api.asks.Pending(r.Context(), at.Key().InSession()) {
		if err != nil {
			return err
		}
		if end.Ends(&rec.Ask) {
			gone = append(gone, rec.Ask.Key())
		}
	}
	for _, k := range gone {
		if _, err := api.end(r, k, end.Words()); err != nil && !errors.Is(err, ask.ErrResolved) {
			return err
		}
	}
	return noDecision(w, "")
}
