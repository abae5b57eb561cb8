package httpapi

import (
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"

	"github.com/askbus/askbus/internal/asking/gateway/access"
	"github.com/askbus/askbus/internal/asking/gateway/asking"
	"github.com/askbus/askbus/internal/protocol/cloudevent"
	"github.com/askbus/askbus/internal/protocol/wire"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/dialect"
)

// answer handles a person's reply, in native JSON or with ?dialect= in a foreign format.
func (api *API) answer(w http.ResponseWriter, r *http.Request, c *access.Caller) error {
	k, body, err := api.decision(w, r, c)
	if err != nil {
		return err
	}
	d, foreign, err := dialectOf(r)
	if err != nil {
		return err
	}
	if foreign {
		rec, err := api.resp.Get(r.Context(), k)
		if err != nil {
			return err
		}
		given, err := asking.ReadReply(d, &rec, body, false)
		if err != nil {
			return err
		}
		if err := api.uploadAll(r, k.InSession(), given.Files); err != nil {
			return err
		}
		return api.given(w, r, c, &rec, given)
	}
	fields, err := access.ReadObject("answer", body)
	if err != nil {
		return err
	}
	signed, err := sign(c, fields, k)
	if err != nil {
		return err
	}
	reply, err := wire.DecodeReply(signed, k.ID)
	if err != nil {
		return err
	}
	return api.decide(w, r, k, dialect.Given{Decision: dialect.Replied, Reply: reply})
}

// decision reads the ask and the body of a decision.
func (api *API) decision(w http.ResponseWriter, r *http.Request, c *access.Caller) (ask.Key, []byte, error) {
	k, err := c.Key(r, c.CheckAnswer)
	if err != nil {
		return k, nil, err
	}
	body, stored, err := api.access.BodyWithFiles(w, r, c)
	stored() // answers do not wait
	return k, body, err
}

// sign returns the body with who answers set from the token; the body's own value is only a display
// name.
func sign(c *access.Caller, fields map[string]json.RawMessage, k ask.Key) ([]byte, error) {
	name, err := access.ReadName(fields["by"])
	if err != nil {
		return nil, err
	}
	by := c.By(name)
	for field, value := range map[string]any{
		"by": map[string]any{"principal": by.Principal, "name": by.Name, "groups": by.Groups, "proof": by.Proof}, "ask_id": k.ID, "answer_id": cloudevent.NewID(),
	} {
		if fields[field] != nil && field != "by" {
			continue // checked below
		}
		if fields[field], err = json.Marshal(value); err != nil {
			return nil, err
		}
	}
	return json.Marshal(fields)
}

func (api *API) decide(w http.ResponseWriter, r *http.Request, k ask.Key, given dialect.Given) error {
	ctx, cancel := asking.Detached(r.Context())
	defer cancel()
	o, err := asking.Decide(ctx, api.resp, k, given)
	if err != nil {
		return voted(w, k, err)
	}
	api.opts.Logger.InfoContext(ctx, "decided", slog.String("ask_id", k.ID), slog.String("decision", string(given.Decision)), slog.String("principal", given.Reply.By.Principal))
	return sendOutcome(w, &o)
}

// decline declines an ask in a person's name.
func (api *API) decline(w http.ResponseWriter, r *http.Request, c *access.Caller) error {
	k, body, err := api.decision(w, r, c)
	if err != nil {
		return err
	}
	fields := map[string]json.RawMessage{}
	if len(body) > 0 {
		if fields, err = access.ReadObject("decline", body); err != nil {
			return err
		}
	}
	signed, err := sign(c, fields, k)
	if err != nil {
		return err
	}
	reply, reason, err := wire.DecodeDecline(signed, k.ID)
	if err != nil {
		return err
	}
	return api.decide(w, r, k, dialect.Given{Decision: dialect.Declined, Reply: reply, Reason: reason})
}

// unvote takes back the vote that the token's principal gave, and responds with the status.
func (api *API) unvote(w http.ResponseWriter, r *http.Request, c *access.Caller) error {
	k, err := c.Key(r, c.CheckAnswer)
	if err != nil {
		return err
	}
	ctx, cancel := asking.Detached(r.Context())
	defer cancel()
	by := c.By(r.URL.Query().Get("by"))
	if _, err := api.resp.Unvote(ctx, k, r.Header.Get("Idempotency-Key"), by); err != nil {
		return err
	}
	api.opts.Logger.InfoContext(ctx, "took a vote back", slog.String("ask_id", k.ID), slog.String("principal", by.Principal))
	rec, err := api.resp.Get(ctx, k)
	if err != nil {
		return err
	}
	return api.sendStatus(w, k, &rec, false)
}

// given applies the decision of a person at a foreign screen.
func (api *API) given(w http.ResponseWriter, r *http.Request, c *access.Caller, rec *ask.Record, given dialect.Given) error {
	k := rec.Ask.Key()
	if given.Decision == dialect.Dismissed {
		return api.sendStatus(w, k, rec, false) // closing the window is no decision
	}
	given.Reply.By, given.Reply.AnswerID = c.By(r.URL.Query().Get("by")), r.Header.Get("Idempotency-Key")
	return api.decide(w, r, k, given)
}

// voted responds to a vote that did not end its ask with the status; other errors
// it returns.
func voted(w http.ResponseWriter, k ask.Key, err error) error {
	e, ok := errors.AsType[*ask.Error](err)
	if !ok || e.Code != ask.CodeVoted {
		return err
	}
	body, err := wire.EncodeStatus(&wire.StatusReply{State: ask.StatePending, Key: k, Votes: e.Votes, Progress: e.Detail})
	if err != nil {
		return err
	}
	w.Header().Set("Askbus-State", string(ask.StatePending))
	access.SendJSON(w, http.StatusAccepted, body)
	return nil
}
