package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/askbus/askbus/internal/process/backoff"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/coder/websocket"
)

// httpSession is the suffix of sessions whose asks come over HTTP, because not every format can
// mark an ask as the bench's.
const httpSession = "-http"

// endpoints are the HTTP, WebSocket and MCP endpoints of a process, for an agent.
type endpoints struct {
	url, token, session string
	http                *http.Client
}

// endpoints issues a token and returns the endpoints.
func (p *process) endpoints(ctx context.Context, program Program, bed *Bed) (*endpoints, error) {
	where, err := readAddresses(p.dir)
	if err != nil || where.HTTP == "" {
		return nil, errors.Join(errors.New("bench: context.json names no HTTP endpoints"), err)
	}
	d := &endpoints{url: where.HTTP, session: bed.run + httpSession, http: &http.Client{Timeout: cycleLimit, Transport: &http.Transport{MaxIdleConnsPerHost: 64}}}
	d.token, err = p.issueToken(ctx, program, "--tenant", bed.Tenant, "--session", d.session)
	return d, err
}

// errAway reports that the bus could not serve a request at the moment: a 503, or a hook without a
// decision.
var errAway = errors.New("bench: the bus is away")

// cycle asks at the i-th endpoint and waits for the answer. While the bus is unreachable it repeats
// the body, as clients do, and returns how often.
func (d *endpoints) cycle(ctx context.Context, i int) (repeats int, err error) {
	for ; ; repeats++ {
		if err = d.once(ctx, i); !errors.Is(err, errAway) || backoff.Wait(ctx, 50*time.Millisecond, repeats) != nil {
			return repeats, err
		}
	}
}

// once asks once at the i-th endpoint.
func (d *endpoints) once(ctx context.Context, i int) error {
	text := fmt.Sprintf("Which database, %s %d?", d.session, i)
	tool := fmt.Sprintf(`{"questions":[{"question":%q,"header":"Storage","multiSelect":false,"options":[{"label":"PostgreSQL","description":""},{"label":"SQLite","description":""}]}]}`, text)
	switch i % 7 {
	case 0:
		return d.post(ctx, "/v1/asks?wait=30s", fmt.Sprintf(`{"questions":[{"id":"db","text":%q,"options":[{"label":"PostgreSQL"},{"label":"SQLite"}]}]}`, text), `"answered"`)
	case 1:
		return d.post(ctx, "/v1/events?wait=30s", fmt.Sprintf(`{"specversion":"1.0","id":"e%d","source":"/bench","type":"dev.askbus.ask.requested.v1","datacontenttype":"application/json","data":{"questions":[{"id":"db","text":%q,"options":[{"label":"PostgreSQL"},{"label":"SQLite"}]}]}}`, i, text), `"answered"`,
			"Content-Type", "application/cloudevents+json")
	case 2:
		return d.post(ctx, "/v1/permission?wait=30s", fmt.Sprintf(`{"tool_name":"AskUserQuestion","tool_use_id":"p%d","input":%s}`, i, tool), "PostgreSQL")
	case 3:
		return d.post(ctx, "/v1/hook?limit=30s", fmt.Sprintf(`{"session_id":"bench","hook_event_name":"PreToolUse","tool_name":"AskUserQuestion","tool_use_id":"h%d","tool_input":%s}`, i, tool), "PostgreSQL")
	case 4:
		return d.post(ctx, "/mcp", fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"AskUserQuestion","arguments":%s}}`, tool), "PostgreSQL",
			"Accept", "application/json, text/event-stream")
	case 5:
		return d.post(ctx, "/v1/asks?wait=30s&dialect=gemini", fmt.Sprintf(`{"questions":[{"question":%q,"header":"Storage","type":"choice","options":[{"label":"PostgreSQL","description":""},{"label":"SQLite","description":""}]}]}`, text), "PostgreSQL")
	default:
		return d.socket(ctx, i, text)
	}
}

// post sends a request and checks the response's text.
func (d *endpoints) post(ctx context.Context, path, body, says string, headers ...string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, d.url+path, strings.NewReader(body))
	if err != nil {
		return fmt.Errorf("bench: %w", err)
	}
	for i, headers := 0, append([]string{"Content-Type", "application/json", "Authorization", "Bearer " + d.token, "Askbus-Session", d.session}, headers...); i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	res, err := d.http.Do(req)
	if err != nil {
		return fmt.Errorf("bench: %w", err)
	}
	defer res.Body.Close() //nolint:errcheck // only read
	answer, err := io.ReadAll(io.LimitReader(res.Body, 1<<20))
	if err != nil {
		return fmt.Errorf("bench: %s: %w", path, err)
	}
	if res.StatusCode == http.StatusServiceUnavailable || res.StatusCode == http.StatusNoContent {
		return fmt.Errorf("%w: %s: %s: %.300s", errAway, path, res.Status, answer)
	}
	if res.StatusCode != http.StatusOK || !strings.Contains(string(answer), says) {
		return fmt.Errorf("bench: %s: %s: %.300s", path, res.Status, answer)
	}
	return nil
}

// socket asks over a new WebSocket.
func (d *endpoints) socket(ctx context.Context, i int, text string) error {
	conn, err := d.dial(ctx)
	if err != nil {
		return err
	}
	defer conn.CloseNow() //nolint:errcheck // only read
	return askSocket(ctx, conn, fmt.Sprintf(`{"type":"ask:question:request","data":{"id":"w%d","agentId":"bench","questions":[{"question":%q,"options":[{"label":"PostgreSQL"},{"label":"SQLite"}]}]}}`, i, text))
}

// dial opens a WebSocket in the session.
func (d *endpoints) dial(ctx context.Context) (*websocket.Conn, error) {
	conn, _, err := websocket.Dial(ctx, "ws"+strings.TrimPrefix(d.url, "http")+"/ws?session="+d.session, &websocket.DialOptions{ //nolint:bodyclose // closed by Dial
		HTTPClient: &http.Client{Transport: d.http.Transport}, HTTPHeader: http.Header{"Authorization": {"Bearer " + d.token}},
	})
	if err != nil {
		return nil, fmt.Errorf("bench: /ws: %w", err)
	}
	return conn, nil
}

// askSocket sends a frame that asks, and reads until the answer.
func askSocket(ctx context.Context, conn *websocket.Conn, frame string) error {
	if err := conn.Write(ctx, websocket.MessageText, []byte(frame)); err != nil {
		return fmt.Errorf("bench: /ws: %w", err)
	}
	for {
		_, body, err := conn.Read(ctx)
		if err != nil {
			return fmt.Errorf("bench: /ws: %w", err)
		}
		var got struct {
			Type string `json:"type"`
			Data struct {
				Code string `json:"code"`
			} `json:"data"`
		}
		switch err := json.Unmarshal(body, &got); {
		case err == nil && got.Type == "error" && got.Data.Code == ask.CodeUnavailable:
			return fmt.Errorf("%w: /ws: %.300s", errAway, body)
		case err != nil || got.Type == "error":
			return fmt.Errorf("bench: /ws: %.300s", body)
		case got.Type == "ask:question:response":
			return nil
		}
	}
}
