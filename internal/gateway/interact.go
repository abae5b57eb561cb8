package gateway

import (
	"net/http"

	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/dialect"
)

// interact is D4's one call: it asks one question and waits for its answer. It
// is refused at once when nobody is there for the session.
func (g *Gateway) interact(w http.ResponseWriter, r *http.Request, c *caller) error {
	d4, _ := dialect.Lookup("d4")
	return g.askIn(w, r, c, d4, style{wait: g.opts.MaxWait, require: true})
}

// permission is the callback of an agent SDK, and the hook of a coding agent's
// CLI, as an HTTP request with the same bodies.
func (g *Gateway) permission(w http.ResponseWriter, r *http.Request, c *caller) error {
	body, err := g.body(w, r)
	if err != nil {
		return err
	}
	fields, err := asObject("permission call", body)
	if err != nil {
		return err
	}
	if fields["hook_event_name"] != nil {
		return g.hook(w, r, c, body)
	}
	call, err := dialect.D3Permission(body)
	if err != nil {
		return err
	}
	o, warnings, err := g.askFor(w, r, c, &call.Ask, call.Warnings, g.opts.MaxWait)
	if err != nil {
		return err
	}
	warn(w, warnings)
	k := call.Ask.Key()
	if o == nil {
		w.Header().Set("Location", location(c, r, k, "d3"))
		return ask.Refuse(http.StatusGatewayTimeout, "pending",
			"nobody has answered yet; the ask stays open: call again with the same body, or pick the answer up at Location")
	}
	w.Header().Set("Askbus-State", string(ask.StateResolved))
	sendJSON(w, http.StatusOK, call.Decide(o))
	g.again.told(k)
	return nil
}

// noDecision is what a hook prints that leaves the decision to its host.
const noDecision = "{}"

// hook answers a hook's call. A hook is cut off after a while: before that it
// says nothing, and the ask stays pending.
func (g *Gateway) hook(w http.ResponseWriter, r *http.Request, c *caller, body []byte) error {
	call, ours, err := dialect.D3Hook(body)
	if err != nil {
		return err
	}
	if !ours {
		sendJSON(w, http.StatusOK, []byte(noDecision))
		return nil
	}
	if call.Event == dialect.HookPostToolUse {
		return g.answeredThere(w, r, c, &call)
	}
	o, warnings, err := g.askFor(w, r, c, &call.Ask, call.Warnings, g.opts.MaxWait*9/10)
	if err != nil {
		return err
	}
	warn(w, warnings)
	k := call.Ask.Key()
	if o == nil {
		w.Header().Set("Location", location(c, r, k, "d3"))
		sendJSON(w, http.StatusOK, []byte(noDecision))
		return nil
	}
	decision := call.Decide(o)
	if decision == nil {
		decision = []byte(noDecision)
	}
	w.Header().Set("Askbus-State", string(ask.StateResolved))
	sendJSON(w, http.StatusOK, decision)
	g.again.told(k)
	return nil
}

// answeredThere closes an ask that was answered in the agent's own dialog. An
// agent's token never answers, so the ask is withdrawn and the reason says why;
// "askbus hook" records the answer itself.
func (g *Gateway) answeredThere(w http.ResponseWriter, r *http.Request, c *caller, call *dialect.HookCall) error {
	if err := g.place(r, c, &call.Ask, call.Ask.Session); err != nil {
		return err
	}
	if _, answered := call.Native(); answered && call.Ask.ID != "" {
		_, err := g.end(r, call.Ask.Key(), "answered in the agent's own dialog")
		if e := problem(err); err != nil && e.Status >= http.StatusInternalServerError {
			return err
		}
	}
	sendJSON(w, http.StatusOK, []byte(noDecision))
	return nil
}
