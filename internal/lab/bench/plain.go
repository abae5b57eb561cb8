package bench

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/askbus/askbus/internal/process/backoff"
	"github.com/askbus/askbus/pkg/ask"
)

// Plain is what clients saw that send each request once: no library of ours, no repeats. Whatever they are told but a
// success is a failure, except that nobody listens at a connection's other end: a killed process leaves that.
type Plain struct {
	Requests int            `json:"requests"`
	Waits    int            `json:"waits"`   // that were answered with "still pending", and made again
	Refused  int            `json:"refused"` // connections
	Failed   int            `json:"failed"`
	Why      map[string]int `json:"why,omitempty"` // the failures, by what was said
}

// String says it in a line.
func (p Plain) String() string {
	var why strings.Builder
	for _, what := range slices.SortedFunc(maps.Keys(p.Why), func(a, b string) int { return cmp.Compare(p.Why[b], p.Why[a]) }) {
		fmt.Fprintf(&why, "; %d × %s", p.Why[what], what)
	}
	return fmt.Sprintf("%d requests, %d failed, %d connections refused%s", p.Requests, p.Failed, p.Refused, why.String())
}

// plainKinds are the ways in which plain clients connect: over one connection again and again, or over a new one for each request.
const plainKinds = 2

// plainPause is the time between two acts of a plain client.
const plainPause = 100 * time.Millisecond

// plain has clients ask at the gateway and people read the inbox, each request once, until ctx ends.
func (r *drill) plain(ctx context.Context, token string) {
	var all sync.WaitGroup
	for i := range r.o.Plain {
		transport := r.o.NewTransport()
		transport.DisableKeepAlives = i%plainKinds == 1
		r.closes = append(r.closes, transport.CloseIdleConnections)
		c := &plainClient{drill: r, ctx: ctx, token: token, http: &http.Client{Transport: transport, Timeout: time.Minute}}
		person := *r.people[i%len(r.people)]
		person.Transport = transport
		all.Go(func() { c.asks(r.run+"-plain-"+strconv.Itoa(i), r.o.Tenant) })
		all.Go(func() { c.reads(&person) })
	}
	all.Wait()
}

type plainClient struct {
	*drill
	ctx   context.Context //nolint:containedctx // a client lives as long as its loop
	token string
	http  *http.Client
}

// asks asks and waits for the outcome, again and again.
func (c *plainClient) asks(session, tenant string) {
	for n := 0; backoff.Sleep(c.ctx, plainPause) == nil; n++ {
		id := "p" + strconv.Itoa(n)
		body, err := json.Marshal(ask.Ask{ID: id, Agent: ask.Agent{Name: "plain"}, Timeout: time.Hour, Questions: []ask.Question{{ID: "go", Text: "Go on?", Options: []ask.Option{{ID: "yes", Label: drillYes}, {ID: "no", Label: "No"}}}}})
		if err != nil {
			panic(err) // a constant shape
		}
		if _, ok := c.once(c.http, http.MethodPost, c.o.Gateway+"/v1/asks?session="+url.QueryEscape(session), body, http.StatusCreated); !ok {
			continue // nobody repeats it, so nobody knows whether it is there
		}
		answered := make(chan string, 1)
		go func() { answered <- c.decide(c.ctx, tenant+"/"+session, id, n) }()
		c.outcome(session, id)
		<-answered
	}
}

// outcome waits until the ask has ended.
func (c *plainClient) outcome(session, id string) {
	for c.ctx.Err() == nil {
		reply, ok := c.once(c.http, http.MethodGet, c.o.Gateway+"/v1/asks/"+session+"/"+id+"?wait=20s", nil, http.StatusOK, http.StatusAccepted)
		if !ok {
			_ = backoff.Sleep(c.ctx, plainPause)
			continue // another request, which does not undo the failure
		}
		var o ask.Outcome
		if reply.status == http.StatusOK {
			if err := json.Unmarshal(reply.body, &o); err != nil || o.Status != ask.StatusAnswered {
				c.fault(&c.d.Lost, "%s/%s: the gateway's outcome is %.200s", session, id, reply.body)
			}
			return
		}
		c.mu.Lock()
		c.d.Plain.Waits++
		c.mu.Unlock()
	}
}

// reads opens the inbox again and again.
func (c *plainClient) reads(person *http.Client) {
	for backoff.Sleep(c.ctx, 2*plainPause) == nil {
		c.once(person, http.MethodGet, c.home.Scheme+"://"+c.home.Host+"/", nil, http.StatusOK)
	}
}

type plainReply struct {
	status int
	body   []byte
}

// said is what a reply that is no success says to a reader: a problem's words, a page's title, or the beginning.
func (r plainReply) said() string {
	var problem struct {
		Code   string `json:"code"`
		Detail string `json:"detail"`
	}
	if json.Unmarshal(r.body, &problem) == nil && problem.Code != "" {
		return problem.Code + ": " + problem.Detail
	}
	_, body, ok := strings.Cut(string(r.body), "<title>")
	if title, _, closed := strings.Cut(body, "</title>"); ok && closed {
		return title
	}
	return fmt.Sprintf("%.120s", r.body)
}

// once sends a request once, and counts what came of it.
func (c *plainClient) once(by *http.Client, method, at string, body []byte, want ...int) (reply plainReply, ok bool) {
	req, err := http.NewRequestWithContext(c.ctx, method, at, bytes.NewReader(body))
	if err != nil {
		c.fault(&c.d.Lost, "%v", err)
		return reply, false
	}
	if by == c.http {
		req.Header.Set("Authorization", "Bearer "+c.token)
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := by.Do(req)
	if err == nil {
		reply.status = resp.StatusCode
		reply.body, err = io.ReadAll(io.LimitReader(resp.Body, 1<<20))
		err = errors.Join(err, resp.Body.Close())
	}
	if c.ctx.Err() != nil {
		return reply, false // the drill is over
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	p := &c.d.Plain
	p.Requests++
	switch {
	case err == nil && slices.Contains(want, reply.status):
		return reply, true
	case errors.Is(err, syscall.ECONNREFUSED):
		p.Refused++
		return reply, false
	}
	p.Failed++
	why := fmt.Sprintf("%s %s: %d %s", method, req.URL.Host, reply.status, reply.said())
	if failed, ok := errors.AsType[*url.Error](err); ok {
		why = fmt.Sprintf("%s %s: %v", method, req.URL.Host, failed.Err)
	}
	c.o.Progress(time.Now().UTC().Format("15:04:05.000") + " " + why) // to be found beside what the others logged then
	if p.Why == nil {
		p.Why = map[string]int{}
	}
	if p.Why[why] > 0 || len(p.Why) < 10 {
		p.Why[why]++
	}
	return reply, false
}
