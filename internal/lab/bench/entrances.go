package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"text/tabwriter"
	"time"

	"github.com/askbus/askbus/internal/bus/connection"
	"github.com/askbus/askbus/internal/protocol/cloudevent"
	"github.com/askbus/askbus/internal/protocol/subject"
	"github.com/askbus/askbus/internal/protocol/wire"
	"github.com/askbus/askbus/internal/server/rights"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/coder/websocket"
	"github.com/nats-io/nats.go"
)

// NameAskAndWait is the entrance with which the others are compared.
const NameAskAndWait = "Go client, AskAndWait"

// EntrancesReport is what one cycle costs through each entrance of "askbus up".
type EntrancesReport struct {
	Machine Machine       `json:"machine"`
	Quick   bool          `json:"quick,omitempty"`
	Rows    []EntranceRow `json:"entrances"`
}

// EntranceRow is the cycle through one entrance at one number in flight: medians of rounds. Ratios are
// medians of the ratios of adjacent rounds, over those of [NameAskAndWait].
type EntranceRow struct {
	InFlight    int     `json:"in_flight"`
	Name        string  `json:"name"`
	Rounds      int     `json:"rounds"`
	P50         float64 `json:"p50_us"`
	P99         float64 `json:"p99_us"`
	PerSec      float64 `json:"per_s"`
	P50Ratio    float64 `json:"p50_ratio"`
	PerSecRatio float64 `json:"per_s_ratio"`
}

// Write prints the report for people.
func (r EntrancesReport) Write(out io.Writer) error {
	fmt.Fprintf(out, "%s\n\n", r.Machine)
	w := tabwriter.NewWriter(out, 0, 4, 2, ' ', 0)
	fmt.Fprintln(w, "in flight\tentrance\tp50\tp99\tcycles/s\tp50 ×\trate ×")
	for _, row := range r.Rows {
		fmt.Fprintf(w, "%d\t%s\t%s\t%s\t%.0f\t%.2f\t%.2f\n", row.InFlight, row.Name, ms(&row.P50), ms(&row.P99), row.PerSec, row.P50Ratio, row.PerSecRatio)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintln(out, "\n×: compared with AskAndWait, in the same run, alternating")
	return err
}

// Entrances measures the cycle through each entrance of one "askbus up": a caller asks the same
// question, a responder answers at once, and the caller has the answer. Everything goes over loopback
// TCP, and callers keep their connections.
func Entrances(ctx context.Context, program Program, dir string, plan Plan) (r EntrancesReport, err error) {
	if len(plan.InFlight) == 0 {
		plan.InFlight = []int{1, 32}
	}
	plan.fill()
	r.Machine = ThisMachine()
	if dir, err = os.MkdirTemp(dir, "askbus-bench-"); err != nil {
		return r, fmt.Errorf("bench: %w", err)
	}
	defer os.RemoveAll(dir) //nolint:errcheck // temporary
	p, err := startProcess(ctx, program, dir, "up", append(upArgs(), "--log-level", "error")...)
	if err != nil {
		return r, err
	}
	defer p.kill()
	bed, err := p.bed("bench")
	if err != nil {
		return r, err
	}
	defer bed.Close()
	systems, err := p.entrances(ctx, program, bed, agentsFor(plan.InFlight))
	if err != nil {
		return r, err
	}
	each := plan
	each.Limit = plan.Limit / time.Duration(len(plan.InFlight))
	for _, n := range plan.InFlight {
		rounds, err := Alternate(ctx, systems, n, each)
		if err != nil {
			return r, err
		}
		for _, s := range systems {
			its, first := rounds[s.Name], rounds[NameAskAndWait]
			r.Rows = append(r.Rows, EntranceRow{
				InFlight: n, Name: s.Name, Rounds: len(its), P50: round(its.Of(p50).Median), P99: round(its.Of(p99).Median), PerSec: round(its.Of(perSec).Median),
				P50Ratio: hundredths(its.Ratio(first, p50).Median), PerSecRatio: hundredths(its.Ratio(first, perSec).Median),
			})
		}
	}
	return r, nil
}

// entrance is one way to ask, as a [System].
type entrance func(ctx context.Context, slot int) error

// Cycle implements [System].
func (e entrance) Cycle(ctx context.Context, slot int) error { return e(ctx, slot) }

// callers ask through the entrances: each slot in a session of its own.
type callers struct {
	asks     *Asks
	at       endpoints
	sessions []string
	number   atomic.Int64

	mu      sync.Mutex
	sockets map[int]*websocket.Conn
}

// entrances returns the entrances of an "askbus up", the one to compare with first.
func (p *process) entrances(ctx context.Context, program Program, bed *Bed, agents int) ([]Named, error) {
	asks, err := bed.NewAsks(ctx, agents)
	if err != nil {
		return nil, err
	}
	where, err := readAddresses(p.dir)
	if err != nil || where.HTTP == "" {
		return nil, errors.Join(errors.New("bench: context.json names no HTTP endpoints"), err)
	}
	c := &callers{asks: asks, sockets: map[int]*websocket.Conn{}}
	for _, s := range bed.sessions(agents) {
		c.sessions = append(c.sessions, s+httpSession)
	}
	c.at = endpoints{url: where.HTTP, http: &http.Client{Timeout: cycleLimit, Transport: &http.Transport{MaxIdleConnsPerHost: 2 * agents}}}
	if c.at.token, err = p.issueToken(ctx, program, "--tenant", bed.Tenant, "--session", bed.run+"*"); err != nil {
		return nil, err
	}
	bed.later(c.close)
	plain, err := c.plain(bed)
	if err != nil {
		return nil, err
	}
	return []Named{
		{NameAskAndWait, asks},
		{"NATS by hand, one request", plain},
		{"HTTP, with an id", c.native(true)},
		{"HTTP, without an id", c.native(false)},
		{"WebSocket", entrance(c.overSocket)},
		{"MCP over HTTP", c.posted("/mcp", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"AskUserQuestion","arguments":%s}}`, "Accept", "application/json, text/event-stream")},
		{"hook over HTTP", c.posted("/v1/hook?limit=30s", `{"session_id":"bench","hook_event_name":"PreToolUse","tool_name":"AskUserQuestion","tool_input":%s}`)},
	}, nil
}

func (c *callers) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, conn := range c.sockets {
		_ = conn.CloseNow()
	}
	c.at.http.CloseIdleConnections()
}

// slot returns the endpoints for the session of a slot, and a number that no other cycle has.
func (c *callers) slot(slot int) (endpoints, int64) {
	at := c.at
	at.session = c.sessions[slot%len(c.sessions)]
	return at, c.number.Add(1)
}

// numbered is the bench's question, unlike any other: the same one without an id would be the same ask.
func numbered(n int64) ask.Ask {
	q := question("cycle")
	q.Title += " " + strconv.FormatInt(n, 10)
	return q
}

// plain asks with one request of a NATS client, which the broker holds until there is an answer.
func (c *callers) plain(bed *Bed) (System, error) {
	conns := make([]*nats.Conn, len(c.sessions))
	for i, s := range c.sessions {
		nc, err := bed.open(rights.Role{Name: rights.RoleAgent, Tenant: bed.Tenant, Session: s})
		if err != nil {
			return nil, err
		}
		conns[i] = nc
	}
	return entrance(func(ctx context.Context, slot int) error {
		at, n := c.slot(slot)
		q := numbered(n)
		q.ID = "n" + strconv.FormatInt(n, 10)
		data, err := wire.EncodeAsk(&q)
		if err != nil {
			return err
		}
		k := ask.Key{Tenant: bed.Tenant, Session: at.session, ID: q.ID}
		msg, err := cloudevent.Event{ID: cloudevent.NewID(), Source: "/bench", Type: cloudevent.TypeAsked, Key: k, Time: time.Now(), Data: data}.Msg(cloudevent.Structured)
		if err != nil {
			return err
		}
		msg.Subject = subject.Agent(k, subject.VerbAsk)
		msg.Header.Set("Askbus-Wait", cycleLimit.String())
		reply, err := conns[slot%len(conns)].RequestMsgWithContext(ctx, msg)
		if err == nil {
			err = connection.Refusal(reply)
		}
		if err == nil && !strings.Contains(string(reply.Data), `"answered"`) {
			err = fmt.Errorf("bench: the reply has no answer: %.300s", reply.Data)
		}
		return err
	}), nil
}

// native asks in the protocol's JSON over HTTP.
func (c *callers) native(named bool) entrance {
	return func(ctx context.Context, slot int) error {
		at, n := c.slot(slot)
		q := numbered(n)
		if named {
			q.ID = "h" + strconv.FormatInt(n, 10)
		}
		body, err := wire.EncodeAsk(&q)
		if err != nil {
			return err
		}
		return at.post(ctx, "/v1/asks?wait=30s", string(body), `"answered"`)
	}
}

// tool returns the question as the arguments of the tool AskUserQuestion.
func tool(n int64) (string, error) {
	q := numbered(n)
	body, err := json.Marshal(map[string]any{"questions": []any{map[string]any{
		"question": q.Title + ": " + q.Questions[0].Text, "header": q.Questions[0].Header, "multiSelect": false,
		"options": []any{map[string]any{"label": "PostgreSQL", "description": "already deployed"}, map[string]any{"label": "SQLite", "description": "one file, no server"}},
	}}})
	return string(body), err
}

// posted asks with the arguments of the tool in a frame, over HTTP.
func (c *callers) posted(path, frame string, headers ...string) entrance {
	return func(ctx context.Context, slot int) error {
		at, n := c.slot(slot)
		args, err := tool(n)
		if err != nil {
			return err
		}
		return at.post(ctx, path, fmt.Sprintf(frame, args), "PostgreSQL", headers...)
	}
}

// overSocket asks over the WebSocket of a slot.
func (c *callers) overSocket(ctx context.Context, slot int) error {
	at, n := c.slot(slot)
	conn, err := c.socketOf(ctx, &at, slot)
	if err != nil {
		return err
	}
	args, err := tool(n)
	if err != nil {
		return err
	}
	return askSocket(ctx, conn, fmt.Sprintf(`{"type":"ask:question:request","data":{"id":"w%d","agentId":"bench",%s}`, n, args[1:])) // args is an object
}

// socketOf returns the socket of a slot, whose cycles follow one another.
func (c *callers) socketOf(ctx context.Context, at *endpoints, slot int) (*websocket.Conn, error) {
	c.mu.Lock()
	conn := c.sockets[slot]
	c.mu.Unlock()
	if conn != nil {
		return conn, nil
	}
	conn, err := at.dial(ctx)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sockets[slot] = conn
	return conn, nil
}
