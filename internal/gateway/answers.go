package gateway

import (
	"encoding/json"
	"log/slog"
	"net/http"

	"github.com/askbus/askbus/internal/cloudevent"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/dialect"
	"github.com/askbus/askbus/pkg/responder"
)

// answer takes a person's reply, in native JSON or with ?dialect= in the shape
// of a foreign screen.
func (g *Gateway) answer(w http.ResponseWriter, r *http.Request, c *caller) error {
	k, body, err := g.decision(w, r, c)
	if err != nil {
		return err
	}
	d, foreign, err := dialectOf(r)
	if err != nil {
		return err
	}
	if foreign {
		rec, err := g.resp.Get(r.Context(), k)
		if err != nil {
			return err
		}
		given, err := d.Reply(&rec.Ask, body)
		if err != nil {
			return err
		}
		return g.given(w, r, c, &rec, given)
	}
	fields, err := asObject("answer", body)
	if err != nil {
		return err
	}
	if err := c.sign(fields, k); err != nil {
		return err
	}
	signed, err := json.Marshal(fields)
	if err != nil {
		return err
	}
	reply, err := cloudevent.DecodeReply(signed, k.ID)
	if err != nil {
		return err
	}
	return g.reply(w, r, k, reply)
}

// decision reads the body of who decides an ask.
func (g *Gateway) decision(w http.ResponseWriter, r *http.Request, c *caller) (ask.Key, []byte, error) {
	k, err := c.key(r)
	if err != nil {
		return k, nil, err
	}
	if err := c.mayAnswer(k.Tenant, k.Session); err != nil {
		return k, nil, err
	}
	body, err := g.body(w, r)
	return k, body, err
}

// sign puts into a body who answers, as the token proves it: what the body
// says of that is only a name to show.
func (c *caller) sign(fields map[string]json.RawMessage, k ask.Key) error {
	name, err := nameIn(fields["by"])
	if err != nil {
		return err
	}
	by := c.By(name)
	for field, value := range map[string]any{
		"by": map[string]any{"principal": by.Principal, "name": by.Name, "groups": by.Groups, "proof": by.Proof}, "ask_id": k.ID, "answer_id": cloudevent.NewID(),
	} {
		if fields[field] != nil && field != "by" {
			continue // what the caller says is checked
		}
		if fields[field], err = json.Marshal(value); err != nil {
			return err
		}
	}
	return nil
}

// nameIn reads a name: a string, or an object with one.
func nameIn(raw json.RawMessage) (string, error) {
	var name string
	if len(raw) == 0 || json.Unmarshal(raw, &name) == nil {
		return clipName(name), nil
	}
	var by struct {
		Principal string   `json:"principal"` // proven by the token, never by the body
		Name      string   `json:"name"`
		Groups    []string `json:"groups"`
		Responder string   `json:"responder"`
		Proof     string   `json:"proof"`
	}
	if err := json.Unmarshal(raw, &by); err != nil {
		return "", ask.InvalidError("answer", []ask.Fault{{Pointer: "/by", Message: `is no name; give a string, or an object such as { "name": "Mei" }`}})
	}
	return clipName(by.Name), nil
}

func clipName(s string) string {
	if r := []rune(s); len(r) > ask.MaxName {
		return string(r[:ask.MaxName])
	}
	return s
}

func (g *Gateway) reply(w http.ResponseWriter, r *http.Request, k ask.Key, reply ask.Reply) error {
	ctx, cancel := detached(r.Context())
	defer cancel()
	o, err := g.resp.Answer(ctx, k, reply)
	if err != nil {
		return err
	}
	g.opts.Logger.InfoContext(ctx, "answered", slog.String("ask_id", k.ID), slog.String("principal", reply.By.Principal))
	return g.sendOutcome(w, k, &o)
}

// decline refuses a whole ask in a person's name.
func (g *Gateway) decline(w http.ResponseWriter, r *http.Request, c *caller) error {
	k, body, err := g.decision(w, r, c)
	if err != nil {
		return err
	}
	fields := map[string]json.RawMessage{}
	if len(body) > 0 {
		if fields, err = asObject("decline", body); err != nil {
			return err
		}
	}
	if err := c.sign(fields, k); err != nil {
		return err
	}
	signed, err := json.Marshal(fields)
	if err != nil {
		return err
	}
	reply, reason, err := cloudevent.DecodeDecline(signed, k.ID)
	if err != nil {
		return err
	}
	return g.refusal(w, r, k, responder.Decline{AnswerID: reply.AnswerID, Reason: reason, By: reply.By})
}

func (g *Gateway) refusal(w http.ResponseWriter, r *http.Request, k ask.Key, d responder.Decline) error {
	ctx, cancel := detached(r.Context())
	defer cancel()
	o, err := g.resp.Cancel(ctx, k, d)
	if err != nil {
		return err
	}
	g.opts.Logger.InfoContext(ctx, "declined", slog.String("ask_id", k.ID), slog.String("principal", d.By.Principal))
	return g.sendOutcome(w, k, &o)
}

// given carries out what the person at a foreign screen did.
func (g *Gateway) given(w http.ResponseWriter, r *http.Request, c *caller, rec *ask.Record, given dialect.Given) error {
	k, by := rec.Ask.Key(), c.By(r.URL.Query().Get("by"))
	answerID := r.Header.Get("Idempotency-Key")
	switch given.Decision {
	case dialect.Replied:
		given.Reply.By, given.Reply.AnswerID = by, answerID
		return g.reply(w, r, k, given.Reply)
	case dialect.Declined:
		return g.refusal(w, r, k, responder.Decline{AnswerID: answerID, Reason: given.Reason, By: by})
	case dialect.Dismissed:
	}
	return g.sendStatus(w, k, rec, false) // closing a window decides nothing
}
