package gateway_test

import (
	"bytes"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/askbus/askbus/internal/asking/gateway"
	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"github.com/getkin/kin-openapi/routers/legacy"
)

var decoders = sync.OnceFunc(func() {
	openapi3filter.RegisterBodyDecoder("text/javascript", openapi3filter.PlainBodyDecoder)
	openapi3filter.RegisterBodyDecoder("text/css", openapi3filter.PlainBodyDecoder)
	openapi3filter.RegisterBodyDecoder("text/html", openapi3filter.PlainBodyDecoder)
	openapi3filter.RegisterBodyDecoder("application/cloudevents+json", openapi3filter.JSONBodyDecoder)
	openapi3filter.RegisterBodyDecoder("application/cloudevents-batch+json", openapi3filter.JSONBodyDecoder)
	openapi3filter.RegisterBodyDecoder("application/schema+json", openapi3filter.JSONBodyDecoder)
})

func description(t testing.TB) *openapi3.T {
	t.Helper()
	data, err := os.ReadFile("openapi.yaml")
	if err != nil {
		t.Fatal(err)
	}
	doc, err := openapi3.NewLoader().LoadFromData(data)
	if err != nil {
		t.Fatal(err)
	}
	if err := doc.Validate(t.Context(), openapi3.DisableExamplesValidation()); err != nil {
		t.Fatal(err)
	}
	return doc
}

// checked compares every response of the tests with openapi.yaml.
type checked struct {
	t      testing.TB
	router routers.Router
	next   http.RoundTripper
}

func contract(t testing.TB, next http.RoundTripper) http.RoundTripper {
	t.Helper()
	decoders()
	doc := description(t)
	doc.Servers = nil // the paths are what counts here
	router, err := legacy.NewRouter(doc)
	if err != nil {
		t.Fatal(err)
	}
	return &checked{t, router, next}
}

func (c *checked) RoundTrip(req *http.Request) (*http.Response, error) {
	res, err := c.next.RoundTrip(req)
	if err != nil || res.StatusCode == http.StatusSwitchingProtocols {
		return res, err
	}
	body, err := io.ReadAll(res.Body)
	if err != nil {
		return nil, err
	}
	_ = res.Body.Close()
	res.Body = io.NopCloser(bytes.NewReader(body))
	bare := req.Clone(req.Context())
	if rest, ok := strings.CutPrefix(bare.URL.Path, "/t/"); ok {
		_, path, _ := strings.Cut(rest, "/")
		bare.URL.Path = "/" + path
	}
	route, params, err := c.router.FindRoute(bare)
	if err != nil {
		if res.StatusCode < 400 && req.Method != http.MethodOptions && req.Method != http.MethodHead {
			c.t.Errorf("%s %s is not described: %v", req.Method, bare.URL.Path, err)
		}
		return res, nil
	}
	err = openapi3filter.ValidateResponse(req.Context(), &openapi3filter.ResponseValidationInput{
		RequestValidationInput: &openapi3filter.RequestValidationInput{Request: bare, PathParams: params, Route: route},
		Status:                 res.StatusCode, Header: res.Header, Body: io.NopCloser(bytes.NewReader(body)),
		Options: &openapi3filter.Options{IncludeResponseStatus: true, MultiError: true},
	})
	if err != nil {
		c.t.Errorf("%s %s answers %d, and not as described: %v", req.Method, bare.URL.Path, res.StatusCode, err)
	}
	return res, nil
}

func TestOpenAPIDescribesEveryEndpoint(t *testing.T) {
	t.Parallel()
	doc := description(t)
	d := open(t, gateway.Options{})
	d.do("", "GET", "/openapi.yaml", "").want(t, 200, "openapi: 3.1.0")
	d.do("", "GET", "/asyncapi.yaml", "").want(t, 200, "asyncapi: 3.1.0")
	d.do("", "GET", "/schemas/ask.json", "").want(t, 200, "2020-12")
	d.do("", "GET", "/schemas", "").want(t, 200, `"/schemas/ask.json"`)
	d.do("", "GET", "/schemas/", "").want(t, 200, `"/schemas/ask.json"`)
	d.do("", "GET", "/schemas/nothing.json", "").want(t, 404, `"code":"not_found"`)
	for path, item := range doc.Paths.Map() {
		allowed := map[string]bool{"HEAD": item.Get != nil, "OPTIONS": true}
		for method := range item.Operations() {
			allowed[method] = true
		}
		at := strings.NewReplacer("{session}", "s", "{id}", "a", "{name}", "embed.js").Replace(path)
		for _, method := range []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"} {
			res := d.do("", method, at, "")
			if refused := res.status == http.StatusMethodNotAllowed; refused == allowed[method] {
				t.Errorf("%s %s: %d", method, at, res.status)
			}
			if operation := item.Operations()[method]; operation != nil && (operation.Security == nil) != (res.status == http.StatusUnauthorized) {
				t.Errorf("%s %s without a token: %d", method, at, res.status)
			}
		}
	}
	for _, pattern := range gateway.Paths() {
		found := pattern == "/t/"
		for path := range doc.Paths.Map() {
			found = found || strings.HasPrefix(path, pattern)
		}
		if !found {
			t.Errorf("%s is mounted and not described", pattern)
		}
	}
}
