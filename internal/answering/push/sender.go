package push

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"

	webpush "github.com/SherClockHolmes/webpush-go"
	"github.com/askbus/askbus/internal/bus/state"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/responder"
)

// sender calls push services in the name of this bus.
type sender struct {
	keys Keys
	opts Options
}

// message is what one browser gets.
type message struct {
	payload []byte
	keep    time.Duration // how long the push service keeps it for a browser that is away
	topic   string        // a later message replaces one that is kept; optional
	urgent  bool
}

var (
	// errGone reports a subscription that its push service has dropped.
	errGone = errors.New("the subscription is gone")
	// errHost is an errGone of a subscription that was stored under other settings.
	errHost = fmt.Errorf("%w: its push service is not allowed here", errGone)
)

// send sends a message. The error is [errGone], or says whether sending it again may help: see
// [responder.RetryError] and [responder.PermanentError].
func (s *sender) send(ctx context.Context, to *Subscription, m message) error {
	if to.check(s.opts.Hosts) != nil {
		return errHost
	}
	urgency := webpush.UrgencyNormal
	if m.urgent {
		urgency = webpush.UrgencyHigh
	}
	res, err := webpush.SendNotificationWithContext(ctx, m.payload, &webpush.Subscription{
		Endpoint: to.Endpoint, Keys: webpush.Keys{P256dh: to.Keys.P256dh, Auth: to.Keys.Auth},
	}, &webpush.Options{
		HTTPClient: s.opts.Client, Subscriber: s.opts.Contact, VAPIDPublicKey: s.keys.Public, VAPIDPrivateKey: s.keys.private,
		TTL: int(min(max(m.keep, 0), ask.MaxTimeout).Seconds()), Urgency: urgency, Topic: m.topic,
	})
	if err != nil {
		if e, ok := errors.AsType[*url.Error](err); ok {
			err = e.Err // without the address, which is enough to ring the browser
		}
		return fmt.Errorf("call the push service: %w", err)
	}
	defer res.Body.Close()                                       //nolint:errcheck // read-only
	_, _ = io.Copy(io.Discard, io.LimitReader(res.Body, 64<<10)) // so that the connection is reused
	switch {
	case res.StatusCode < 300:
		return nil
	case res.StatusCode == http.StatusGone || res.StatusCode == http.StatusNotFound:
		return errGone
	case res.StatusCode >= 500 && res.Header.Get("Retry-After") == "": // down: the kit backs off
		return fmt.Errorf("the push service says %s", res.Status)
	case res.StatusCode == http.StatusTooManyRequests || res.StatusCode >= 500:
		return &responder.RetryError{After: retryAfter(res), Err: fmt.Errorf("the push service says %s", res.Status)}
	}
	return &responder.PermanentError{Err: fmt.Errorf("the push service says %s", res.Status)}
}

// retryAfter returns the service's Retry-After, within limits.
func retryAfter(res *http.Response) time.Duration {
	if s, err := strconv.Atoi(res.Header.Get("Retry-After")); err == nil {
		return min(max(time.Duration(s)*time.Second, time.Second), time.Minute)
	}
	return 5 * time.Second
}

// forget deletes a subscription, unless it was renewed meanwhile.
func forget(ctx context.Context, bucket *state.Bucket, e *entry) error {
	if err := bucket.DeleteRevision(ctx, e.key, e.revision); err != nil && !errors.Is(err, ask.ErrConflict) && !errors.Is(err, ask.ErrNotFound) {
		return fmt.Errorf("forget a subscription: %w", err)
	}
	return nil
}
