package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/askbus/askbus/internal/answering/chat"
	"github.com/askbus/askbus/internal/answering/chat/slack"
	"github.com/askbus/askbus/internal/lab/fakeslack"
	"github.com/askbus/askbus/internal/server/rights"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/client"
	"github.com/askbus/askbus/pkg/responder"
)

// SlackOptions configures the measurement of the Slack surface.
type SlackOptions struct {
	Asks   int           // presented, clicked and edited; default 300
	Rounds int           // of 1, 2 and 4 replicas in turn; default 3
	Cards  int           // that are outdated after an outage; default 500
	Outage time.Duration // by Slack's clock; default an hour
	Speed  float64       // of Slack's clock in the outage; default 60
}

// QuickSlack returns options for a measurement that ends within 40 s.
func QuickSlack() SlackOptions {
	return SlackOptions{Asks: 60, Rounds: 1, Cards: 60, Outage: 8 * time.Minute}
}

// Slack is the result for the Slack surface with a fake Slack in this process.
type Slack struct {
	Machine   Machine          `json:"machine"`
	Presented []SlackPresented `json:"presented"`
	Click     Times            `json:"click"`     // until the agent has the answer; HTTP, no limits
	Elsewhere Times            `json:"elsewhere"` // from an answer on the web until the card is edited
	Recovery  SlackRecovery    `json:"recovery"`
}

// SlackPresented is the rate at which asks become cards without Slack's limits.
type SlackPresented struct {
	Replicas int     `json:"replicas"`
	PerSec   Figure  `json:"per_s"` // over the rounds
	Ratio    float64 `json:"ratio"` // to one replica in the same round; the median over the rounds
}

// SlackRecovery is the recovery after an outage, by Slack's clock.
type SlackRecovery struct {
	Cards   int     `json:"cards"`
	Outage  float64 `json:"outage_s"`
	Speed   float64 `json:"clock_speed"`
	True    float64 `json:"true_again_s"`    // until the last card is up to date
	Calls   int     `json:"calls_meanwhile"` // of chat.update while Slack was away
	Refused int     `json:"refused_with_429"`
}

// Write prints the report.
func (s Slack) Write(out io.Writer) error {
	pairs := []any{"machine", s.Machine}
	for _, p := range s.Presented {
		pairs = append(pairs, fmt.Sprintf("presented by %d HTTP replicas", p.Replicas), fmt.Sprintf("%.0f asks/s (%.0f to %.0f), %.2f times one replica", p.PerSec.Median, p.PerSec.Least, p.PerSec.Most, p.Ratio))
	}
	r := s.Recovery
	return lines(out, append(pairs, "click to the agent's answer", s.Click, "answer elsewhere to the card", s.Elsewhere,
		fmt.Sprintf("%d cards true after %s away", r.Cards, time.Duration(r.Outage)*time.Second),
		fmt.Sprintf("%.0f s under Slack's limits (clock %.0f times as fast), %d calls while away, %d refused with 429", r.True, r.Speed, r.Calls, r.Refused))...)
}

// Slack measures the surface with a fake Slack.
func (b *Bed) Slack(ctx context.Context, o SlackOptions) (Slack, error) {
	if o.Asks <= 0 {
		o.Asks = 300
	}
	if o.Rounds <= 0 {
		o.Rounds = 3
	}
	if o.Cards <= 0 {
		o.Cards = 500
	}
	if o.Outage <= 0 {
		o.Outage = time.Hour
	}
	if o.Speed <= 0 {
		o.Speed = 60
	}
	s := Slack{Machine: ThisMachine()}
	// A machine's load changes from minute to minute, so compare replicas within a round.
	counts := []int{1, 2, 4}
	rates, ratios := make([][]float64, len(counts)), make([][]float64, len(counts))
	for r := range o.Rounds {
		for i, n := range counts {
			rate, err := b.slackPresented(ctx, fmt.Sprint("p", n, "-", r), n, o.Asks)
			if err != nil {
				return s, err
			}
			rates[i] = append(rates[i], rate)
			ratios[i] = append(ratios[i], rate/rates[0][r])
		}
	}
	for i, n := range counts {
		s.Presented = append(s.Presented, SlackPresented{n, figure(rates[i]), figure(ratios[i]).Median})
	}
	var err error
	if s.Click, s.Elsewhere, err = b.slackClicks(ctx, o.Asks); err != nil {
		return s, err
	}
	s.Recovery, err = b.slackRecovery(ctx, o)
	return s, err
}

// slackBed is a fake workspace, its replicas, an agent and a person on the web.
type slackBed struct {
	fake    *fakeslack.Server
	session client.Session
	stop    context.CancelFunc // of all replicas
	tenant  string
	name    string
	web     *responder.Responder
	closes  []func()
}

func (b *slackBed) close() {
	for _, end := range slices.Backward(b.closes) {
		end()
	}
}

func (b *Bed) slackBed(ctx context.Context, name string, replicas int, opts fakeslack.Options, clock responder.Clock) (_ *slackBed, err error) {
	fake, err := fakeslack.Start(opts) //nolint:contextcheck // it lives until it is closed
	if err != nil {
		return nil, err
	}
	s := &slackBed{fake: fake, tenant: b.Tenant, name: b.run + name, closes: []func(){fake.Close}}
	defer func() {
		if err != nil {
			s.close()
		}
	}()
	fake.AddUser(fakeslack.User{ID: "U0MEI", Name: "Mei"})
	fake.AddChannel(fakeslack.Channel{ID: "C0ASKS", Name: "asks", Members: []string{"U0MEI", fakeslack.BotUser}})
	log := b.log
	if clock != nil { // during an outage each failed call would be logged
		log = slog.New(slog.DiscardHandler)
	}
	connect := func(r rights.Role) (*responder.Responder, error) {
		nc, err := b.dial(r)
		if err != nil {
			return nil, err
		}
		s.closes = append(s.closes, nc.Close)
		return responder.New(nc, r.Type, responder.Options{Logger: log})
	}
	if s.web, err = connect(rights.Role{Name: rights.RoleResponder, Type: "web"}); err != nil {
		return nil, err
	}
	nc, err := b.dial(rights.Role{Name: rights.RoleAgent, Tenant: b.Tenant, Session: b.run + name})
	if err != nil {
		return nil, err
	}
	agent, err := client.New(nc, client.Options{Logger: b.log})
	if err != nil {
		return nil, err
	}
	s.closes = append(s.closes, nc.Close, agent.Close)
	s.session = agent.Session(b.Tenant, b.run+name)
	var apps []http.Handler
	running, stop := context.WithCancel(context.WithoutCancel(ctx))
	s.stop, s.closes = stop, append(s.closes, stop)
	for range replicas {
		r, err := connect(rights.Role{Name: rights.RoleResponder, Type: slack.Type})
		if err != nil {
			return nil, err
		}
		app, err := slack.New(r, slack.Options{
			BotToken: fake.Settings().BotToken, SigningSecret: fake.Settings().SigningSecret, APIURL: fake.URL(), Replicas: replicas,
			Options: chat.Options{Routes: chat.Routes{Default: chat.Target{Channel: "C0ASKS"}}, Clock: clock, Logger: log}, NoLimits: opts.NoLimits,
		})
		if err == nil {
			_, err = app.Connect(ctx)
		}
		if err != nil {
			return nil, err
		}
		apps = append(apps, app.Handler())
		s.serve(running, app, b.log)
	}
	if err := s.listen(ctx, apps); err != nil {
		return nil, err
	}
	return s, nil
}

func (b *slackBed) serve(running context.Context, app *slack.App, log *slog.Logger) {
	done := make(chan error, 1)
	go func() {
		done <- app.Serve(running, responder.ServeOptions{WorkOptions: responder.WorkOptions{Concurrency: 64, Grace: 5 * time.Second}})
	}()
	b.closes = append(b.closes, func() {
		b.stop() // all of them: each waits for its held request
		if err := <-done; err != nil {
			log.Warn("the Slack surface failed", slog.Any("error", err))
		}
		app.Drain()
	})
}

// listen distributes Slack's deliveries over the replicas.
func (b *slackBed) listen(ctx context.Context, apps []http.Handler) error {
	ln, err := listen(ctx)
	if err != nil {
		return err
	}
	var next atomic.Uint64
	srv := &http.Server{ReadHeaderTimeout: 10 * time.Second, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		apps[next.Add(1)%uint64(len(apps))].ServeHTTP(w, r)
	})}
	done := make(chan struct{})
	go func() { defer close(done); _ = srv.Serve(ln) }()
	b.closes = append(b.closes, func() { _ = srv.Close(); <-done })
	addr, ok := ln.Addr().(*net.TCPAddr)
	if !ok {
		return fmt.Errorf("bench: %s is not a TCP address", ln.Addr())
	}
	url := fmt.Sprintf("http://127.0.0.1:%d", addr.Port)
	b.fake.DeliverTo(url+slack.PathEvents, url+slack.PathInteractions, url+slack.PathCommands)
	return nil
}

func (b *slackBed) ask(ctx context.Context, i int) (ask.Key, error) {
	a, err := b.session.Ask(ctx, ask.Ask{ID: fmt.Sprint("a", i), Questions: []ask.Question{{ID: "db", Text: "Which database?", Options: []ask.Option{{ID: "pg", Label: "PostgreSQL"}, {ID: "lite", Label: "SQLite"}}}}})
	return ask.Key{Tenant: b.tenant, Session: b.name, ID: a.ID}, err
}

// await waits until there are so many cards, of which at most live are active.
func (b *slackBed) await(ctx context.Context, cards, live int) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Minute)
	defer cancel()
	ok := b.fake.Await(ctx, func() bool {
		all, open := b.fake.Cards()
		return all >= cards && open <= live
	})
	if !ok {
		return fmt.Errorf("bench: wait for %d cards, at most %d of them active: %w", cards, live, ctx.Err())
	}
	return nil
}

func (b *slackBed) elsewhere(ctx context.Context, k ask.Key) error {
	_, err := b.web.Answer(ctx, k, ask.Reply{Answers: []ask.Answer{{QuestionID: "db", Selected: []string{"lite"}}}, By: ask.By{Principal: "os:ann", Name: "Ann"}})
	return err
}

// each runs f for 0 to n-1, 32 at once, and returns the errors.
func each(n int, f func(i int) error) error {
	var all sync.WaitGroup
	var mu sync.Mutex
	var failed error
	turn := make(chan struct{}, 32)
	for i := range n {
		turn <- struct{}{}
		all.Go(func() {
			defer func() { <-turn }()
			if err := f(i); err != nil {
				mu.Lock()
				defer mu.Unlock()
				failed = errors.Join(failed, err)
			}
		})
	}
	all.Wait()
	return failed
}

func (b *Bed) slackPresented(ctx context.Context, name string, replicas, asks int) (float64, error) {
	s, err := b.slackBed(ctx, name, replicas, fakeslack.Options{NoLimits: true}, nil)
	if err != nil {
		return 0, err
	}
	defer s.close()
	keys := make([]ask.Key, asks)
	began := time.Now()
	if err := each(asks, func(i int) (err error) { keys[i], err = s.ask(ctx, i); return err }); err != nil {
		return 0, err
	}
	if err := s.await(ctx, asks, asks); err != nil {
		return 0, err
	}
	took := time.Since(began)
	if err := each(asks, func(i int) error { return s.elsewhere(ctx, keys[i]) }); err != nil { // nothing stays behind
		return 0, err
	}
	return float64(asks) / took.Seconds(), s.await(ctx, asks, 0)
}

func (b *Bed) slackClicks(ctx context.Context, asks int) (click, elsewhere Times, err error) {
	s, err := b.slackBed(ctx, "c", 2, fakeslack.Options{NoLimits: true}, nil)
	if err != nil {
		return click, elsewhere, err
	}
	defer s.close()
	var clicks, edits []time.Duration
	for i := range asks {
		k, err := s.ask(ctx, i)
		if err == nil {
			err = s.await(ctx, i+1, 1)
		}
		if err != nil {
			return click, elsewhere, err
		}
		began := time.Now()
		if i%2 == 0 {
			cards := s.fake.Messages("C0ASKS")
			at := cards[len(cards)-1].Place
			go s.fake.Click("U0MEI", at, "PostgreSQL") //nolint:contextcheck // a click has no context
			if _, err := s.session.Wait(ctx, k.ID); err != nil {
				return click, elsewhere, err
			}
			clicks = append(clicks, time.Since(began))
		} else if err := s.elsewhere(ctx, k); err != nil {
			return click, elsewhere, err
		}
		if err := s.await(ctx, i+1, 0); err != nil {
			return click, elsewhere, err
		}
		if i%2 == 1 {
			edits = append(edits, time.Since(began))
		}
	}
	return timesOf(clicks), timesOf(edits), nil
}

func (b *Bed) slackRecovery(ctx context.Context, o SlackOptions) (SlackRecovery, error) {
	wall := fakeslack.Wall{Speed: o.Speed}
	r := SlackRecovery{Cards: o.Cards, Outage: o.Outage.Seconds(), Speed: o.Speed}
	s, err := b.slackBed(ctx, "r", 1, fakeslack.Options{Clock: wall}, wall)
	if err != nil {
		return r, err
	}
	defer s.close()
	keys := make([]ask.Key, o.Cards)
	if err := each(o.Cards, func(i int) (err error) { keys[i], err = s.ask(ctx, i); return err }); err != nil {
		return r, err
	}
	if err := s.await(ctx, o.Cards, o.Cards); err != nil {
		return r, err
	}
	s.fake.Outage(http.StatusServiceUnavailable)
	away := s.fake.Now()
	if err := each(o.Cards, func(i int) error { return s.elsewhere(ctx, keys[i]) }); err != nil {
		return r, err
	}
	if err := wall.Sleep(ctx, o.Outage-s.fake.Now().Sub(away)); err != nil {
		return r, err
	}
	r.Calls = s.fake.Count("chat.update")
	s.fake.Outage(0)
	back := s.fake.Now()
	if err := s.await(ctx, o.Cards, 0); err != nil {
		return r, err
	}
	r.True, r.Refused = round(s.fake.Now().Sub(back).Seconds()), s.fake.Count("chat.update ratelimited")
	return r, nil
}
