package gateway_test

import (
	"bytes"
	"encoding/json"
	"io"
	"io/fs"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/askbus/askbus/internal/asking/gateway"
	"github.com/askbus/askbus/internal/asking/gateway/token"
	"github.com/askbus/askbus/internal/protocol/wire"
	"github.com/askbus/askbus/pkg/dialect"
	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"github.com/getkin/kin-openapi/routers/legacy"
)

var decoders = sync.OnceFunc(func() {
	openapi3filter.RegisterBodyDecoder("text/javascript", openapi3filter.PlainBodyDecoder)
	openapi3filter.RegisterBodyDecoder("image/png", openapi3filter.FileBodyDecoder)
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

// A property that only the schemas have could neither be sent nor read with a generated client.
func TestOpenAPIDescribesWhatTheSchemasDo(t *testing.T) {
	t.Parallel()
	type schema struct {
		Properties map[string]*schema `json:"properties"`
		Items      *schema            `json:"items"`
		Defs       map[string]*schema `json:"$defs"`
		Required   []string           `json:"required"`
	}
	of := func(file string) *schema {
		t.Helper()
		data, err := fs.ReadFile(wire.Schemas(), file+".json")
		if err != nil {
			t.Fatal(err)
		}
		var s schema
		if err := json.Unmarshal(data, &s); err != nil {
			t.Fatal(err)
		}
		return &s
	}
	asks, common, status, list, problem := of("ask"), of("common"), of("status"), of("list-page"), of("problem")
	described := description(t).Components.Schemas
	inner := func(name, field string) *openapi3.Schema { return described[name].Value.Properties[field].Value }
	for name, c := range map[string]struct {
		has  *openapi3.Schema
		want *schema
		not  string // what a gateway does not send
	}{
		"Ask": {described["Ask"].Value, asks, ""}, "Ask.agent": {inner("Ask", "agent"), asks.Properties["agent"], ""},
		"Question": {described["Question"].Value, asks.Defs["question"], ""}, "Question.limits": {inner("Question", "limits"), asks.Defs["limits"], ""},
		"Option": {described["Option"].Value, asks.Defs["option"], ""}, "Option.preview": {inner("Option", "preview"), asks.Defs["option"].Properties["preview"], ""},
		"Approval": {described["Approval"].Value, asks.Defs["approval"], ""}, "Alternative": {described["Alternative"].Value, asks.Defs["alternative"], ""},
		"Votes": {described["Votes"].Value, asks.Defs["approval"].Properties["deny"], ""}, "Vote": {described["Vote"].Value, common.Defs["vote"], ""},
		"Answer": {described["Answer"].Value, common.Defs["answer"], ""}, "By": {described["By"].Value, common.Defs["by"], ""},
		"Outcome": {described["Outcome"].Value, of("outcome"), ""}, "Status": {described["Status"].Value, status, "retry hold holder"},
		"Item": {described["Item"].Value, list.Properties["items"].Items, ""}, "Receipt": {described["Receipt"].Value, status.Defs["receipt"], "ask_id"},
		"Problem": {described["Problem"].Value, problem, ""}, "Problem.errors": {inner("Problem", "errors").Items.Value, problem.Properties["errors"].Items, ""},
	} {
		for field := range c.want.Properties {
			if c.has.Properties[field] == nil && !slices.Contains(strings.Fields(c.not), field) {
				t.Errorf("%s has no %s", name, field)
			}
		}
		for _, field := range c.has.Required {
			if !slices.Contains(c.want.Required, field) {
				t.Errorf("%s requires %s, and the schema does not", name, field)
			}
		}
	}
}

func TestOpenAPINamesEveryDialect(t *testing.T) {
	t.Parallel()
	want := []string{"native"}
	for _, d := range dialect.All() {
		want = append(append(want, d.Name), d.Aliases...)
	}
	var named []string
	for _, name := range description(t).Components.Parameters["dialect"].Value.Schema.Value.Enum {
		s, _ := name.(string)
		named = append(named, s)
	}
	slices.Sort(named)
	slices.Sort(want)
	if !slices.Equal(named, want) {
		t.Errorf("?dialect= takes %v, and is described with %v", want, named)
	}
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

// parameters returns the names of an operation's query parameters.
func parameters(item *openapi3.PathItem, o *openapi3.Operation) (names []string) {
	for _, p := range slices.Concat(item.Parameters, o.Parameters) {
		if p.Value.In == openapi3.ParameterInQuery {
			names = append(names, p.Value.Name)
		}
	}
	return names
}

// TestUnknownParametersAreRefused checks each path of askbus's own against openapi.yaml; foreign clients may send what they like
// to the others.
func TestUnknownParametersAreRefused(t *testing.T) {
	t.Parallel()
	d := open(t, gateway.Options{})
	secret := d.token(token.Token{Role: token.Operator})
	for path, item := range description(t).Paths.Map() {
		if !strings.HasPrefix(path, "/v1/") || path == "/v1/credentials" {
			continue
		}
		for method, o := range item.Operations() {
			at := strings.NewReplacer("{session}", "s1", "{id}", "a1").Replace(path)
			got := d.do(secret, method, at+"?wiat=30s", "{}")
			var p struct {
				Errors []struct {
					Args map[string]string `json:"args"`
				} `json:"errors"`
			}
			if err := json.Unmarshal([]byte(got.body), &p); err != nil || got.status != http.StatusBadRequest || len(p.Errors) != 1 {
				t.Errorf("%s %s: %d, %v: %s", method, path, got.status, err, got.body)
				continue
			}
			known := strings.Split(p.Errors[0].Args["parameters"], ", ")
			want := parameters(item, o)
			slices.Sort(known)
			slices.Sort(want)
			if p.Errors[0].Args["name"] != "?wiat" || !slices.Equal(known, want) {
				t.Errorf("%s %s says %s; openapi.yaml has %q", method, path, got.body, want)
			}
		}
	}
}
