package mcpserver

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/dialect"
)

// A client whose stream breaks off before the response, such as one of the TypeScript SDK, asks for the rest with GET
// and the id of the last event that it got. That id is the call itself and when it began: the ask is durable, and the
// same call finds it, at any gateway.

// resuming is the revision of MCP whose clients take an event without data. Those of the next one do not resume.
const resuming = "2025-11-25"

// maxResumed bounds a call that can be resumed: proxies bound a header.
const maxResumed = 4 << 10

// maxAhead is how far the clock of the gateway that gave an id may be ahead.
const maxAhead = time.Minute

// eventID returns the id of a call's event, or "" if it cannot be resumed. Of other tools than these a repeated call is
// another one.
func eventID(r *http.Request, body []byte, began time.Time) string {
	var m struct {
		Method string `json:"method"`
		Params struct {
			Name string `json:"name"`
		} `json:"params"`
	}
	if r.Header.Get("Mcp-Protocol-Version") != resuming || len(body) > maxResumed || json.Unmarshal(body, &m) != nil ||
		m.Method != "tools/call" || !slices.Contains([]string{dialect.ToolName, toolAwait}, m.Params.Name) {
		return ""
	}
	return strconv.FormatInt(began.UnixMilli(), 36) + "." + base64.RawURLEncoding.EncodeToString(body)
}

// resumed returns the call that a GET continues, as it was made, and when it began.
func resumed(r *http.Request) (call *http.Request, body []byte, began time.Time, ok bool) {
	at, encoded, _ := strings.Cut(r.Header.Get("Last-Event-ID"), ".")
	ms, err := strconv.ParseInt(at, 36, 64)
	began = time.UnixMilli(ms)
	if err == nil {
		body, err = base64.RawURLEncoding.DecodeString(encoded)
	}
	waited := time.Since(began)
	if err != nil || r.Method != http.MethodGet || waited < -maxAhead || waited > ask.MaxHold { // no call waits longer
		return r, nil, time.Now(), false
	}
	call = r.Clone(r.Context())
	call.Method = http.MethodPost
	call.Header.Del("Last-Event-ID")
	call.Header.Set("Content-Type", "application/json")
	call.Header.Set("Accept", "application/json, text/event-stream")
	if eventID(call, body, began) == "" {
		return r, nil, time.Now(), false
	}
	if waited < 0 {
		began = time.Now()
	}
	return call, body, began, true
}
