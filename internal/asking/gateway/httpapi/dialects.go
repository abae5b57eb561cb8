package httpapi

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"
	"unicode/utf16"

	"github.com/askbus/askbus/internal/asking/gateway/access"
	"github.com/askbus/askbus/internal/asking/gateway/token"
	"github.com/askbus/askbus/internal/asking/sameask"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/dialect"
)

// dialectOf returns the dialect that a request names.
func dialectOf(r *http.Request) (d dialect.Dialect, given bool, err error) {
	name := r.URL.Query().Get("dialect")
	if name == "" || name == "native" {
		return d, false, nil
	}
	d, known := dialect.Lookup(name)
	if !known {
		return d, true, ask.Refusal(ask.CodeInvalid, ask.FaultUnknownDialect, ask.Clip(name, 80), dialect.Names())
	}
	return d, true, nil
}

// style is how a path differs from asking in a dialect at /v1/asks.
type style struct {
	wait    time.Duration // default of the request
	require bool          // refuse at once if nobody is present
}

// askIn stores an ask in a dialect, and responds in it.
func (api *API) askIn(w http.ResponseWriter, r *http.Request, c *access.Caller, d dialect.Dialect, s style) error {
	body, stored, err := api.access.BodyWithFiles(w, r, c)
	if err != nil {
		return err
	}
	defer stored()
	a, files, warnings, err := d.AskFiles(body)
	if err != nil {
		return err
	}
	a.RequireResponder = a.RequireResponder || s.require
	from := sameask.Origin{Permission: a.Permits()}
	if from.Permission {
		from.Place = []string{canonical(body)}
	}
	o, warnings, err := api.askFor(w, r, c, &a, from, warnings, s.wait, held{files, stored})
	if err != nil {
		return err
	}
	warn(w, warnings)
	if o == nil {
		respond(w, d.Pending(&a, dialect.Pending{Location: location(c, r, a.Key(), d.Name)}))
		return nil
	}
	api.delivered(r, c, a.Key())
	respond(w, d.Answer(&a, o))
	return nil
}

// canonical returns JSON in a form that does not depend on spaces and the order of members.
func canonical(body []byte) string {
	var v any
	if err := json.Unmarshal(body, &v); err != nil {
		return string(body)
	}
	out, err := json.Marshal(v)
	if err != nil {
		return string(body)
	}
	return string(out)
}

// held are the files of a request, and what to call when they are stored.
type held struct {
	files  []dialect.Upload
	stored func()
}

// askFor stores an ask from a dialect, and waits for its outcome; nil is still pending. The session that
// the body names is the run of the agent's host.
func (api *API) askFor(w http.ResponseWriter, r *http.Request, c *access.Caller, a *ask.Ask, from sameask.Origin, warnings []dialect.Warning, otherwise time.Duration, with held) (*ask.Outcome, []dialect.Warning, error) {
	from.Call, from.Run = sameask.TakeCall(a), a.Session
	if err := api.place(r, c, a, a.Session); err != nil {
		return nil, nil, err
	}
	wait, err := waitOf(r, otherwise)
	if err != nil {
		return nil, nil, err
	}
	if dialect.GoesOn(a) {
		wait = 0
	}
	from.Waits = wait > 0
	warnings = append(warnings, dialect.ClipTimes(a, api.opts.Now())...)
	if err := api.uploadAll(r, a.Key().InSession(), with.files); err != nil {
		return nil, nil, err
	}
	if with.stored != nil {
		with.stored()
	}
	with.files = nil // a wait does not keep them in memory
	st, err := api.asks.Store(r.Context(), a, from, traceOf(r))
	if err != nil {
		return nil, nil, err
	}
	a.Deadline = st.Deadline
	for _, message := range st.Warnings {
		warnings = append(warnings, dialect.Warning{Message: message})
	}
	o, err := api.await(w, r, st, wait)
	return o, warnings, err
}

// getIn writes an ask in a dialect: the outcome for its asker, the question for those who may
// answer.
func (api *API) getIn(w http.ResponseWriter, r *http.Request, c *access.Caller, d dialect.Dialect, rec *ask.Record) error {
	k := rec.Ask.Key()
	switch {
	case rec.Outcome != nil:
		respond(w, d.Answer(&rec.Ask, rec.Outcome))
	case c.Role == token.Screen || c.Role == token.Responder:
		body, warnings := d.ShowAt(&rec.Ask, api.opts.Link(k))
		warn(w, warnings)
		access.SendJSON(w, http.StatusOK, body)
	default:
		respond(w, d.Pending(&rec.Ask, dialect.Pending{Location: location(c, r, k, d.Name), Progress: rec.Waits("", time.Now())}))
	}
	return nil
}

func respond(w http.ResponseWriter, resp dialect.Response) {
	for name, value := range resp.Header {
		w.Header().Set(name, value)
	}
	state := ask.StateResolved
	if resp.Header["Location"] != "" {
		state = ask.StatePending
	}
	w.Header().Set("Askbus-State", string(state))
	w.WriteHeader(resp.Status)
	_, _ = w.Write(resp.Body)
}

// maxWarnings bounds the header, in bytes.
const maxWarnings = 4 << 10

// warn reports warnings in a header, because foreign bodies have no place for them.
func warn(w http.ResponseWriter, warnings []dialect.Warning) {
	for n := len(warnings); n > 0; n-- {
		data, err := json.Marshal(warnings[:n])
		if err != nil {
			return
		}
		if s := ascii(string(data)); len(s) <= maxWarnings {
			w.Header().Set("Askbus-Warnings", s)
			return
		}
	}
}

// ascii escapes non-ASCII characters for a header, as JSON does.
func ascii(s string) string {
	var b strings.Builder
	for _, r := range s {
		if r >= ' ' && r < 0x7f {
			b.WriteRune(r)
			continue
		}
		for _, unit := range utf16.Encode([]rune{r}) {
			fmt.Fprintf(&b, `\u%04x`, unit)
		}
	}
	return b.String()
}
