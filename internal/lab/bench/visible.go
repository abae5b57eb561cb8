package bench

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/askbus/askbus/internal/answering/auth"
	"github.com/askbus/askbus/internal/answering/web"
	"github.com/askbus/askbus/internal/bus/connection"
	"github.com/askbus/askbus/internal/process/backoff"
	"github.com/askbus/askbus/internal/server/rights"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/board"
	"github.com/askbus/askbus/pkg/responder"
)

// Visible is the time from an ask to a screen that shows it.
type Visible struct {
	Machine Machine `json:"machine"`
	Screen  Times   `json:"screen"`            // a live screen on pkg/responder
	Browser *Times  `json:"browser,omitempty"` // the web inbox in Chromium: the frame after it is in the page
	Note    string  `json:"note,omitempty"`    // why there is no browser
}

// Write prints the report.
func (v Visible) Write(out io.Writer) error {
	browser := v.Note
	if v.Browser != nil {
		browser = v.Browser.String()
	}
	return lines(out, "machine", v.Machine, "on a live screen", v.Screen, "in a browser", browser)
}

// How long a screen rests between two asks. The inbox reads at most ten times per second, so that a
// burst of asks costs a browser no more than one.
const (
	screenPause  = 30 * time.Millisecond
	browserPause = 250 * time.Millisecond
)

// Visible asks n times, one by one, and measures when each is shown. chrome is the path of the
// browser, or "".
func (b *Bed) Visible(ctx context.Context, n int, chrome string) (Visible, error) {
	asks, err := b.NewAsks(ctx, 1)
	if err != nil {
		return Visible{}, err
	}
	v := Visible{Machine: ThisMachine()}
	shown := make(chan string, 16)
	asks.onShown(func(r ask.Record) { shown <- r.Ask.ID })
	if v.Screen, err = asks.untilShown(ctx, n, "cycle", shown, screenPause); err != nil {
		return v, err
	}
	asks.onShown(nil)
	switch {
	case chrome == "":
		v.Note = "no Chromium was found; ASKBUS_CHROME names one"
		return v, nil
	case !b.embedded:
		v.Note = "only measured on a bus that the bench starts"
		return v, nil
	}
	site, err := b.inboxSite(ctx)
	if err != nil {
		return v, err
	}
	page, err := site.link("os:bench")
	if err != nil {
		return v, err
	}
	tab, err := openTab(ctx, chrome, page)
	if err != nil {
		return v, err
	}
	defer tab.close()
	times, err := asks.untilShown(ctx, n, "shown", tab.shown, browserPause)
	if err != nil {
		return v, err
	}
	v.Browser = &times
	return v, nil
}

// untilShown asks n times and measures the time until shown reports the ask's id.
func (a *Asks) untilShown(ctx context.Context, n int, purpose string, shown <-chan string, pause time.Duration) (Times, error) {
	work, stop := connection.WithGrace(ctx, grace)
	defer stop()
	var took []time.Duration
	c := a.agents[0]
	for i := range n + n/10 + 1 {
		q := question(purpose)
		q.ID = "show-" + rand.Text()
		q.Title = q.ID
		start := time.Now()
		asked := make(chan error, 1)
		go func() {
			_, err := c.Ask(work, q)
			asked <- err
		}()
		at, err := until(ctx, shown, q.ID)
		if err := errors.Join(err, <-asked); err != nil {
			return Times{}, err
		}
		if i > n/10 { // the first ones warm up
			took = append(took, at.Sub(start))
		}
		if purpose != "cycle" {
			if _, err := c.Withdraw(work, q.ID, "it was seen"); err != nil {
				return Times{}, err
			}
		}
		if err := backoff.Sleep(ctx, pause); err != nil {
			return Times{}, err
		}
	}
	return timesOf(took), nil
}

func until(ctx context.Context, shown <-chan string, id string) (time.Time, error) {
	limit := time.NewTimer(10 * time.Second)
	defer limit.Stop()
	for {
		select {
		case got, ok := <-shown:
			if !ok {
				return time.Time{}, errors.New("bench: the browser exited")
			}
			if got == id {
				return time.Now(), nil
			}
		case <-limit.C:
			return time.Time{}, fmt.Errorf("bench: ask %s is not shown after 10 s", id)
		case <-ctx.Done():
			return time.Time{}, ctx.Err()
		}
	}
}

// site is a running web inbox.
type site struct {
	base string
	key  []byte
}

// link returns a login link.
func (s site) link(principal string) (string, error) {
	link, err := web.LoginLink(s.key, s.base, ask.By{Principal: principal, Name: "Bench", Proof: ask.ProofOS}, time.Now())
	return strings.TrimSpace(link), err
}

// inboxSite starts a web inbox on the bed.
func (b *Bed) inboxSite(ctx context.Context) (site, error) {
	nc, err := b.open(rights.Role{Name: rights.RoleResponder, Type: "web"})
	if err != nil {
		return site{}, err
	}
	r, err := responder.New(nc, "web", responder.Options{Logger: b.log})
	if err != nil {
		return site{}, err
	}
	ln, err := listen(ctx)
	if err != nil {
		return site{}, err
	}
	key, base := []byte(rand.Text()+rand.Text()), "http://"+ln.Addr().String()
	sessions, err := auth.NewSessions(nc, auth.Options{Logger: b.log})
	if err != nil {
		return site{}, err
	}
	srv, err := web.New(board.New(r, board.Options{}), r, web.Options{CookieKey: key, Sessions: sessions, BaseURL: base, Logger: b.log})
	if err != nil {
		return site{}, err
	}
	running, stop := context.WithCancel(context.WithoutCancel(ctx))
	done := make(chan error, 1)
	go func() { done <- srv.Run(running) }()
	serving := &http.Server{Handler: srv.Handler(), ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = serving.Serve(ln) }() // until it is closed
	b.later(func() {
		stop()
		if err := <-done; err != nil {
			b.log.Warn("the inbox failed", slog.Any("error", err))
		}
		_ = serving.Close()
	})
	return site{base, key}, nil
}
