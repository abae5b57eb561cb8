package guard

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/askbus/askbus/internal/asking/jsonrpc"
	"github.com/askbus/askbus/internal/process/backoff"
)

// Remote is a server over streamable HTTP, with the revisions of MCP from 2025-03-26 to 2025-11-25.
type Remote struct {
	url    string
	header http.Header
	client *http.Client
	life   context.Context //nolint:containedctx // of all requests
	end    context.CancelFunc
	in     *io.PipeReader
	out    *io.PipeWriter
	open   sync.WaitGroup

	telling  sync.Mutex // one message at a time to out
	mu       sync.Mutex
	session  string
	version  string
	listens  bool
	buffered []byte
}

// maxPosts bounds the requests to a remote server that are under way.
const maxPosts = 64

// Connect returns the side of a server with a URL. Header is sent with each request. Closing its Out ends it.
func Connect(ctx context.Context, url string, header http.Header) Side {
	life, end := context.WithCancel(ctx)
	in, out := io.Pipe()
	transport := http.DefaultTransport.(*http.Transport).Clone() //nolint:forcetypeassert,errcheck // documented
	transport.MaxConnsPerHost = maxPosts
	r := &Remote{url: url, header: header, client: &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error {
		return errors.New("the server redirects; give the address it redirects to") // the token must not go elsewhere
	}}, life: life, end: end, in: in, out: out}
	return Side{In: in, Out: r}
}

// Write sends messages, one a line.
func (r *Remote) Write(p []byte) (int, error) {
	r.buffered = append(r.buffered, p...)
	for {
		line, rest, ok := bytes.Cut(r.buffered, []byte("\n"))
		if !ok {
			return len(p), r.life.Err()
		}
		r.buffered = bytes.Clone(rest)
		var m message
		_ = json.Unmarshal(line, &m) // the guard has parsed it
		if method := m.text("method"); method == methodInitialize || m.id() == nil {
			r.post(line, m) // what follows depends on it
			continue
		}
		r.open.Go(func() { r.post(line, m) })
	}
}

// Close ends the session and the output.
func (r *Remote) Close() error {
	r.mu.Lock()
	session := r.session
	r.mu.Unlock()
	if session != "" {
		ctx, cancel := context.WithTimeout(r.life, time.Second)
		if res, err := r.do(ctx, http.MethodDelete, nil, ""); err == nil {
			_ = res.Body.Close()
		}
		cancel()
	}
	r.end()
	err := r.out.Close() // ends what is being written
	r.open.Wait()
	r.client.CloseIdleConnections()
	return err
}

// do sends a request; last is the id of the event after which it continues a stream, or empty.
func (r *Remote) do(ctx context.Context, method string, body []byte, last string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, r.url, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	maps.Copy(req.Header, r.header)
	r.mu.Lock()
	if r.session != "" {
		req.Header.Set("Mcp-Session-Id", r.session)
	}
	if r.version != "" {
		req.Header.Set("Mcp-Protocol-Version", r.version)
	}
	r.mu.Unlock()
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	req.Header.Set("Accept", "application/json, text/event-stream")
	if method == http.MethodGet {
		req.Header.Set("Accept", "text/event-stream")
	}
	if last != "" {
		req.Header.Set("Last-Event-Id", last)
	}
	return r.client.Do(req)
}

// post sends a message. A request that fails has an error as its response.
func (r *Remote) post(line []byte, m message) {
	res, err := r.do(r.life, http.MethodPost, line, "")
	if err == nil {
		defer func() { _ = res.Body.Close() }()
		err = r.receive(res, m)
	}
	if err != nil && m.text("method") != "" && m.id() != nil {
		r.tell(jsonrpc.Failure(m.id(), codeServer, "the MCP server at "+r.url+" failed: "+err.Error()))
	}
}

// codeServer is the JSON-RPC code of a server that failed.
const codeServer = -32000

func (r *Remote) receive(res *http.Response, m message) error {
	if res.StatusCode == http.StatusUnauthorized {
		return errors.New(res.Status + ": the guard does not sign in by itself; give it a token that the server accepts with --token-file")
	}
	if res.StatusCode >= http.StatusBadRequest {
		text, _ := io.ReadAll(io.LimitReader(res.Body, 300))
		return fmt.Errorf("%s: %s", res.Status, bytes.TrimSpace(text))
	}
	initialize := m.text("method") == methodInitialize
	if id := res.Header.Get("Mcp-Session-Id"); initialize && id != "" {
		r.mu.Lock()
		r.session = id
		r.mu.Unlock()
	}
	answered := m.id() == nil || m.text("method") == ""
	each := func(data []byte) error {
		var got message
		if !answered && json.Unmarshal(data, &got) == nil && got["method"] == nil {
			answered = bytes.Equal(got.id(), m.id())
		}
		if initialize {
			r.began(data)
		}
		r.tell(append(compact(data), '\n'))
		return nil
	}
	switch kind, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type")); kind {
	case "text/event-stream":
		var s stream
		err := s.read(res.Body, each)
		for try := 0; !answered && try < maxResumes && s.id != "" && !errors.Is(err, errLong); try++ {
			if s.wait(r.life, try) != nil {
				break
			}
			last := s.id
			if err = r.get(&s, each); errors.Is(err, errNoStream) {
				break
			}
			if s.id != last {
				try = -1
			}
		}
		if answered {
			return nil
		}
		return cmp.Or(err, errors.New("its stream ended without a response"))
	case "application/json":
		data, err := io.ReadAll(io.LimitReader(res.Body, maxLine+1))
		if err == nil && len(data) > maxLine {
			err = errLong
		}
		if err != nil || len(bytes.TrimSpace(data)) == 0 {
			return err
		}
		return each(data)
	}
	if m.id() != nil && m.text("method") != "" {
		return fmt.Errorf("it answered with %q, not with JSON or an event stream", res.Header.Get("Content-Type"))
	}
	return nil // accepted
}

// began notes what the server chose, and listens to what it sends by itself.
func (r *Remote) began(data []byte) {
	var m message
	if json.Unmarshal(data, &m) != nil || m["result"] == nil {
		return
	}
	r.mu.Lock()
	r.version = m.object("result").text("protocolVersion")
	listens := r.listens
	r.listens = true
	r.mu.Unlock()
	if !listens {
		r.open.Go(r.listen)
	}
}

// listen reads the server's own stream, if it has one.
func (r *Remote) listen() {
	var s stream
	for try := 0; ; try++ {
		err := r.get(&s, func(data []byte) error { try = 0; r.tell(append(compact(data), '\n')); return nil })
		if errors.Is(err, errNoStream) || errors.Is(err, errLong) || s.wait(r.life, try) != nil {
			return
		}
	}
}

// tell passes a message to the guard. Nobody reads after the end.
func (r *Remote) tell(line []byte) {
	r.telling.Lock()
	defer r.telling.Unlock()
	_, _ = r.out.Write(line)
}

// stream is an event stream of the server, which may end before its last event. See "Resumability and Redelivery" of
// MCP's transport.
type stream struct {
	id    string        // of the last event that has one
	retry time.Duration // how long the server wants the client to wait before it is continued; 0: it does not say
}

// maxResumes bounds the attempts to continue a stream, while none of them brings an event.
const maxResumes = 10

// maxRetry bounds the wait before it is continued.
const maxRetry = time.Minute

var errNoStream = errors.New("its stream ended without a response, and cannot be continued")

// wait waits before the stream is continued.
func (s *stream) wait(ctx context.Context, try int) error {
	d := s.retry
	if d == 0 || try > 0 {
		d = max(d, backoff.Delay(cmp.Or(d, time.Second), try))
	}
	return backoff.Sleep(ctx, min(d, maxRetry))
}

// get reads a stream that the client begins: the server's own, or the rest of another.
func (r *Remote) get(s *stream, each func(data []byte) error) error {
	res, err := r.do(r.life, http.MethodGet, nil, s.id)
	if err != nil {
		return err
	}
	defer func() { _ = res.Body.Close() }()
	switch {
	case res.StatusCode >= http.StatusInternalServerError && res.StatusCode != http.StatusNotImplemented:
		return errors.New(res.Status)
	case res.StatusCode != http.StatusOK:
		return errNoStream
	}
	return s.read(res.Body, each)
}

// read calls each with the data of every event.
func (s *stream) read(body io.Reader, each func(data []byte) error) error {
	lines := bufio.NewScanner(body)
	lines.Buffer(make([]byte, 0, 64<<10), maxLine)
	var data []byte
	id := s.id
	for lines.Scan() {
		line := lines.Text()
		if line == "" {
			if s.id = id; len(bytes.TrimSpace(data)) > 0 {
				if err := each(data); err != nil {
					return err
				}
			}
			data = nil
			continue
		}
		name, value, _ := strings.Cut(line, ":")
		switch value = strings.TrimPrefix(value, " "); name {
		case "data":
			data = append(append(data, value...), '\n')
			if len(data) > maxLine {
				return errLong
			}
		case "id":
			id = value
		case "retry":
			if ms, err := strconv.Atoi(value); err == nil {
				s.retry = max(0, time.Duration(ms)*time.Millisecond)
			}
		default:
		}
	}
	return lines.Err()
}
