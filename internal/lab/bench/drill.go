package bench

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/askbus/askbus/internal/lab/fakeslack"
	"github.com/askbus/askbus/internal/process/backoff"
	"github.com/askbus/askbus/internal/server/rights"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/client"
	"github.com/nats-io/nats.go"
)

// DrillOptions configures [MeasureDrill].
type DrillOptions struct {
	Rate     float64       // asks per second; default 50
	For      time.Duration // default a minute
	Sessions int           // agents, with a connection each; default 20
	Open     int           // asks open at once; no ask is made beyond it; default 2000
	Tenant   string        // tenant whose asks are answered in the inbox
	Settle   time.Duration // how long to wait at the end for open asks; default five minutes

	Dial   func(rights.Role) (*nats.Conn, error)
	Link   func(person int) (string, error) // returns a link that signs a person in at the inbox
	Inbox  http.RoundTripper                // transport to the inbox
	People int                              // people at the inbox; default 8

	SlackAddr   string        // listen address of the fake Slack; empty: none
	SlackHost   string        // host and port of the fake Slack for the Slack surface; default: SlackAddr
	SlackTenant string        // tenant whose asks are answered in Slack
	SlackEvery  time.Duration // interval of these asks; default 2 s: Slack takes one post a second in a channel and 50 edits a minute

	Plain        int                                   // clients at the gateway, and as many at the inbox, that send each request once; half of them over new connections
	Gateway      string                                // its URL, for them
	Token        func(context.Context) (string, error) // returns an agent's token for every session of Tenant
	NewTransport func() *http.Transport                // makes a transport to gateway and inbox

	Progress func(string)
	Logger   *slog.Logger
}

func (o *DrillOptions) fill() {
	o.Rate = cmp.Or(o.Rate, 50)
	o.For = cmp.Or(o.For, time.Minute)
	o.Sessions = cmp.Or(o.Sessions, 20)
	o.Open = cmp.Or(o.Open, 2000)
	o.Settle = cmp.Or(o.Settle, 5*time.Minute)
	o.People = cmp.Or(o.People, 8)
	o.SlackEvery = cmp.Or(o.SlackEvery, 2*time.Second)
	if o.Progress == nil {
		o.Progress = func(string) {}
	}
}

// Drill is what agents and people observed of a deployment. An ask is lost if it was acknowledged
// and the ledger does not have it at the end, or has it pending again, or if an accepted answer did
// not count. It is doubled if two answers were accepted, two outcomes were observed, or two cards
// were posted. It is unfinished if no answer got through, or its agent had not learned the outcome,
// by the end: the deployment was too slow or unreachable.
type Drill struct {
	Machine Machine `json:"machine"`
	Offered float64 `json:"offered_per_s"`
	Seconds float64 `json:"seconds"`
	PerSec  float64 `json:"per_s"` // asks that ended per second during the drill
	Asks    int     `json:"asks"`  // acknowledged
	Skipped int     `json:"skipped"`
	Refused int     `json:"refused"` // not acknowledged despite repeats
	Web     int     `json:"answered_in_inbox"`
	Slack   int     `json:"answered_in_slack"`
	Raced   int     `json:"raced"` // answered by two people at once
	Lost    int     `json:"lost"`
	Doubled int     `json:"doubled"`
	Late    int     `json:"unfinished"`
	Cards   int     `json:"cards"`
	Open    int     `json:"open_cards"` // cards that are open at the end although their asks have ended
	NoAsk   float64 `json:"longest_without_ask_s"`
	NoEnd   float64 `json:"longest_without_outcome_s"`
	Ask     Times   `json:"ask"`    // until the ask is acknowledged, including repeats
	Answer  Times   `json:"answer"` // until the inbox confirms the answer, including repeats
	Whole   Times   `json:"whole"`  // from the ask to the outcome, including up to a second of people's reading time

	Plain  Plain    `json:"plain"`            // what clients saw that repeat nothing
	Faults []string `json:"faults,omitempty"` // the first faults
}

// Write prints the report for a person.
func (d *Drill) Write(out io.Writer) error {
	verdict := "ok"
	if d.Failed() {
		verdict = "FAILED: " + strings.Join(d.Faults, "; ")
	}
	return lines(out, "machine", d.Machine, "asks", fmt.Sprintf("%d in %.0f s, %.1f of %.1f a second (%d not asked, %d refused)", d.Asks, d.Seconds, d.PerSec, d.Offered, d.Skipped, d.Refused),
		"answered", fmt.Sprintf("%d in the inbox, %d in Slack, %d by two at once", d.Web, d.Slack, d.Raced),
		"lost", d.Lost, "doubled", d.Doubled, "unfinished", d.Late, "cards", fmt.Sprintf("%d, %d of them open", d.Cards, d.Open),
		"longest time without", fmt.Sprintf("an ask %.1f s, an outcome %.1f s", d.NoAsk, d.NoEnd),
		"ask", d.Ask, "answer", d.Answer, "from ask to outcome", d.Whole, "clients that repeat nothing", d.Plain, "drill", verdict)
}

// Failed reports whether anything was lost, doubled or left over, or nothing
// was asked.
func (d *Drill) Failed() bool {
	return d.Lost > 0 || d.Doubled > 0 || d.Late > 0 || d.Open > 0 || d.Refused > 0 || d.Asks == 0 || d.Plain.Failed > 0
}

// drill is a running drill.
type drill struct {
	o      DrillOptions
	run    string
	fake   *fakeslack.Server
	people []*http.Client
	home   *url.URL
	closes []func()

	mu                   sync.Mutex
	d                    Drill
	open                 int
	lastAsk, lastEnd     time.Time
	noAsk, noEnd         time.Duration
	asks, answers, whole []time.Duration
	acked                []ackedAsk
	ended, inSlack       int // of them
	clicked              map[fakeslack.Place]time.Time
}

// ackedAsk is an ask with what its agent and the people who answered it were
// told.
type ackedAsk struct {
	at       client.Session
	id       string
	told     *ask.Outcome // nil: no outcome
	accepted []string     // answer ids
}

// MeasureDrill asks at a steady rate for a time, has people answer in the inbox
// and in a fake Slack, and accounts for every ask. It starts when the
// deployment is reachable.
func MeasureDrill(ctx context.Context, o DrillOptions) (Drill, error) {
	o.fill()
	r := &drill{o: o, run: runID(), clicked: map[fakeslack.Place]time.Time{}, d: Drill{Machine: ThisMachine(), Offered: o.Rate}}
	defer func() {
		for _, end := range slices.Backward(r.closes) {
			end()
		}
	}()
	if err := r.openSlack(); err != nil { //nolint:contextcheck // the fake Slack ends with the drill
		return r.d, err
	}
	agents, slack, err := r.agents(ctx)
	if err != nil {
		return r.d, err
	}
	if err := r.signIn(ctx); err != nil {
		return r.d, err
	}
	if r.fake != nil {
		o.Progress("waiting for the Slack surface")
		if err := poll(ctx, 10*time.Minute, "the Slack surface did not connect", func() bool { _, live := r.fake.Connections(); return live > 0 }); err != nil {
			return r.d, err
		}
	}
	token := ""
	if o.Plain > 0 {
		if late := poll(ctx, time.Minute, "no token was issued", func() bool { token, err = o.Token(ctx); return err == nil }); late != nil {
			return r.d, errors.Join(late, err)
		}
	}
	o.Progress("asking")
	r.load(ctx, agents, slack, token)
	o.Progress("reading every outcome again")
	r.again(ctx)
	return r.report(), ctx.Err()
}

// openSlack starts the fake workspace with a person and a channel.
func (r *drill) openSlack() error {
	if r.o.SlackAddr == "" {
		return nil
	}
	fake, err := fakeslack.Start(fakeslack.Options{Addr: r.o.SlackAddr, Host: r.o.SlackHost})
	if err != nil {
		return err
	}
	fake.AddUser(fakeslack.User{ID: drillMember, Name: "Mei"})
	fake.AddChannel(fakeslack.Channel{ID: drillChannel, Name: "asks", Members: []string{drillMember, fakeslack.BotUser}})
	r.fake, r.closes = fake, append(r.closes, fake.Close)
	return nil
}

const (
	drillMember  = "U0MEI"
	drillChannel = "C0ASKS"
	drillYes     = "Yes"
)

// agents connects the agents, retrying until the deployment accepts them.
func (r *drill) agents(ctx context.Context) (all []client.Session, slack client.Session, err error) {
	r.o.Progress("waiting for NATS")
	connect := func(tenant, session string) (client.Session, error) {
		for attempt := 0; ; attempt++ {
			nc, err := r.o.Dial(rights.Role{Name: rights.RoleAgent, Tenant: tenant, Session: session})
			if err == nil {
				c, err := client.New(nc, client.Options{Logger: r.o.Logger})
				if err != nil {
					return client.Session{}, err
				}
				r.closes = append(r.closes, nc.Close, c.Close)
				return c.Session(tenant, session), nil
			}
			if backoff.Wait(ctx, time.Second, min(attempt, 2)) != nil {
				return client.Session{}, errors.Join(ctx.Err(), err)
			}
		}
	}
	for i := range r.o.Sessions {
		s, err := connect(r.o.Tenant, r.run+"-"+strconv.Itoa(i))
		if err != nil {
			return nil, slack, err
		}
		all = append(all, s)
	}
	if r.fake != nil {
		slack, err = connect(r.o.SlackTenant, r.run+"-slack")
	}
	return all, slack, err
}

// load asks for the given time, and returns when all asks have ended or the
// wait for them is over.
func (r *drill) load(ctx context.Context, agents []client.Session, slack client.Session, token string) {
	began := time.Now()
	r.lastAsk, r.lastEnd = began, began
	work, cancel := context.WithTimeout(ctx, r.o.For+r.o.Settle)
	defer cancel()
	var all sync.WaitGroup
	clicking, stop := context.WithCancel(work)
	var clicks sync.WaitGroup
	if r.fake != nil {
		clicks.Go(func() { r.click(clicking) })
	}
	plainly, over := context.WithCancel(ctx)
	defer over()
	var plain sync.WaitGroup
	if r.o.Plain > 0 {
		plain.Go(func() { r.plain(plainly, token) })
	}
	nextSlack := began
	for n := 0; time.Since(began) < r.o.For && ctx.Err() == nil; n++ {
		if r.begin() {
			at, inSlack := agents[n%len(agents)], false
			if r.fake != nil && time.Now().After(nextSlack) {
				at, inSlack, nextSlack = slack, true, time.Now().Add(r.o.SlackEvery)
			}
			all.Go(func() { r.one(work, at, n, inSlack) })
		}
		_ = backoff.Sleep(ctx, time.Until(began.Add(time.Duration(float64(n+1)/r.o.Rate*float64(time.Second)))))
	}
	over()
	plain.Wait()
	r.mu.Lock()
	r.d.Seconds = time.Since(began).Seconds()
	r.d.PerSec = float64(r.ended) / r.d.Seconds
	r.gap(&r.lastAsk, &r.noAsk, time.Now())
	r.gap(&r.lastEnd, &r.noEnd, time.Now())
	r.mu.Unlock()
	r.o.Progress("waiting for what is open")
	all.Wait()
	if r.fake != nil { // wait until its cards are closed
		settled, done := context.WithTimeout(work, r.o.Settle)
		r.fake.Await(settled, func() bool { _, live := r.fake.Cards(); return live == 0 })
		done()
	}
	stop()
	clicks.Wait()
}

// begin counts an ask as open, unless the limit is reached.
func (r *drill) begin() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.open >= r.o.Open {
		r.d.Skipped++
		return false
	}
	r.open++
	return true
}

// gap updates the longest interval between two events. The caller holds the
// lock.
func (r *drill) gap(last *time.Time, most *time.Duration, now time.Time) {
	if now.After(*last) { // an event that is recorded late is inside an interval that was already counted
		*most, *last = max(*most, now.Sub(*last)), now
	}
}

func (r *drill) fault(count *int, format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	*count++
	if len(r.d.Faults) < 10 {
		r.d.Faults = append(r.d.Faults, fmt.Sprintf(format, args...))
	}
}

// one makes an ask, has it answered, and waits for the outcome.
func (r *drill) one(ctx context.Context, at client.Session, n int, inSlack bool) {
	defer func() { r.mu.Lock(); r.open--; r.mu.Unlock() }()
	id := "d" + strconv.Itoa(n)
	began := time.Now()
	a := ask.Ask{ID: id, Agent: ask.Agent{Name: "drill"}, Timeout: time.Hour, Questions: []ask.Question{{ID: "go", Text: "Deploy number " + strconv.Itoa(n) + "?", Options: []ask.Option{{ID: "yes", Label: drillYes}, {ID: "no", Label: "No"}}}}}
	for attempt := 0; ; attempt++ {
		_, err := at.Ask(ctx, a)
		if err == nil {
			break
		}
		if errors.Is(err, ask.ErrForbidden) || errors.Is(err, ask.ErrInvalid) || backoff.Wait(ctx, 50*time.Millisecond, min(attempt, 5)) != nil {
			r.fault(&r.d.Refused, "%s/%s was not acknowledged: %v", at, id, err)
			return
		}
	}
	r.mu.Lock()
	now := time.Now()
	r.d.Asks++
	if inSlack {
		r.inSlack++
	}
	r.asks = append(r.asks, now.Sub(began))
	r.gap(&r.lastAsk, &r.noAsk, now)
	r.mu.Unlock()

	answering := make(chan []string, 1)
	go func() { answering <- r.answer(ctx, at, id, n, inSlack) }()
	var o ask.Outcome
	var err error
	for attempt := 0; ; attempt++ {
		if o, err = at.Wait(ctx, id); err == nil || errors.Is(err, ask.ErrNotFound) || backoff.Wait(ctx, 50*time.Millisecond, min(attempt, 5)) != nil {
			break
		}
	}
	now = time.Now()
	one := ackedAsk{at: at, id: id, accepted: <-answering}
	r.mu.Lock()
	defer r.mu.Unlock()
	if err == nil {
		one.told = &o
	}
	r.acked = append(r.acked, one)
	if err != nil {
		return
	}
	r.ended++
	r.gap(&r.lastEnd, &r.noEnd, now)
	r.whole = append(r.whole, now.Sub(began))
	if inSlack {
		r.d.Slack++
	} else {
		r.d.Web++
	}
}

// raceEvery makes two people answer every nth ask at once.
const raceEvery = 10

// again reads every outcome again and compares it with what the agent was told.
func (r *drill) again(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Minute)
	defer cancel()
	_ = each(len(r.acked), func(i int) error {
		e := &r.acked[i]
		for attempt := 0; ; attempt++ {
			record, err := e.at.Get(ctx, e.id)
			switch {
			case err == nil:
				r.judge(e, record.Outcome)
			case !errors.Is(err, ask.ErrNotFound) && backoff.Wait(ctx, 50*time.Millisecond, min(attempt, 5)) == nil:
				continue
			default:
				r.fault(&r.d.Lost, "%s/%s cannot be read: %v", e.at, e.id, err)
			}
			return nil
		}
	})
}

// judge compares what was reported for an ask with what the ledger holds at the
// end.
func (r *drill) judge(e *ackedAsk, o *ask.Outcome) {
	switch {
	case len(e.accepted) > 1:
		r.fault(&r.d.Doubled, "%s/%s: two answers were accepted", e.at, e.id)
	case o == nil && (e.told != nil || len(e.accepted) > 0):
		r.fault(&r.d.Lost, "%s/%s had ended, and is pending again", e.at, e.id)
	case o == nil:
		r.fault(&r.d.Late, "%s/%s is still pending", e.at, e.id)
	case len(e.accepted) == 1 && e.accepted[0] != o.AnswerID:
		r.fault(&r.d.Lost, "%s/%s: the answer %s was accepted, and the outcome is %s %s", e.at, e.id, e.accepted[0], o.Status, o.AnswerID)
	case e.told == nil:
		r.fault(&r.d.Late, "%s/%s has ended, and its agent does not know", e.at, e.id)
	case e.told.AnswerID != o.AnswerID || e.told.Status != o.Status:
		r.fault(&r.d.Doubled, "%s/%s: the agent was told %s %s, and the ledger says %s %s", e.at, e.id, e.told.Status, e.told.AnswerID, o.Status, o.AnswerID)
	case o.Status != ask.StatusAnswered:
		r.fault(&r.d.Lost, "%s/%s ended as %s", e.at, e.id, o.Status)
	}
}

func (r *drill) report() Drill {
	if r.fake != nil {
		r.d.Cards, r.d.Open = r.fake.Cards()
		if r.d.Cards > r.inSlack {
			r.d.Doubled += r.d.Cards - r.inSlack
			r.d.Faults = append(append(r.d.Faults, fmt.Sprintf("%d cards for %d asks", r.d.Cards, r.inSlack)), twice(r.fake.Messages(drillChannel))...)
		}
	}
	r.d.NoAsk, r.d.NoEnd = hundredths(r.noAsk.Seconds()), hundredths(r.noEnd.Seconds())
	r.d.Ask, r.d.Answer, r.d.Whole = timesOf(r.asks), timesOf(r.answers), timesOf(r.whole)
	return r.d
}

// twice says of each card that was posted more than once when that was.
func twice(cards []fakeslack.Message) (list []string) {
	at := map[string][]string{}
	var order []string
	for i := range cards {
		payload, _ := cards[i].Metadata["event_payload"].(map[string]any)
		key := fmt.Sprint(payload["ask"], " ", payload["key"])
		if len(at[key]) == 1 {
			order = append(order, key)
		}
		at[key] = append(at[key], cards[i].At().UTC().Format(time.TimeOnly))
	}
	for _, key := range order {
		list = append(list, key+" was posted at "+strings.Join(at[key], ", "))
	}
	return list
}
