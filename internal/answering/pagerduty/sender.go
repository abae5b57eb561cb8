package pagerduty

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/responder"
)

// Limits of one request.
const (
	sendLimit  = 15 * time.Second
	maxReply   = 64 << 10
	shortPause = 15 * time.Second // after a 429 that does not say for how long
	longPause  = 2 * time.Minute
)

// send sends an event. The error says whether sending it again may help: a 429, a 408
// and a failure of PagerDuty may, any other refusal does not.
func (a *App) send(ctx context.Context, e event) error {
	e.RoutingKey = a.opts.RoutingKey
	body, err := json.Marshal(e)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, sendLimit)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, a.opts.URL+"/v2/enqueue", bytes.NewReader(body))
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("User-Agent", "askbus-pagerduty/1")
	res, err := a.opts.Client.Do(r)
	if err != nil {
		if e, ok := errors.AsType[*url.Error](err); ok {
			err = e.Err
		}
		return fmt.Errorf("call PagerDuty: %w", err)
	}
	defer res.Body.Close() //nolint:errcheck // read-only
	text, _ := io.ReadAll(io.LimitReader(res.Body, maxReply))
	switch {
	case res.StatusCode < 300:
		a.refused.Store(nil)
		return nil
	case res.StatusCode == http.StatusTooManyRequests:
		return &responder.RetryError{After: retryAfter(res), Err: errors.New("PagerDuty says 429: too many events")}
	case res.StatusCode >= 500, res.StatusCode == http.StatusRequestTimeout:
		return fmt.Errorf("PagerDuty says %s", res.Status) // the kit backs off
	}
	err = fmt.Errorf("PagerDuty refuses the event: %s: %s", res.Status, a.why(text))
	a.refused.Store(&err)
	return &responder.PermanentError{Err: err}
}

// why returns what PagerDuty's reply says of a refusal, without the integration key.
func (a *App) why(reply []byte) string {
	var r struct {
		Message string   `json:"message"`
		Errors  []string `json:"errors"`
	}
	words := string(reply)
	if json.Unmarshal(reply, &r) == nil && r.Message != "" {
		words = strings.Join(append([]string{r.Message}, r.Errors...), ": ")
	}
	return ask.Clip(ask.CleanLine(strings.ReplaceAll(words, a.opts.RoutingKey, "<integration key>")), 300)
}

// retryAfter returns how long PagerDuty wants to be left alone, within limits.
func retryAfter(res *http.Response) time.Duration {
	if s, err := strconv.Atoi(res.Header.Get("Retry-After")); err == nil {
		return min(max(time.Duration(s)*time.Second, time.Second), longPause)
	}
	return shortPause
}
