// Package telemetry sends spans to a collector over OTLP (HTTP with JSON), and
// adds trace ids to logs. Only processes use it; libraries use the standard
// interfaces.
package telemetry

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdk "go.opentelemetry.io/otel/sdk/trace"
)

// exporter posts spans in OTLP's JSON. OpenTelemetry's own exporter for OTLP
// over HTTP adds gRPC and 146 more packages.
type exporter struct {
	url     string
	headers map[string]string
	client  *http.Client
	service string
	version string
}

// tracesPath is where a collector takes traces; an endpoint may end with it.
const tracesPath = "/v1/traces"

// exportLimit is the limit of one request.
const exportLimit = 10 * time.Second

func newExporter(endpoint, headers, service, version string) (*exporter, error) {
	u, err := url.Parse(endpoint)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, fmt.Errorf("telemetry: endpoint %q: use a URL such as http://127.0.0.1:4318", endpoint)
	}
	e := &exporter{url: strings.TrimSuffix(strings.TrimRight(endpoint, "/"), tracesPath) + tracesPath, headers: map[string]string{}, client: &http.Client{Timeout: exportLimit}, service: service, version: version}
	for pair := range strings.SplitSeq(headers, ",") {
		name, value, ok := strings.Cut(strings.TrimSpace(pair), "=")
		if value, err = url.PathUnescape(value); pair != "" && (!ok || err != nil) {
			return nil, fmt.Errorf("telemetry: headers: use name=value,name=value")
		}
		if ok {
			e.headers[strings.TrimSpace(name)] = value
		}
	}
	return e, nil
}

// The structure of OTLP's JSON.
type (
	otlpValue struct {
		String *string `json:"stringValue,omitempty"`
	}
	otlpAttribute struct {
		Key   string    `json:"key"`
		Value otlpValue `json:"value"`
	}
	otlpLink struct {
		Trace string `json:"traceId"`
		Span  string `json:"spanId"`
	}
	otlpStatus struct {
		Code    int    `json:"code,omitempty"`
		Message string `json:"message,omitempty"`
	}
	otlpSpan struct {
		Trace      string          `json:"traceId"`
		Span       string          `json:"spanId"`
		Parent     string          `json:"parentSpanId,omitempty"`
		Name       string          `json:"name"`
		Kind       int             `json:"kind"`
		Start      string          `json:"startTimeUnixNano"`
		End        string          `json:"endTimeUnixNano"`
		Attributes []otlpAttribute `json:"attributes,omitempty"`
		Links      []otlpLink      `json:"links,omitempty"`
		Status     otlpStatus      `json:"status"`
	}
	otlpScope struct {
		Name string `json:"name"`
	}
	otlpScopeSpans struct {
		Scope otlpScope  `json:"scope"`
		Spans []otlpSpan `json:"spans"`
	}
	otlpResource struct {
		Attributes []otlpAttribute `json:"attributes"`
	}
	otlpResourceSpans struct {
		Resource otlpResource     `json:"resource"`
		Scopes   []otlpScopeSpans `json:"scopeSpans"`
	}
	otlpRequest struct {
		Resources []otlpResourceSpans `json:"resourceSpans"`
	}
)

// ExportSpans implements [sdk.SpanExporter].
func (e *exporter) ExportSpans(ctx context.Context, spans []sdk.ReadOnlySpan) error {
	all := make([]otlpSpan, len(spans))
	for i, s := range spans {
		all[i] = encode(s)
	}
	body, err := json.Marshal(otlpRequest{[]otlpResourceSpans{{
		Resource: otlpResource{[]otlpAttribute{text("service.name", e.service), text("service.version", e.version)}},
		Scopes:   []otlpScopeSpans{{Scope: otlpScope{"github.com/askbus/askbus"}, Spans: all}},
	}}})
	if err != nil {
		return fmt.Errorf("telemetry: %w", err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, e.url, bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("telemetry: %w", err)
	}
	req.Header.Set("Content-Type", "application/json")
	for name, value := range e.headers {
		req.Header.Set(name, value)
	}
	resp, err := e.client.Do(req)
	if err != nil {
		return fmt.Errorf("telemetry: send spans: %w", err)
	}
	defer resp.Body.Close() //nolint:errcheck // only read
	said, _ := io.ReadAll(io.LimitReader(resp.Body, 1024))
	if resp.StatusCode/100 != 2 {
		return fmt.Errorf("telemetry: send spans: %s: %.200s", resp.Status, said)
	}
	return nil
}

// Shutdown implements [sdk.SpanExporter].
func (e *exporter) Shutdown(context.Context) error {
	e.client.CloseIdleConnections()
	return nil
}

func encode(s sdk.ReadOnlySpan) otlpSpan {
	at := s.SpanContext()
	o := otlpSpan{
		Trace: at.TraceID().String(), Span: at.SpanID().String(), Name: s.Name(), Kind: int(s.SpanKind()),
		Start: strconv.FormatInt(s.StartTime().UnixNano(), 10), End: strconv.FormatInt(s.EndTime().UnixNano(), 10), Attributes: attributes(s.Attributes()),
	}
	if s.Parent().IsValid() {
		o.Parent = s.Parent().SpanID().String()
	}
	for _, l := range s.Links() {
		o.Links = append(o.Links, otlpLink{l.SpanContext.TraceID().String(), l.SpanContext.SpanID().String()})
	}
	if s.Status().Code == codes.Error {
		o.Status = otlpStatus{2, s.Status().Description}
	}
	return o
}

func attributes(all []attribute.KeyValue) []otlpAttribute {
	out := make([]otlpAttribute, len(all))
	for i, a := range all {
		out[i] = text(string(a.Key), a.Value.String())
	}
	return out
}

func text(key, value string) otlpAttribute { return otlpAttribute{key, otlpValue{&value}} }
