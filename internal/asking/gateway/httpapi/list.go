package httpapi

import (
	"net/http"
	"strconv"

	"github.com/askbus/askbus/internal/asking/gateway/access"
	"github.com/askbus/askbus/internal/protocol/wire"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/responder"
)

// list returns a page of asks, of ?state, ?question and ?id.
func (api *API) list(w http.ResponseWriter, r *http.Request, c *access.Caller) error {
	q, err := query(c, r)
	if err != nil {
		return err
	}
	q.State = ask.State(r.URL.Query().Get("state"))
	switch q.State {
	case "", ask.StatePending, ask.StateResolved:
	default:
		return ask.Refusal(ask.CodeInvalid, ask.FaultBadParameter, "?state", ask.Clip(string(q.State), 80), "pending, resolved")
	}
	q.Question, q.ID = r.URL.Query().Get("question"), r.URL.Query().Get("id")
	return api.page(w, r, c, q)
}

// history returns earlier answers to a question, by its id or its exact text. They are suggestions
// for people, never filled in.
func (api *API) history(w http.ResponseWriter, r *http.Request, c *access.Caller) error {
	q, err := query(c, r)
	if err != nil {
		return err
	}
	if q.Question = r.URL.Query().Get("question"); q.Question == "" {
		return ask.Refusal(ask.CodeInvalid, ask.FaultMissingParameter, "?question", "question_to_list")
	}
	q.State = ask.StateResolved
	return api.page(w, r, c, q)
}

// query parses the common parameters of lists. A token of one session sees only that one.
func query(c *access.Caller, r *http.Request) (responder.Query, error) {
	params := r.URL.Query()
	tenant, err := c.TenantOf(r)
	if err != nil {
		return responder.Query{}, err
	}
	q := responder.Query{Tenant: tenant, Session: params.Get("session"), Cursor: params.Get("cursor")}
	if q.Session == "" {
		q.Session, _ = c.Session()
	} else {
		q.Session = ask.Token(q.Session)
		if err := c.CheckSee(tenant, q.Session); err != nil {
			return q, err
		}
	}
	if s := params.Get("limit"); s != "" {
		n, err := strconv.Atoi(s)
		if err != nil || n < 1 || n > wire.MaxPage {
			return q, ask.Refusal(ask.CodeInvalid, ask.FaultBadRange, "?limit", ask.Clip(s, 80), 1, wire.MaxPage)
		}
		q.PageSize = n
	}
	return q, nil
}

func (api *API) page(w http.ResponseWriter, r *http.Request, c *access.Caller, q responder.Query) error {
	page, err := api.resp.List(r.Context(), q)
	if err != nil {
		return err
	}
	items := make([]wire.ListItem, 0, len(page.Items))
	for _, rec := range page.Items {
		if c.MaySee(rec.Ask.Tenant, rec.Ask.Session) {
			items = append(items, wire.ListItem{Record: rec})
		}
	}
	body, err := wire.EncodePage(items, page.Next)
	if err != nil {
		return err
	}
	access.SendJSON(w, http.StatusOK, body)
	return nil
}
