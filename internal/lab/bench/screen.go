package bench

import (
	"bufio"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"regexp"
	"strings"
	"syscall"
	"time"

	"github.com/askbus/askbus/internal/bus/connection"
	"github.com/askbus/askbus/internal/process/backoff"
	"github.com/askbus/askbus/internal/protocol/assertion"
	"github.com/askbus/askbus/internal/server/rights"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/client"
	"github.com/nats-io/nats.go"
)

// Screen is what a live screen costs its process: a web inbox that one browser follows.
type Screen struct {
	Machine Machine `json:"machine"`
	Pending int     `json:"pending"`
	Events  int     `json:"events"`       // asks and ends, one by one
	CPU     float64 `json:"cpu_us"`       // processor time of an event, less what the process uses anyway
	Idle    float64 `json:"core_percent"` // of that
	Shown   Times   `json:"shown"`        // from an ask to the line that the browser gets
}

// Write prints the report.
func (s Screen) Write(out io.Writer) error {
	return lines(out, "machine", s.Machine, "pending", s.Pending, "events", s.Events, "processor time of an event", ms(&s.CPU),
		"without events", fmt.Sprintf("%.2f %% of a core", s.Idle), "ask until the browser is told", s.Shown)
}

// shownIDs are the ids of the asks that are waited for.
var shownIDs = regexp.MustCompile(`show-[A-Z2-7]{26}`)

// screenRest is the time between two events. An inbox draws at most ten times per second, so events in quicker
// succession would share their cost.
const screenRest = 120 * time.Millisecond

// MeasureScreen starts a bus, and an inbox in its own process. While n asks are pending it asks and withdraws others,
// one by one; events is at least 2.
func MeasureScreen(ctx context.Context, program Program, opts Options, n, events int) (Screen, error) {
	s := Screen{Machine: ThisMachine(), Pending: n, Events: events &^ 1}
	b, err := Embedded(ctx, opts)
	if err != nil {
		return s, err
	}
	defer b.Close()
	nc, err := b.open(rights.Role{Name: rights.RoleAgent, Tenant: b.Tenant, Session: "crowd"})
	if err != nil {
		return s, err
	}
	agent, err := client.New(nc, client.Options{Logger: b.log})
	if err != nil {
		return s, err
	}
	c := &audience{agent: agent.Session(b.Tenant, "crowd")}
	if err := c.fill(ctx, n); err != nil {
		return s, err
	}
	p, err := b.startInbox(ctx, program)
	if err != nil {
		return s, err
	}
	defer p.close()
	told, err := p.follow(ctx)
	if err != nil {
		return s, err
	}
	if _, err := c.tell(ctx, told, 20); err != nil { // caches
		return s, err
	}
	began, before := time.Now(), p.used()
	if err := backoff.Sleep(ctx, 5*time.Second); err != nil {
		return s, err
	}
	idle := float64(p.used()-before) / float64(time.Since(began))
	began, before = time.Now(), p.used()
	took, err := c.tell(ctx, told, s.Events)
	if err != nil {
		return s, err
	}
	busy := float64(p.used()-before) - idle*float64(time.Since(began))
	s.CPU, s.Idle, s.Shown = micros(time.Duration(busy))/float64(s.Events), 100*idle, timesOf(took)
	return s, p.err
}

// tell asks and withdraws, one by one, and waits each time until the browser is told. It returns how long that took
// after each ask.
func (c *audience) tell(ctx context.Context, told <-chan string, events int) ([]time.Duration, error) {
	var took []time.Duration
	for range events / 2 {
		id, start := "show-"+rand.Text(), time.Now()
		if err := c.ask(ctx, id, ask.PriorityUrgent); err != nil {
			return nil, err
		}
		at, err := until(ctx, told, id)
		if err != nil {
			return nil, err
		}
		took = append(took, at.Sub(start))
		if err := backoff.Sleep(ctx, screenRest); err != nil {
			return nil, err
		}
		if _, err := c.agent.Withdraw(ctx, id, "it was seen"); err != nil {
			return nil, err
		}
		if err := backoff.Sleep(ctx, screenRest); err != nil {
			return nil, err
		}
	}
	return took, nil
}

// inboxProcess is a web inbox in its own process.
type inboxProcess struct {
	link string
	in   io.Writer
	says *json.Decoder
	end  func()
	body io.Closer
	err  error
}

// inboxInput is the input of that process.
type inboxInput struct {
	NATSURL string `json:"nats_url"`
	Creds   string `json:"creds"`
}

// inboxOutput is what it replies: first to its input, then to each line.
type inboxOutput struct {
	Link string        `json:"link,omitempty"`
	Used time.Duration `json:"used"` // processor time
}

// startInbox starts an inbox on the bed in its own process.
func (b *Bed) startInbox(ctx context.Context, program Program) (*inboxProcess, error) {
	urls := strings.Join(b.servers.urls, ",")
	c, err := b.servers.keys.Asserting(urls, rights.Role{Name: rights.RoleResponder, Type: "web"}, assertion.Anything())
	if err != nil {
		return nil, err
	}
	cmd, in, out, err := startPiped(ctx, program, "bench", "page")
	if err != nil {
		return nil, fmt.Errorf("bench: start an inbox: %w", err)
	}
	p := &inboxProcess{in: in, says: json.NewDecoder(out), end: func() {
		_ = in.Close() // ends it
		_ = cmd.Wait()
	}}
	var first inboxOutput
	if err := errors.Join(json.NewEncoder(in).Encode(inboxInput{urls, c.Creds}), p.says.Decode(&first)); err != nil {
		p.end()
		return nil, fmt.Errorf("bench: start an inbox: %w", err)
	}
	p.link = first.Link
	return p, nil
}

func (p *inboxProcess) close() {
	if p.body != nil {
		_ = p.body.Close()
	}
	p.end()
}

// used returns the processor time of the process; err holds what failed.
func (p *inboxProcess) used() time.Duration {
	var out inboxOutput
	_, err := fmt.Fprintln(p.in, "{}")
	p.err = errors.Join(p.err, err, p.says.Decode(&out))
	return out.Used
}

// follow opens the page's stream and passes on the ids of asks in it.
func (p *inboxProcess) follow(ctx context.Context) (<-chan string, error) {
	jar, err := cookiejar.New(nil)
	if err != nil {
		return nil, err
	}
	browser := &http.Client{Jar: jar, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	res, err := get(ctx, browser, p.link) //nolint:bodyclose // closed at once
	if err != nil {
		return nil, err
	}
	_ = res.Body.Close()
	base, _, _ := strings.Cut(strings.TrimPrefix(p.link, "http://"), "/")
	if res, err = get(ctx, browser, "http://"+base+"/events"); err != nil { //nolint:bodyclose // closed with p
		return nil, err
	}
	p.body = res.Body
	if err := awaitHello(res.Body); err != nil {
		return nil, fmt.Errorf("bench: the inbox's stream: %s: %w", res.Status, err)
	}
	told := make(chan string, 1<<10)
	go func() {
		defer close(told)
		lines := bufio.NewScanner(res.Body)
		lines.Buffer(nil, 1<<20)
		for lines.Scan() {
			for _, id := range shownIDs.FindAllString(lines.Text(), -1) { // a busy inbox tells several changes at once
				told <- id
			}
		}
	}()
	return told, nil
}

// RunInbox serves a web inbox until in ends: the process of [MeasureScreen].
func RunInbox(ctx context.Context, in io.Reader, out io.Writer) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	lines, says := json.NewDecoder(in), json.NewEncoder(out)
	var how inboxInput
	if err := lines.Decode(&how); err != nil {
		return err
	}
	b := &Bed{log: logger(nil), dial: func(rights.Role) (*nats.Conn, error) {
		return connection.Connect(connection.Credential{URL: how.NATSURL, Creds: how.Creds}, logger(nil))
	}}
	defer b.Close()
	site, err := b.inboxSite(ctx)
	if err != nil {
		return err
	}
	link, err := site.link("os:bench")
	if err != nil {
		return err
	}
	reply := inboxOutput{Link: link}
	for {
		var u syscall.Rusage
		if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
			return err
		}
		reply.Used = time.Duration(u.Utime.Nano() + u.Stime.Nano())
		if err := says.Encode(reply); err != nil {
			return err
		}
		reply = inboxOutput{}
		if err := lines.Decode(&struct{}{}); err != nil {
			return nil // the input has ended
		}
	}
}
