package webhooks

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/askbus/askbus/internal/process/webhook"
	"github.com/askbus/askbus/internal/protocol/wire"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/dialect"
	"github.com/askbus/askbus/pkg/responder"
)

// shows reports whether a surface gets an ask: nobody in particular answers there, so it gets none
// that demands to know who decides, and no permission.
func (e *Entry) shows(a *ask.Ask) bool {
	_, _, elsewhere := a.TriesOut()
	return e.Tenant == a.Tenant && !a.NeedsPrincipal() && a.MinProof == "" && !a.Permits() && !elsewhere
}

// asked is the data of a message with an ask.
type asked struct {
	AskID     string    `json:"ask_id"`
	Tenant    string    `json:"tenant"`
	Session   string    `json:"session"`
	Deadline  time.Time `json:"deadline"`
	Link      string    `json:"link,omitempty"`       // the page at which people answer
	AnswerURL string    `json:"answer_url,omitempty"` // POST an answer there
	Files     []linked  `json:"files,omitempty"`      // all that the ask refers to, each with an address
	Ask       *ask.Ask  `json:"ask"`
}

func (a *App) asked(d *delivery, e *Entry, rec *ask.Record) asked {
	k := d.ask()
	m := asked{AskID: k.ID, Tenant: k.Tenant, Session: k.Session, Deadline: rec.Ask.Deadline.UTC(), Link: a.page(k), Ask: &rec.Ask}
	if secrets := e.endpoint().Secrets; a.opts.BaseURL != "" && len(secrets) > 0 {
		m.AnswerURL = a.opts.BaseURL + PathAnswer + d.token(secrets[0])
	}
	m.Files = linkedFiles(&rec.Ask, m.AnswerURL)
	return m
}

// shown records that a surface has an ask. It matters to people only.
func (a *App) shown(ctx context.Context, d *delivery) {
	err := a.bus.Receipt(ctx, d.ask(), ask.Receipt{
		Life: d.Life, State: ask.ReceiptPosted, Key: responder.PostKey(Type, d.ask(), d.Life), Places: []ask.Place{{Ref: d.Name, Where: "webhook " + d.Name}},
	})
	if err != nil {
		a.log.InfoContext(ctx, "cannot record that a surface has an ask", slog.String("ask_id", d.ID), slog.Any("error", err))
	}
}

// PathAnswer begins the path of answer addresses. A token of one ask and one receiver follows.
const PathAnswer = "/webhooks/answer/"

// token returns what names an ask in an answer address, or an outcome in the addresses of its files. It is good for
// one life of one ask, at one receiver. That of an answer address is worth nothing once the ask has ended.
func (d *delivery) token(s webhook.Secret) string {
	parts := []string{d.Name, d.Tenant, d.Session, d.ID, d.Life}
	if d.Kind != question {
		parts = append(parts, string(d.Kind))
	}
	if d.Kind == pressed {
		parts = append(parts, d.Button)
	}
	data, _ := json.Marshal(parts) // strings always marshal
	return base64.RawURLEncoding.EncodeToString(data) + "." + base64.RawURLEncoding.EncodeToString(seal(s, data))
}

func seal(s webhook.Secret, data []byte) []byte {
	mac := hmac.New(sha256.New, s)
	mac.Write([]byte("askbus answer address\x00"))
	mac.Write(data)
	return mac.Sum(nil)
}

// readToken returns the receiver and the ask that a token names.
func (a *App) readToken(token string) (*delivery, *Entry) {
	head, sum, _ := strings.Cut(token, ".")
	data, err1 := base64.RawURLEncoding.DecodeString(head)
	given, err2 := base64.RawURLEncoding.DecodeString(sum)
	var f []string
	if errors.Join(err1, err2, json.Unmarshal(data, &f)) != nil || len(f) < 5 || len(f) > 7 {
		return nil, nil
	}
	d := &delivery{Kind: question, Name: f[0], Tenant: f[1], Session: f[2], ID: f[3], Life: f[4]}
	if len(f) > 5 {
		d.Kind = kind(f[5])
	}
	if (d.Kind == pressed) != (len(f) == 7) {
		return nil, nil
	}
	if d.Kind == pressed {
		d.Button = f[6]
	}
	e := a.file().entry(d.Kind, d.Tenant, d.Name)
	if e == nil || !slices.ContainsFunc(e.endpoint().Secrets, func(s webhook.Secret) bool { return hmac.Equal(seal(s, data), given) }) {
		return nil, nil
	}
	return d, e
}

// Bounds of answers.
const (
	maxAnswer  = ask.MaxEventBytes
	readWithin = 15 * time.Second
	maxToken   = 1 << 10 // bytes
)

// Handler serves answer addresses below [PathAnswer]. Only a POST answers. Below one a GET reads a file of the ask, and a POST
// uploads one for the answer; the token of an outcome only reads the files of its answers.
func (a *App) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST "+PathAnswer+"{token}", a.serve)
	mux.HandleFunc("POST "+PathAnswer+"{token}/files", a.takeFile)
	mux.HandleFunc("GET "+PathAnswer+"{token}/files/{file}", a.sendFile)
	return mux
}

func (a *App) serve(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Access-Control-Allow-Origin", "*") // pages such as ntfy's learn whether it counted; the address is all that it needs
	o, err := a.answer(w, r)
	if err == nil {
		var body []byte
		if body, err = wire.CarryOutcome(&o); err == nil {
			respond(w, http.StatusOK, "application/json", body)
			return
		}
	}
	refuse(w, err)
}

// refuse responds with a problem.
func refuse(w http.ResponseWriter, err error) {
	e := wire.AsError(err)
	respond(w, wire.HTTPStatus(e.Code), "application/problem+json", wire.EncodeProblem(e))
}

// respond responds with JSON of a media type.
func respond(w http.ResponseWriter, status int, mediaType string, body []byte) {
	h := w.Header()
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Content-Type", mediaType)
	w.WriteHeader(status)
	_, _ = w.Write(body) //nolint:gosec // JSON, with nosniff
}

// named returns the surface and the ask of the answer address of a request.
func (a *App) named(r *http.Request) (d *delivery, e *Entry, err error) {
	if token := r.PathValue("token"); len(token) <= maxToken {
		d, e = a.readToken(token)
	}
	if d == nil {
		return nil, nil, ask.Refuse(ask.CodeNotFound, "unknown answer address; use answer_url as it was sent")
	}
	return d, e, nil
}

// of returns the ask of an answer address, if it is still the one that the surface got.
func (a *App) of(r *http.Request, d *delivery, e *Entry) (ask.Record, error) {
	rec, err := a.bus.Get(r.Context(), d.ask())
	switch {
	case err != nil:
		return rec, err
	case rec.Life != d.Life:
		return rec, ask.Refuse(ask.CodeNotFound, "this address is of an earlier ask with the same id")
	case d.Kind == push: // the configuration is gone once it is handed over
		if dialect.AskedIn(&rec.Ask) != a2a {
			return rec, ask.Refuse(ask.CodeForbidden, "this ask has no task")
		}
	case d.Kind == callback:
		if rec.Ask.Callback != d.Name {
			return rec, ask.Refuse(ask.CodeForbidden, "this ask does not name that callback")
		}
	case !e.shows(&rec.Ask):
		return rec, ask.Refuse(ask.CodeForbidden, "this ask is not for webhooks")
	}
	return rec, nil
}

// answerID returns the id of the answer that a call gives: the same call again is the same answer.
func answerID(r *http.Request, body []byte) string {
	sum := sha256.Sum256(append([]byte(r.PathValue("token")+"\x00"), body...))
	return "wh_" + hex.EncodeToString(sum[:16])
}

// answer carries out the body of an answer address: an answer as over HTTP, or { "decline": true }.
func (a *App) answer(w http.ResponseWriter, r *http.Request) (ask.Outcome, error) {
	d, e, err := a.named(r)
	if err != nil {
		return ask.Outcome{}, err
	}
	if d.Kind == pressed {
		return a.press(r, d, e)
	}
	if d.Kind != question {
		return ask.Outcome{}, ask.Refuse(ask.CodeForbidden, "this address reads files of an outcome; only answer_url answers")
	}
	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(time.Now().Add(readWithin)) // some tests' ResponseWriters have none
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxAnswer))
	if err != nil {
		return ask.Outcome{}, ask.Refuse(ask.CodeTooLarge, "the body does not arrive within %s, or has more than %d bytes", readWithin, maxAnswer)
	}
	_ = control.SetReadDeadline(time.Time{})
	var given struct {
		Answers  json.RawMessage `json:"answers,omitempty"`
		Response string          `json:"response,omitempty"`
		Decline  bool            `json:"decline,omitempty"`
		Reason   string          `json:"reason,omitempty"`
	}
	if err := wire.Strict("answer", body, &given); err != nil {
		return ask.Outcome{}, err
	}
	if _, err := a.of(r, d, e); err != nil {
		return ask.Outcome{}, err
	}
	id, by := answerID(r, body), e.by()
	if given.Decline {
		if given.Answers != nil || given.Response != "" {
			return ask.Outcome{}, ask.InvalidError("answer", []ask.Fault{ask.NewFault("/decline", ask.FaultGivenTogether, "answers")})
		}
		return a.bus.Cancel(r.Context(), d.ask(), responder.Decline{AnswerID: id, Reason: given.Reason, By: by})
	}
	data, err := wire.Marshal(map[string]any{"ask_id": d.ID, "answer_id": id, "answers": given.Answers, "response": given.Response, "by": map[string]string{"principal": by.Principal, "name": by.Name, "proof": by.Proof}})
	if err != nil {
		return ask.Outcome{}, err
	}
	reply, err := wire.DecodeReply(data, d.ID)
	if err != nil {
		return ask.Outcome{}, err
	}
	return a.bus.Answer(r.Context(), d.ask(), reply)
}
