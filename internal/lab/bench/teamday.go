package bench

import (
	"context"
	"errors"
	"fmt"
	"html"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/askbus/askbus/internal/answering/chat"
	"github.com/askbus/askbus/internal/answering/chat/slack"
	"github.com/askbus/askbus/internal/lab/fakeslack"
	"github.com/askbus/askbus/internal/process/backoff"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/board"
	"github.com/askbus/askbus/pkg/responder"
)

// TeamDay is a team of three at three different screens, while asks arrive steadily.
type TeamDay struct {
	Machine   Machine        `json:"machine"`
	Asks      int            `json:"asks"`
	Over      string         `json:"over"`
	Speed     float64        `json:"speed"` // of the people's clock: the bus is as fast as always
	Took      string         `json:"took"`  // by the people's clock
	Reads     int            `json:"reads"`
	InVain    int            `json:"in_vain"` // somebody else decided the ask while it was read
	Vain      map[string]int `json:"vain"`    // InVain by screen
	First     map[string]int `json:"first"`   // InVain by screen and by who was first, as "terminal after Slack"
	Share     float64        `json:"share"`
	Answered  map[string]int `json:"answered"` // by screen
	Talk      int            `json:"talk"`     // words in threads, and answers that were sent twice
	Accidents int            `json:"accidents"`
	Next      Tail           `json:"next"` // in the inbox, from sending an answer until the next card is there
}

// Write prints the report.
func (r TeamDay) Write(out io.Writer) error {
	var by []string
	for _, screen := range []string{"web", "terminal", "Slack"} {
		by = append(by, fmt.Sprintf("%s %d, wasted %d of %d", screen, r.Answered[screen], r.Vain[screen], r.Answered[screen]+r.Vain[screen]))
	}
	return lines(out, "machine", r.Machine,
		"asks", fmt.Sprintf("%d over %s, three people at web, terminal and Slack, reading 2.0–3.5 s; their clock at %g×", r.Asks, r.Over, r.Speed),
		"done after", r.Took, "wasted reads", fmt.Sprintf("%d of %d (%.0f %%)", r.InVain, r.Reads, r.Share*100), "whose reads were wasted, after whom", counts(r.First), "answered", strings.Join(by, " · "),
		"words in threads and answers sent twice", r.Talk, "answers by accident", r.Accidents, "inbox, answer sent until the next card", r.Next)
}

// TeamDayOptions configures [Bed.TeamDay].
type TeamDayOptions struct {
	Asks  int           // default 200
	Over  time.Duration // by the people's clock; default 200 s
	Speed float64       // of the people's clock, at least 1
}

// meant is the answer that every person gives; another one was an accident.
const meant = "pg"

// day is what the people of a team share.
type day struct {
	slack *slackBed
	o     TeamDayOptions
	left  sync.WaitGroup

	mu       sync.Mutex
	report   TeamDay
	intended map[ask.Key][]string // types of the screens whose person meant to answer
	vain     []vainRead
	next     []float64 // ms
}

// vainRead is an ask that somebody read at a screen while somebody else decided it.
type vainRead struct {
	screen string
	k      ask.Key
}

// TeamDay has three people work through asks that arrive steadily: one in the inbox over HTTP and its stream, one at
// the board of a terminal, one at a fake Slack's cards, who also talks in their threads. Everybody means the same
// answer; what was decided otherwise, or by somebody who did not mean to, is an accident.
func (b *Bed) TeamDay(ctx context.Context, o TeamDayOptions) (TeamDay, error) {
	if o.Asks <= 0 {
		o.Asks = 200
	}
	if o.Over <= 0 {
		o.Over = 200 * time.Second
	}
	o.Speed = max(o.Speed, 1)
	d := &day{o: o, intended: map[ask.Key][]string{}, report: TeamDay{Machine: ThisMachine(), Asks: o.Asks, Over: o.Over.String(), Speed: o.Speed, Answered: map[string]int{}, Vain: map[string]int{}, First: map[string]int{}}}
	var err error
	if d.slack, err = b.slackBed(ctx, "team", 1, fakeslack.Options{NoLimits: true}, nil); err != nil {
		return d.report, err
	}
	defer d.slack.close()
	site, err := b.inboxSite(ctx)
	if err != nil {
		return d.report, err
	}
	terminal, queue, err := (&team{bed: b}).screen()
	if err != nil {
		return d.report, err
	}
	ctx, cancel := context.WithCancel(ctx)
	var at sync.WaitGroup
	defer at.Wait()
	defer cancel()
	at.Go(func() { _ = queue.Run(ctx) }) // it ends with ctx
	if err := poll(ctx, 10*time.Second, "a board is not synchronized", func() bool { return queue.Status().Synced }); err != nil {
		return d.report, err
	}
	d.left.Add(o.Asks)
	began, failed := time.Now(), make(chan error, 4)
	for _, person := range []func(context.Context) error{
		func(ctx context.Context) error { return d.agents(ctx) },
		func(ctx context.Context) error { return d.web(ctx, site) },
		func(ctx context.Context) error { return d.terminal(ctx, terminal, queue) },
		d.inSlack,
	} {
		at.Go(func() {
			if err := person(ctx); err != nil && ctx.Err() == nil {
				failed <- err
			}
		})
	}
	done := make(chan struct{})
	go func() { d.left.Wait(); close(done) }()
	select {
	case <-done:
	case err := <-failed:
		return d.report, err
	case <-ctx.Done():
		return d.report, ctx.Err()
	}
	took := time.Duration(float64(time.Since(began)) * o.Speed).Round(time.Second)
	cancel()
	at.Wait()
	return d.sum(context.WithoutCancel(ctx), took)
}

func (d *day) scaled(t time.Duration) time.Duration {
	return time.Duration(float64(t) / d.o.Speed)
}

func (d *day) reading() time.Duration {
	return d.scaled(readLeast + rand.N(readMost-readLeast)) //nolint:gosec // how long people read
}

func (d *day) agents(ctx context.Context) error {
	for i := range d.o.Asks {
		if _, err := d.slack.ask(ctx, i); err != nil {
			return err
		}
		if err := backoff.Sleep(ctx, d.scaled(d.o.Over/time.Duration(d.o.Asks))); err != nil {
			return err
		}
	}
	return nil
}

// means notes that the person at a type of screen is about to answer.
func (d *day) means(k ask.Key, screen string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.intended[k] = append(d.intended[k], screen)
}

// read notes the end of a reading: the person answered at a screen, or the read was wasted.
func (d *day) read(screen string, k ask.Key, first bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.report.Reads++
	if !first {
		d.report.InVain++
		d.report.Vain[screen]++
		d.vain = append(d.vain, vainRead{screen, k})
		return
	}
	d.report.Answered[screen]++
	d.left.Done()
}

func (d *day) talk() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.report.Talk++
}

// sum reads how every ask ended.
func (d *day) sum(ctx context.Context, took time.Duration) (TeamDay, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	r, deciders := &d.report, map[ask.Key]string{}
	r.Took, r.Share, r.Next = took.String(), hundredths(float64(r.InVain)/float64(max(1, r.Reads))), tailOf(d.next)
	for i := range d.o.Asks {
		o, err := d.slack.session.Wait(ctx, fmt.Sprint("a", i))
		if err != nil {
			return *r, err
		}
		k := ask.Key{Tenant: d.slack.tenant, Session: d.slack.name, ID: fmt.Sprint("a", i)}
		if o.By != nil {
			deciders[k] = screenOf(o.By.Responder)
		}
		if o.By == nil || !slices.Contains(d.intended[k], o.By.Responder) || len(o.Answers) != 1 || !slices.Equal(o.Answers[0].Selected, []string{meant}) || o.Response != "" {
			r.Accidents++
		}
	}
	for _, one := range d.vain {
		r.First[one.screen+" after "+deciders[one.k]]++
	}
	return *r, nil
}

// screenOf names the screen of a responder type.
func screenOf(typ string) string {
	switch typ {
	case responderType:
		return "terminal"
	case slack.Type:
		return "Slack"
	}
	return typ
}

// terminal works through the board of a terminal.
func (d *day) terminal(ctx context.Context, r *responder.Responder, queue *board.Board) error {
	v := board.Viewer{By: ask.By{Principal: "os:terminal", Name: "Tom", Proof: "local"}}
	f := board.Filter{Viewer: v, Mine: true}
	changed, stop := queue.Changes(f)
	defer stop()
	t := &team{}
	for ctx.Err() == nil {
		h, ok := queue.Take(ctx, v, f, board.Turn{})
		if !ok {
			select {
			case <-ctx.Done():
			case <-changed:
			}
			continue
		}
		gone, err := t.read(ctx, queue, h, d.reading(), changed)
		if err != nil {
			return err
		}
		if !gone {
			d.means(h.Key, responderType)
			_, err = r.Answer(ctx, h.Key, ask.Reply{By: v.By, Answers: []ask.Answer{{QuestionID: "db", Selected: []string{meant}}}})
			if gone = errors.Is(err, ask.ErrResolved); err != nil && !gone {
				return err
			}
			queue.Learn(ask.Record{State: ask.StateResolved, Life: h.Life, Ask: ask.Ask{Tenant: h.Key.Tenant, Session: h.Key.Session, ID: h.Key.ID}})
		}
		d.read("terminal", h.Key, !gone)
	}
	return nil
}

// slackUser is the person in Slack, as the fake workspace knows them.
const slackUser = "U0MEI"

// chatter is what people say in a thread before they answer. None of it decides.
var chatter = []string{"hm, <@U0MEI> what do you think?", "let me check with finance first", "1 or 2? not sure yet", "yes, I am looking", "SQLite would be simpler, but no"} //nolint:gochecknoglobals // never changed

// inSlack answers the newest open card at which nobody else is, as far as the cards say, and talks in its thread before.
func (d *day) inSlack(ctx context.Context) error {
	for ctx.Err() == nil {
		m, ref, ok := d.card()
		if !ok {
			if err := backoff.Sleep(ctx, 5*time.Millisecond); err != nil {
				return nil //nolint:nilerr // the run is over
			}
			continue
		}
		reading := d.reading()
		if err := backoff.Sleep(ctx, reading/2); err != nil {
			return nil //nolint:nilerr // the run is over
		}
		d.slack.fake.Write(slackUser, m.Channel, m.TS, chatter[rand.N(len(chatter))]) //nolint:contextcheck,gosec // words have no context
		d.talk()
		if err := backoff.Sleep(ctx, reading/2); err != nil {
			return nil //nolint:nilerr // the run is over
		}
		now, there := d.slack.fake.Message(m.Place)
		if !there || !now.Live() {
			d.read("Slack", ref.Key, false)
			continue
		}
		d.means(ref.Key, slack.Type)
		d.slack.fake.Click(slackUser, m.Place, "PostgreSQL") //nolint:contextcheck // a click has no context
		o, err := d.slack.session.Wait(ctx, ref.Key.ID)
		if err != nil {
			return err
		}
		d.read("Slack", ref.Key, o.By != nil && o.By.Responder == slack.Type)
		_ = d.slack.fake.Await(ctx, func() bool { now, there := d.slack.fake.Message(m.Place); return !there || !now.Live() }) // the card folds
	}
	return nil
}

// card returns the newest open card that says of nobody that they look at it.
func (d *day) card() (fakeslack.Message, chat.Ref, bool) {
	for _, m := range slices.Backward(d.slack.fake.Messages("C0ASKS")) {
		if !m.Live() || strings.Contains(m.Shown(), ":eyes:") {
			continue
		}
		for _, e := range m.Elements() {
			if value, _ := e["value"].(string); value != "" {
				if ref, ok := chat.ParseRef(value); ok {
					return m, ref, true
				}
			}
		}
	}
	return fakeslack.Message{}, chat.Ref{}, false
}

// What the person in the inbox needs of a page.
var (
	ofArticle = regexp.MustCompile(`<article class="ask[^"]*" data-key="([^"]*)" data-path="([^"]*)" data-life="([^"]*)" data-state="pending"`)
	ofForm    = regexp.MustCompile(`<form class="answer" method="post" action="([^"]*)"`)
	ofAnswer  = regexp.MustCompile(`name="answer_id" value="([^"]*)"`)
)

// webPerson is a person in the inbox, without a browser: over HTTP, as its scripts send.
type webPerson struct {
	d       *day
	c       *http.Client
	base    string
	changed <-chan struct{}
}

// web works through the inbox. Each answer is sent twice, as by an Enter that was held too long: the second must not
// decide the next ask.
func (d *day) web(ctx context.Context, at site) error {
	link, err := at.link("os:web")
	if err != nil {
		return err
	}
	jar, err := cookiejar.New(nil)
	if err != nil {
		return err
	}
	p := &webPerson{d: d, c: &http.Client{Jar: jar}, base: at.base}
	if _, _, err := p.send(ctx, http.MethodGet, link, nil); err != nil {
		return err
	}
	stream, err := get(ctx, p.c, at.base+"/events")
	if err != nil {
		return err
	}
	defer stream.Body.Close() //nolint:errcheck // read-only
	p.changed = changes(stream.Body)
	page := ""
	for ctx.Err() == nil {
		card := ofArticle.FindStringSubmatch(page)
		if card == nil {
			if page, _, err = p.send(ctx, http.MethodGet, at.base+"/", nil); err != nil {
				return err
			}
			if card = ofArticle.FindStringSubmatch(page); card == nil {
				select {
				case <-ctx.Done():
				case <-p.changed:
				case <-time.After(time.Second):
				}
				continue
			}
		}
		if page, err = p.answer(ctx, page, card); err != nil {
			return err
		}
	}
	return nil
}

// changes signals each event of a stream, until it ends.
func changes(stream io.Reader) <-chan struct{} {
	changed := make(chan struct{}, 1)
	go func() {
		buffer := make([]byte, 64<<10)
		for {
			if _, err := stream.Read(buffer); err != nil {
				return
			}
			select {
			case changed <- struct{}{}:
			default:
			}
		}
	}()
	return changed
}

// answer reads the ask on a page and answers it, and returns the page that follows.
func (p *webPerson) answer(ctx context.Context, page string, card []string) (string, error) {
	key, _ := ask.ParseKey(html.UnescapeString(card[1]))
	action, id := ofForm.FindStringSubmatch(page), ofAnswer.FindStringSubmatch(page)
	if action == nil || id == nil {
		return "", fmt.Errorf("bench: the card of %s has no form", key)
	}
	if _, _, err := p.send(ctx, http.MethodPost, p.base+html.UnescapeString(card[2])+"/attend", url.Values{"state": {"looking"}}); err != nil {
		return "", err
	}
	if err := backoff.Sleep(ctx, p.d.reading()); err != nil {
		return "", err
	}
	p.d.means(key, "web")
	form := url.Values{"answer_id": {html.UnescapeString(id[1])}, "life": {html.UnescapeString(card[3])}, "select:db": {"=" + meant}}
	to, began := p.base+html.UnescapeString(action[1]), time.Now()
	next, status, err := p.send(ctx, http.MethodPost, to, form)
	if err != nil {
		return "", err
	}
	took := time.Since(began)
	p.d.read("web", key, status == http.StatusOK)
	if status != http.StatusOK {
		return "", nil
	}
	if ofArticle.MatchString(next) {
		p.d.mu.Lock()
		p.d.next = append(p.d.next, float64(took)/float64(time.Millisecond))
		p.d.mu.Unlock()
	}
	p.d.talk()
	_, _, err = p.send(ctx, http.MethodPost, to, form)
	return next, err
}

func (p *webPerson) send(ctx context.Context, method, to string, form url.Values) (page string, status int, err error) {
	req, err := http.NewRequestWithContext(ctx, method, to, strings.NewReader(form.Encode()))
	if err != nil {
		return "", 0, err
	}
	req.Header.Set("Askbus-Part", "card")
	if form != nil {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	res, err := p.c.Do(req)
	if err != nil {
		return "", 0, err
	}
	defer res.Body.Close() //nolint:errcheck // read-only
	body, err := io.ReadAll(res.Body)
	return string(body), res.StatusCode, err
}
