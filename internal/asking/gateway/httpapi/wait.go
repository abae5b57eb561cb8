package httpapi

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/client"
)

// await returns the outcome of an ask. It waits for at most the given time; nil means still pending. Clients that
// support it get interim responses, so that they do not take the silence for a dead connection.
func (api *API) await(w http.ResponseWriter, r *http.Request, asked client.Asked, wait time.Duration) (*ask.Outcome, error) {
	if asked.Outcome != nil || wait <= 0 {
		return asked.Outcome, nil
	}
	ctx, cancel := context.WithTimeout(r.Context(), wait)
	defer cancel()
	stop := api.keepAlive(w, r)
	defer stop()
	o, err := asked.Wait(ctx)
	switch {
	case err == nil:
		return &o, nil
	case errors.Is(err, client.ErrClosed): // the gateway is stopping
		w.Header().Set("Connection", "close") // the client repeats it elsewhere
		return nil, nil                       //nolint:nilnil // pending
	case errors.Is(err, context.DeadlineExceeded) && r.Context().Err() == nil:
		return nil, nil //nolint:nilnil // pending
	}
	return nil, err
}

// keepAliveEvery is the interval of interim responses.
const keepAliveEvery = time.Minute

// keepAlive sends "102 Processing" to Node, whose fetch times out after five minutes without a
// header.
func (api *API) keepAlive(w http.ResponseWriter, r *http.Request) (stop func()) {
	if !takesInterim(r) {
		return func() {}
	}
	ended, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(keepAliveEvery)
		defer tick.Stop()
		for {
			select {
			case <-ended:
				return
			case <-tick.C:
				w.WriteHeader(http.StatusProcessing)
			}
		}
	}()
	return func() { close(ended); <-done }
}

// takesInterim reports whether a request is of Node's fetch, with no proxy on the way. Others may take an
// interim response for the response: Python's http.client does, and nginx then holds back what follows. A
// proxy that says nothing about itself does not pass on the header Connection, which is of one hop.
func takesInterim(r *http.Request) bool {
	agent := strings.ToLower(r.UserAgent())
	if !strings.HasPrefix(agent, "node") && !strings.HasPrefix(agent, "undici") || !r.ProtoAtLeast(1, 1) {
		return false
	}
	return r.Header.Get("Connection") == "keep-alive" && r.Header.Get("X-Forwarded-For") == "" && r.Header.Get("Forwarded") == "" && r.Header.Get("Via") == ""
}

// waitOf returns how long a request wants to wait: ?wait or Askbus-Wait, as "30s" or "30".
func waitOf(r *http.Request, otherwise time.Duration) (time.Duration, error) {
	at, s := "?wait", r.URL.Query().Get("wait")
	if s == "" {
		at, s = "Askbus-Wait", r.Header.Get("Askbus-Wait")
	}
	if s == "" {
		return min(otherwise, ask.MaxHold), nil
	}
	d, err := time.ParseDuration(s)
	if err != nil {
		d, err = time.ParseDuration(s + "s")
	}
	if err != nil || d < 0 {
		return 0, ask.InvalidError("request", []ask.Fault{ask.NewFault("", ask.FaultBadParameter, at, ask.Clip(s, 80), "a_wait")})
	}
	return min(d, ask.MaxHold), nil
}

// withoutWait returns a request that does not want to wait: its client learns the outcome in another way.
func withoutWait(r *http.Request) *http.Request {
	r = r.Clone(r.Context())
	q := r.URL.Query()
	q.Del("wait")
	r.URL.RawQuery = q.Encode()
	r.Header.Del("Askbus-Wait")
	return r
}
