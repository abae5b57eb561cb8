package chat

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/askbus/askbus/pkg/ask"
)

// Request is a call of a platform's HTTP API.
type Request struct {
	Method, URL string
	Header      map[string]string // empty values are left out
	Body        []byte
	Most        int64 // bytes of the reply
}

// Reply is what a platform replied.
type Reply struct {
	Status int
	Header http.Header
	Data   []byte
}

// Do makes the call. Its error does not have the address, in which there may be a secret.
func (q *Request) Do(ctx context.Context, c *http.Client) (*Reply, error) {
	req, err := http.NewRequestWithContext(ctx, q.Method, q.URL, bytes.NewReader(q.Body))
	if err != nil {
		return nil, errors.New("invalid address of the API")
	}
	for name, value := range q.Header {
		if value != "" {
			req.Header.Set(name, value)
		}
	}
	res, err := c.Do(req)
	if sent, ok := errors.AsType[*url.Error](err); ok {
		return nil, &url.Error{Op: sent.Op, URL: "…", Err: sent.Err}
	}
	if err != nil {
		return nil, err
	}
	defer res.Body.Close() //nolint:errcheck // read to its end, or of no use
	data, err := io.ReadAll(http.MaxBytesReader(nil, res.Body, q.Most))
	if err != nil {
		return nil, fmt.Errorf("the reply has status %d and cannot be read: %w", res.StatusCode, err)
	}
	return &Reply{res.StatusCode, res.Header, data}, nil
}

// OK reports whether the platform has done what it was told.
func (r *Reply) OK() bool { return r.Status/100 == 2 }

// After returns how long the first of these headers that the reply has says to wait, up to an hour; 0: none does.
func (r *Reply) After(names ...string) time.Duration {
	for _, name := range names {
		if seconds, err := strconv.ParseFloat(r.Header.Get(name), 64); err == nil && seconds > 0 {
			return time.Duration(min(seconds, 3600) * float64(time.Second))
		}
	}
	return 0
}

// Upload returns a body with fields and a file, and its media type.
func (f *Attached) Upload(fields map[string]string, name string) (body []byte, mediaType string, err error) {
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	for field, value := range fields {
		err = errors.Join(err, w.WriteField(field, value))
	}
	part, failed := w.CreateFormFile(name, f.Filename())
	if failed == nil {
		_, failed = part.Write(f.Data)
	}
	err = errors.Join(err, failed, w.Close())
	return b.Bytes(), w.FormDataContentType(), err
}

// maxBody is the maximum size of a request that a platform makes.
const maxBody = 1 << 20

// ReadBody reads the body of a platform's request. One that cannot be read, or is too large, it answers.
func ReadBody(w http.ResponseWriter, r *http.Request) (body []byte, ok bool) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		http.Error(w, "the body is unreadable or larger than 1 MiB", http.StatusRequestEntityTooLarge)
	}
	return body, err == nil
}

// RefuseRequest reports a request that is not the platform's, or that it does not make so.
func (s *Surface) RefuseRequest(r *http.Request, code, why string) {
	address, _, _ := net.SplitHostPort(r.RemoteAddr)
	s.Refuse(Refusal{What: r.Pattern, Code: code, Why: why, Address: address})
}

// RefusePerson reports a person who may not act on an ask at all.
func (s *Surface) RefusePerson(what, why string, by ask.By, a *ask.Ask) {
	s.Refuse(Refusal{What: what, Code: ask.CodeForbidden, Why: why, By: by, Ask: a.Key()})
}
