package opencode

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// Bounds of what is read from the server, and how long one request may take.
const (
	maxBody  = 8 << 20
	maxEvent = 1 << 20
	patience = 10 * time.Second
)

// Errors of a server that will not become better by waiting.
var (
	ErrPassword = errors.New("the server wants another user or password")
	ErrForeign  = errors.New("this is not a server of opencode, or one that is too old")
)

var (
	errGone   = errors.New("the server no longer has this request")
	errAbsent = errors.New("the server does not have this path")
)

// Server is the address of a server of opencode.
type Server struct {
	Base     *url.URL
	User     string // of HTTP basic authentication; without a password none is used
	Password string
	Client   *http.Client // default: one that follows no redirects, so that the password stays here
}

// ParseURL parses the address of a server. Only this machine may be addressed without TLS.
func ParseURL(s string) (*url.URL, error) {
	u, err := url.Parse(s)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
		return nil, fmt.Errorf("invalid address %q: use http://127.0.0.1:4096 or https://…", s)
	case u.User != nil:
		return nil, errors.New("the address has a password, which other users of this machine can read; set OPENCODE_SERVER_PASSWORD instead")
	case u.RawQuery != "" || u.Fragment != "":
		return nil, fmt.Errorf("invalid address %q: leave out what begins with ? or #", s)
	case u.Scheme == "http" && !loopback(u.Hostname()):
		return nil, fmt.Errorf("%s is not this machine; use https://", u.Hostname())
	}
	u.Path = strings.TrimRight(u.Path, "/")
	return u, nil
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// name identifies the server for every bridge on this machine.
func (s *Server) name() string {
	host, port := s.Base.Hostname(), s.Base.Port()
	if loopback(host) {
		host = "127.0.0.1"
	}
	return s.Base.Scheme + "://" + host + ":" + port + s.Base.Path
}

// do sends a request. The caller closes the body of the response.
func (s *Server) do(ctx context.Context, method, path string, query url.Values, body any) (*http.Response, error) {
	u := *s.Base
	u.Path, u.RawQuery = u.Path+path, query.Encode()
	var in io.Reader
	if body != nil {
		data, err := json.Marshal(body)
		if err != nil {
			return nil, err
		}
		in = bytes.NewReader(data)
	}
	req, err := http.NewRequestWithContext(ctx, method, u.String(), in)
	if err != nil {
		return nil, err
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if s.Password != "" {
		req.SetBasicAuth(s.User, s.Password)
	}
	client := s.Client
	if client == nil {
		client = &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	}
	res, err := client.Do(req)
	if err != nil {
		return nil, err
	}
	var failed error
	switch kind, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type")); {
	case res.StatusCode == http.StatusUnauthorized:
		failed = ErrPassword
	case res.StatusCode == http.StatusNotFound && method == http.MethodPost:
		failed = errGone
	case res.StatusCode == http.StatusNotFound, kind == "text/html": // it answers what it does not know with its page
		failed = errAbsent
	case res.StatusCode/100 != 2:
		text, _ := io.ReadAll(io.LimitReader(res.Body, 300)) // of what arrives
		failed = fmt.Errorf("%s %s: %s: %q", method, path, res.Status, text)
	}
	if failed != nil {
		_ = res.Body.Close()
		return nil, failed
	}
	return res, nil
}

// get reads JSON.
func (s *Server) get(ctx context.Context, path string, query url.Values, into any) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	res, err := s.do(ctx, http.MethodGet, path, query, nil)
	if err != nil {
		return err
	}
	defer func() { _ = res.Body.Close() }()
	data, err := io.ReadAll(io.LimitReader(res.Body, maxBody+1))
	if err == nil && len(data) > maxBody {
		err = fmt.Errorf("more than %d bytes", maxBody)
	}
	if err == nil {
		err = json.Unmarshal(data, into)
	}
	if err != nil {
		return fmt.Errorf("GET %s: %w", path, err)
	}
	return nil
}

// post sends a decision.
func (s *Server) post(ctx context.Context, path string, query url.Values, body any) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	res, err := s.do(ctx, http.MethodPost, path, query, body)
	if err != nil {
		return err
	}
	return res.Body.Close()
}

// event is what the bridge reads of an event.
type event struct {
	Directory string `json:"directory"`
	Payload   struct {
		Type       string `json:"type"`
		Properties struct {
			SessionID string `json:"sessionID"`
			RequestID string `json:"requestID"`
		} `json:"properties"`
	} `json:"payload"`
}

// events reads the server's events until it fails, the server is silent for a time, or ctx ends. It calls begun when the
// server sends them. An event that is too long is given as one without a type.
func (s *Server) events(ctx context.Context, silent time.Duration, begun func(), each func(event)) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	alive := time.AfterFunc(silent, func() { cancel(errors.New("the server is silent")) })
	defer alive.Stop()
	res, err := s.do(ctx, http.MethodGet, "/global/event", nil, nil)
	if errors.Is(err, errAbsent) {
		return ErrForeign
	}
	if err != nil {
		return cause(ctx, err)
	}
	defer func() { _ = res.Body.Close() }()
	begun()
	lines := bufio.NewReaderSize(res.Body, 64<<10)
	var line []byte
	for {
		part, err := lines.ReadSlice('\n')
		alive.Reset(silent)
		if len(line) <= maxEvent {
			line = append(line, part...)
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if err != nil {
			return cause(ctx, err)
		}
		var e event
		if data, ok := bytes.CutPrefix(line, []byte("data:")); ok && (len(line) > maxEvent || json.Unmarshal(data, &e) == nil) {
			each(e)
		}
		line = line[:0]
	}
}

// cause returns why ctx ended, or err if it did not.
func cause(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}
