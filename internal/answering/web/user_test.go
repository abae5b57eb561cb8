package web_test

import (
	"context"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"strings"
	"testing"

	"github.com/askbus/askbus/internal/process/httpserver"
	"github.com/askbus/askbus/pkg/ask"
)

// user is a browser without scripts: cookies, forms and links.
type user struct {
	t      *testing.T
	in     inbox
	client *http.Client
}

type response struct {
	status int
	body   string
	header http.Header
	path   string
}

func (in inbox) stranger(t *testing.T) user {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	transport := httpserver.LocalTransport()
	t.Cleanup(transport.CloseIdleConnections)
	return user{t, in, &http.Client{Jar: jar, Transport: transport}}
}

func (in inbox) signedIn(t *testing.T, by ask.By) user {
	t.Helper()
	u := in.stranger(t)
	u.get(strings.TrimPrefix(in.link(t, by), in.URL))
	return u
}

func (u user) get(path string) response { return u.do(http.MethodGet, path, nil) }

func (u user) post(path string, form url.Values) response { return u.do(http.MethodPost, path, form) }

func (u user) do(method, path string, form url.Values, headers ...string) response {
	u.t.Helper()
	req, err := http.NewRequestWithContext(context.Background(), method, u.in.URL+path, strings.NewReader(form.Encode()))
	if err != nil {
		u.t.Fatal(err)
	}
	if form != nil {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	for i := 0; i < len(headers); i += 2 {
		if headers[i] == "Host" {
			req.Host = headers[i+1]
		}
		req.Header.Set(headers[i], headers[i+1])
	}
	res, err := u.client.Do(req)
	if err != nil {
		u.t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		u.t.Fatal(err)
	}
	return response{res.StatusCode, string(body), res.Header, res.Request.URL.RequestURI()}
}

func contains(body, want string) bool { return strings.Contains(body, want) }

func mustURL(t *testing.T, raw string) *url.URL {
	t.Helper()
	u, err := url.Parse(raw)
	if err != nil {
		t.Fatal(err)
	}
	return u
}
