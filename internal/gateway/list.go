package gateway

import (
	"net/http"
	"strconv"

	"github.com/askbus/askbus/internal/cloudevent"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/responder"
)

// list says who waits for what since when, page by page.
func (g *Gateway) list(w http.ResponseWriter, r *http.Request, c *caller) error {
	q, err := c.query(r)
	if err != nil {
		return err
	}
	q.State = ask.State(r.URL.Query().Get("state"))
	switch q.State {
	case "", ask.StatePending, ask.StateResolved:
	default:
		return fault("?state is %s; use pending or resolved", quote(string(q.State)))
	}
	q.Question, q.ID = r.URL.Query().Get("question"), r.URL.Query().Get("id")
	return g.page(w, r, c, q)
}

// history are earlier answers to a question, by its id or its exact text. They
// are offered to people, and never filled in.
func (g *Gateway) history(w http.ResponseWriter, r *http.Request, c *caller) error {
	q, err := c.query(r)
	if err != nil {
		return err
	}
	if q.Question = r.URL.Query().Get("question"); q.Question == "" {
		return fault("?question is missing; give the id or the exact text of a question")
	}
	q.State = ask.StateResolved
	return g.page(w, r, c, q)
}

func fault(format string, args ...any) error {
	return ask.Refuse(http.StatusBadRequest, ask.CodeInvalid, format, args...)
}

// query reads what lists have in common. A token of one session sees that one.
func (c *caller) query(r *http.Request) (responder.Query, error) {
	params := r.URL.Query()
	tenant, err := c.tenantOf(r)
	if err != nil {
		return responder.Query{}, err
	}
	q := responder.Query{Tenant: tenant, Session: params.Get("session"), Cursor: params.Get("cursor")}
	if q.Session == "" {
		q.Session, _ = c.Session()
	} else {
		q.Session = ask.Token(q.Session)
		if err := c.maySee(tenant, q.Session); err != nil {
			return q, err
		}
	}
	if s := params.Get("limit"); s != "" {
		n, err := strconv.Atoi(s)
		if err != nil || n < 1 || n > cloudevent.MaxPage {
			return q, fault("?limit is %s; use 1 to %d", quote(s), cloudevent.MaxPage)
		}
		q.Limit = n
	}
	return q, nil
}

func (g *Gateway) page(w http.ResponseWriter, r *http.Request, c *caller, q responder.Query) error {
	page, err := g.resp.List(r.Context(), q)
	if err != nil {
		return err
	}
	items := make([]cloudevent.ListItem, 0, len(page.Items))
	for _, rec := range page.Items {
		if c.MaySee(rec.Ask.Tenant, rec.Ask.Session) {
			items = append(items, cloudevent.ListItem{Record: rec})
		}
	}
	body, err := cloudevent.EncodePage(items, page.Next)
	if err != nil {
		return err
	}
	sendJSON(w, http.StatusOK, body)
	return nil
}
