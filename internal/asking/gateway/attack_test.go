package gateway_test

import (
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/askbus/askbus/internal/asking/gateway"
	"github.com/askbus/askbus/internal/asking/gateway/token"
)

// TestEveryTokenHasTheRightsOfTheTable tries each path and method of openapi.yaml with a token of
// each role, in its own session, in another one and in another tenant. A path, method or role
// without a cell fails. TestWhoCanCauseAnOutcome (cmd/askbus) covers the effects.
func TestEveryTokenHasTheRightsOfTheTable(t *testing.T) {
	t.Parallel()
	d := open(t, gateway.Options{})
	roles := map[token.Role]token.Token{
		token.Agent:     {Role: token.Agent, Sessions: []string{"s1"}},
		token.Host:      {Role: token.Host, Sessions: []string{"s1"}, Principal: "os:ben"},
		token.Screen:    {Role: token.Screen, Sessions: []string{"s1"}},
		token.Responder: {Role: token.Responder},
		token.Operator:  {Role: token.Operator},
	}
	for _, r := range token.Roles() {
		if _, known := roles[r]; !known {
			t.Errorf("the role %s is in no cell", r)
		}
	}
	// Who is allowed, by where the ask is: the token's session, another one of its tenant, another
	// tenant. All others are refused with 401 or 403.
	const (
		asks     = "agent operator | operator | operator"
		answers  = "screen responder operator | responder operator | operator"
		sees     = "agent screen responder operator | responder operator | operator"
		sockets  = "agent screen responder operator | agent screen responder operator | agent screen responder operator"                // sessions are named in frames: ws_test.go
		forwards = "agent host screen responder operator | agent host screen responder operator | agent host screen responder operator" // the issuer decides: internal/server/exchange
		open     = "none agent host screen responder operator | none agent host screen responder operator | none agent host screen responder operator"
	)
	cells := map[string]string{
		"GET /v1/asks": sees, "POST /v1/asks": asks, "GET /v1/asks/{session}/{id}": sees, "DELETE /v1/asks/{session}/{id}": asks,
		"POST /v1/asks/{session}/{id}/answer": answers, "DELETE /v1/asks/{session}/{id}/answer": answers, "POST /v1/asks/{session}/{id}/decline": answers,
		"POST /v1/files": sees, "GET /v1/files/{id}": sees, // who may ask or answer may attach
		"GET /v1/history": sees, "GET /v1/events": sees, "POST /v1/events": asks, "POST /v1/permission": asks, "POST /api/interact/ask": asks, "POST /a2a": asks,
		"GET /ws": sockets, "GET /embed": answers, "POST /v1/credentials": forwards,
		"GET /embed/{name}": open, "GET /openapi.yaml": open, "GET /asyncapi.yaml": open, "GET /schemas": open, "GET /schemas/{name}": open, "GET /.well-known/agent-card.json": open,
	}
	var operations []string
	takes := map[string][]string{}
	for path, item := range description(t).Paths.Map() {
		for method, o := range item.Operations() {
			operations = append(operations, method+" "+path)
			takes[method+" "+path] = parameters(item, o)
		}
	}
	slices.Sort(operations)
	if have := slices.Sorted(maps.Keys(cells)); !slices.Equal(have, operations) {
		t.Fatalf("the table has\n%s\nopenapi.yaml has\n%s", strings.Join(have, "\n"), strings.Join(operations, "\n"))
	}
	plain := *d
	plain.http = http.DefaultClient // the WebSocket's path is asked for without being one
	secrets := map[string]string{"none": ""}
	for name, tok := range roles {
		secrets[string(name)] = d.token(tok)
	}
	n := 0
	for _, operation := range operations {
		method, path, _ := strings.Cut(operation, " ")
		if operation == "GET /v1/events" {
			method = http.MethodHead // the same rights, and it ends
		}
		for where, may := range strings.Split(cells[operation], " | ") {
			tenant, session := []string{"acme", "acme", "other"}[where], []string{"s1", "s2", "s1"}[where]
			for who, secret := range secrets {
				n++
				id := fmt.Sprint("t", n)
				at := strings.NewReplacer("{session}", session, "{id}", id, "{name}", "panel.js").Replace(path)
				body := ""
				if method == http.MethodPost {
					body = strings.NewReplacer("SESSION", session, "TENANT", tenant, "ID", id).Replace(bodies[path])
				}
				params := url.Values{}
				for name, value := range map[string]string{"wait": "0s", "tenant": tenant, "session": session} {
					if slices.Contains(takes[operation], name) {
						params.Set(name, value)
					}
				}
				got := plain.do(secret, method, at+"?"+params.Encode(), body)
				allowed := got.status != http.StatusUnauthorized && got.status != http.StatusForbidden
				if want := slices.Contains(strings.Fields(may), who); allowed != want {
					t.Errorf("%s for %s/%s as %s: %d, allowed should be %v: %.200s", operation, tenant, session, who, got.status, want, got.body)
				}
			}
		}
	}
}

// bodies are valid bodies, so that only rights cause a refusal.
var bodies = map[string]string{
	"/v1/asks":                        `{"id":"ID","questions":[{"text":"Which?"}]}`,
	"/v1/asks/{session}/{id}/answer":  `{"answers":[{"question_id":"q1","text":"x"}]}`,
	"/v1/asks/{session}/{id}/decline": `{}`,
	"/v1/files":                       `evidence`,
	"/v1/events":                      `{"specversion":"1.0","id":"e","source":"/x","partitionkey":"TENANT/SESSION","subject":"ID","type":"dev.askbus.ask.requested.v1","data":{"id":"ID","questions":[{"text":"Which?"}]}}`,
	"/v1/permission":                  `{"hook_event_name":"PreToolUse","session_id":"SESSION","tool_use_id":"ID","tool_name":"AskUserQuestion","tool_input":{"questions":[{"question":"Which?","header":"H","multiSelect":false,"options":[{"label":"A","description":"a"},{"label":"B","description":"b"}]}]}}`,
	"/a2a":                            `{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{"message":{"messageId":"ID","contextId":"SESSION","role":"ROLE_USER","parts":[{"text":"Which?"}]}}}`,
	"/api/interact/ask":               `{"sessionId":"SESSION","question":"Which?"}`,
}
