package gateway_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/asking/gateway"
	"github.com/askbus/askbus/internal/asking/gateway/token"
	"github.com/askbus/askbus/internal/bus/state"
	"github.com/askbus/askbus/internal/testkit/natstest"
	"github.com/askbus/askbus/pkg/ask"
)

func TestAskAndAnswer(t *testing.T) {
	t.Parallel()
	d := open(t, gateway.Options{})
	agent, screen := d.agent("s1"), d.responder()

	res := d.do(agent, "POST", "/v1/asks", database).want(t, 201, `"state":"pending"`)
	if at := res.header.Get("Location"); at != "/v1/asks/s1/deploy-42" {
		t.Errorf("Location is %q", at)
	}
	d.do(agent, "POST", "/v1/asks", database).want(t, 200, `"state":"pending"`)
	d.do(agent, "POST", "/v1/asks?wait=1ms", database).want(t, 202, `"state":"pending"`)
	d.do(agent, "POST", "/v1/asks", strings.Replace(database, "Which", "What", 1)).want(t, 409, "id_reused")
	d.do(agent, "GET", "/v1/asks/s1/deploy-42", "").want(t, 200, `"state":"pending"`, "PostgreSQL")
	d.do(agent, "GET", "/v1/asks?state=pending", "").want(t, 200, `"id":"deploy-42"`, "asked_at")
	d.do(screen, "POST", "/v1/asks/s1/deploy-42/answer", `{"answers":[{"question_id":"db","selected":["x"]}]}`).want(t, 400, `"question_id":"db"`)

	waiting := d.meanwhile(agent, "GET", "/v1/asks/s1/deploy-42?wait=30s", "")
	d.do(screen, "POST", "/v1/asks/s1/deploy-42/answer", `{"answers":[{"question_id":"db","selected":["pg"]}],"by":{"name":"Mei","principal":"somebody:else"}}`).
		want(t, 200, `"status":"answered"`, `"principal":"token:`, `"name":"Mei"`, `"responder":"gateway"`, `"proof":"token"`)
	res = (<-waiting).want(t, 200, `"status":"answered"`, `"selected":["pg"]`)
	if res.header.Get("Askbus-State") != "resolved" {
		t.Errorf("state %q", res.header.Get("Askbus-State"))
	}

	d.do(screen, "POST", "/v1/asks/s1/deploy-42/answer", `{"answers":[{"question_id":"db","selected":["lite"]}]}`).want(t, 409, `"outcome":`, `"selected":["pg"]`)
	d.do(agent, "DELETE", "/v1/asks/s1/deploy-42", "").want(t, 409, "already_resolved")
	d.do(agent, "POST", "/v1/asks?wait=1s", database).want(t, 200, `"status":"answered"`)
	d.do(agent, "GET", "/v1/history?question=db", "").want(t, 200, `"selected":["pg"]`)
	d.do(agent, "GET", "/v1/history?question=Which+database%3F", "").want(t, 200, `"selected":["pg"]`)
	d.do(agent, "GET", "/v1/history?question=other", "").want(t, 200, `"items":[]`)
	d.do(agent, "GET", "/v1/history", "").want(t, 400, "question")
}

func TestDeclineWithdrawExpire(t *testing.T) {
	t.Parallel()
	d := open(t, gateway.Options{})
	agent, screen := d.agent("s1"), d.screen("s1")
	one := func(id, more string) string { return `{"id":"` + id + `","questions":[{"text":"Why?"}]` + more + `}` }

	d.do(agent, "POST", "/v1/asks", one("a", "")).want(t, 201)
	d.do(screen, "POST", "/v1/asks/s1/a/decline", `{"reason":"not now"}`).want(t, 200, `"status":"cancelled"`, `"reason":"not now"`, `"name":"A screen"`)
	d.do(agent, "POST", "/v1/asks", one("b", "")).want(t, 201)
	d.do(agent, "DELETE", "/v1/asks/s1/b", `{"reason":"found it"}`).want(t, 200, `"status":"withdrawn"`, "found it")
	d.do(agent, "DELETE", "/v1/asks/s1/b?reason=again", "").want(t, 200, "found it")
	d.do(agent, "POST", "/v1/asks?wait=30s", one("c", `,"timeout":"1s"`)).want(t, 200, `"status":"expired"`)
	d.do(screen, "POST", "/v1/asks/s1/c/answer", `{"answers":[{"question_id":"q1","text":"late"}]}`).want(t, 410, `"status":"expired"`)
}

func TestIdempotencyKeyIsTheID(t *testing.T) {
	t.Parallel()
	d := open(t, gateway.Options{})
	agent := d.agent("s1")
	const body = `{"questions":[{"text":"Why?"}]}`
	d.do(agent, "POST", "/v1/asks", body, "Idempotency-Key", `"k-1"`).want(t, 201, `"ask_id":"k-1"`)
	d.do(agent, "POST", "/v1/asks", body, "Idempotency-Key", "k-1").want(t, 200, `"ask_id":"k-1"`)
	d.do(agent, "GET", "/v1/asks?session=s1;limit=1", "").want(t, 400, "unknown_parameter") // which ends up in no parameter
	d.do(agent, "POST", "/v1/asks", `{"id":"k-2","questions":[{"text":"Why?"}]}`, "Idempotency-Key", "k-1").want(t, 400, "/id")
	d.do(agent, "POST", "/v1/asks?dialect=by-id", `{"questions":[{"question_id":"q","question":"?","options":[{"id":"a","label":"A"}]}]}`, "Idempotency-Key", "k 3").
		want(t, 202, `"ask_id":"`+ask.Token("k 3")+`"`)
}

func TestRightsOfRoles(t *testing.T) {
	t.Parallel()
	d := open(t, gateway.Options{})
	agent, other, screen, resp := d.agent("s1"), d.agent("s2"), d.screen("s1"), d.responder()
	operator := d.token(token.Token{Role: token.Operator, Tenant: "ops"})
	foreign := d.token(token.Token{Role: token.Responder, Tenant: "globex"})
	old := d.token(token.Token{Role: token.Operator, Expires: time.Now().Add(-time.Second)})
	d.do(agent, "POST", "/v1/asks", database).want(t, 201)
	const answer = `{"answers":[{"question_id":"db","selected":["pg"]}]}`
	for name, c := range map[string]struct {
		secret, method, path, body string
		status                     int
		says                       string
	}{
		"nobody":                                             {"", "GET", "/v1/asks", "", 401, "missing token"},
		"a token that is none":                               {"hello", "GET", "/v1/asks", "", 401, "unknown or revoked"},
		"a token that has run out":                           {old, "GET", "/v1/asks", "", 401, "expired"},
		"an agent answers":                                   {agent, "POST", "/v1/asks/s1/deploy-42/answer", answer, 403, "asks for session s1"},
		"an agent declines":                                  {agent, "POST", "/v1/asks/s1/deploy-42/decline", "", 403, "asks for session s1"},
		"an agent in another session":                        {agent, "POST", "/v1/asks?session=s2", database, 403, "session s2"},
		"an agent reads another session":                     {other, "GET", "/v1/asks/s1/deploy-42", "", 403, "s2"},
		"an agent lists another session":                     {other, "GET", "/v1/asks?session=s1", "", 403, "s2"},
		"an agent names another tenant":                      {agent, "GET", "/v1/asks?tenant=globex", "", 403, "tenant"},
		"an agent's own call of interact in another session": {agent, "POST", "/api/interact/ask", `{"sessionId":"s2","question":"?"}`, 403, "s2"},
		"a screen asks":                                      {screen, "POST", "/v1/asks", database, 403, "answers for session s1"},
		"a screen withdraws":                                 {screen, "DELETE", "/v1/asks/s1/deploy-42", "", 403, "answers for session s1"},
		"a screen answers elsewhere":                         {screen, "POST", "/v1/asks/s2/x/answer", answer, 403, "answers for session s1"},
		"a responder of another tenant":                      {foreign, "GET", "/v1/asks/s1/deploy-42?tenant=acme", "", 403, "globex"},
		"a responder of another tenant, unsaid":              {foreign, "GET", "/v1/asks/s1/deploy-42", "", 404, ""},
		"a responder asks":                                   {resp, "POST", "/v1/events", `{"specversion":"1.0","id":"e","source":"x","type":"dev.askbus.ask.requested.v1","data":` + database + `}`, 403, ""},
		"an agent answers by event":                          {agent, "POST", "/v1/events", `{"specversion":"1.0","id":"e","source":"x","subject":"deploy-42","type":"dev.askbus.answer.given.v1","data":` + answer + `}`, 403, ""},
		"an operator reads every tenant":                     {operator, "GET", "/v1/asks/s1/deploy-42?tenant=acme", "", 200, ""},
		"the socket of nobody":                               {"", "GET", "/ws", "", 401, ""},
		"the panel of an agent":                              {agent, "GET", "/embed?session=s1", "", 403, ""},
		"an unknown ask":                                     {agent, "GET", "/v1/asks/s1/nothing", "", 404, ""},
		"an id that is none":                                 {agent, "GET", "/v1/asks/s1/a%2Fb", "", 404, ""},
		"unknown path":                                       {agent, "GET", "/v1/nothing", "", 404, ""},
		"a wrong method":                                     {agent, "PUT", "/v1/asks", "", 405, ""},
	} {
		res := d.do(c.secret, c.method, c.path, c.body)
		if res.status != c.status || !strings.Contains(res.body, c.says) || c.status >= 400 && res.header.Get("Content-Type") != "application/problem+json" {
			t.Errorf("%s: %d %s: %s", name, res.status, res.header.Get("Content-Type"), res.body)
		}
	}
	if res := d.do("", "GET", "/t/"+agent+"/v1/asks", ""); res.status != 200 {
		t.Errorf("a token in the path: %d %s", res.status, res.body)
	}
	list, err := d.tokens.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := d.tokens.Revoke(t.Context(), list[0].ID); err != nil {
		t.Fatal(err)
	}
	natstest.Eventually(t, "the revocation counts", func() bool { return d.do(agent, "GET", "/v1/asks", "").status == 401 })
}

func TestPrincipalsOfTokens(t *testing.T) {
	t.Parallel()
	d := open(t, gateway.Options{})
	agent := d.agent("s1")
	stranger := d.responder()
	member := d.token(token.Token{Role: token.Responder, Principal: "oidc:mei", Name: "Mei", Groups: []string{"platform"}})
	d.do(agent, "POST", "/v1/asks", `{"id":"a","audience":["group:platform"],"questions":[{"text":"Why?"}]}`).want(t, 201)
	d.do(stranger, "POST", "/v1/asks/s1/a/answer", `{"response":"because","by":{"groups":["platform"]}}`).want(t, 403, "forbidden")
	d.do(member, "POST", "/v1/asks/s1/a/answer", `{"response":"because","answer_id":"x"}`).want(t, 200, `"principal":"oidc:mei"`, `"name":"Mei"`, `"answer_id":"x"`)
	d.do(member, "POST", "/v1/asks/s1/a/answer", `{"response":"because","answer_id":"x"}`).want(t, 200, `"answer_id":"x"`)
}

func TestHostsAndOrigins(t *testing.T) {
	t.Parallel()
	d := open(t, gateway.Options{CORSOrigins: []string{"https://app.example.com"}, Hosts: []string{"askbus.internal"}})
	agent := d.agent("*")
	pre := d.do("", "OPTIONS", "/v1/asks", "", "Origin", "https://app.example.com", "Access-Control-Request-Method", "POST")
	if pre.status != 204 || pre.header.Get("Access-Control-Allow-Origin") != "https://app.example.com" || !strings.Contains(pre.header.Get("Access-Control-Allow-Headers"), "Authorization") {
		t.Errorf("preflight: %d %v", pre.status, pre.header)
	}
	pre = d.do("", "OPTIONS", "/mcp", "", "Origin", "https://app.example.com", "Access-Control-Request-Method", "POST")
	if pre.status != 204 || !strings.Contains(pre.header.Get("Access-Control-Allow-Headers"), "Mcp-Session-Id") || !strings.Contains(pre.header.Get("Access-Control-Allow-Headers"), "A2A-Version") {
		t.Errorf("preflight of an MCP client: %d %v", pre.status, pre.header)
	}
	if pre := d.do("", "OPTIONS", "/v1/asks", "", "Origin", "https://evil.example.com"); pre.header.Get("Access-Control-Allow-Origin") != "" {
		t.Errorf("a foreign preflight: %v", pre.header)
	}
	d.do(agent, "POST", "/v1/asks", database, "Origin", "https://app.example.com", "Sec-Fetch-Site", "cross-site").want(t, 201)
	d.do(agent, "POST", "/v1/asks", database, "Origin", "https://evil.example.com", "Sec-Fetch-Site", "cross-site").want(t, 403, "ASKBUS_CORS_ORIGINS")
	d.do(agent, "GET", "/v1/asks", "", "Origin", "https://app.example.com", "Sec-Fetch-Site", "cross-site").want(t, 200)
	d.do(agent, "GET", "/v1/asks", "", "Origin", "https://evil.example.com").want(t, 403, "ASKBUS_CORS_ORIGINS")
	d.do(agent, "GET", "/v1/asks", "", "Origin", "null").want(t, 403, "ASKBUS_CORS_ORIGINS")
	for host, want := range map[string]int{"askbus.internal": 200, "evil.example.com": 421, "localhost:99": 200, "127.0.0.1": 200, "127.0.0.1:8420.evil.example": 421} {
		if got := d.host(host, agent); got != want {
			t.Errorf("as %s: %d", host, got)
		}
	}
	for _, bad := range []string{"*", "https://a.example.com/", "a.example.com", "https://a.example.com;x"} {
		if _, err := gateway.New(d.bus.Admin(), token.NewStore(d.bus.Admin(), state.CacheOptions{}), gateway.Options{EmbedOrigins: []string{bad}}); err == nil {
			t.Errorf("%s is taken for an origin", bad)
		}
	}
}

func TestAPendingResultSaysHowFarTheVotesAre(t *testing.T) {
	t.Parallel()
	d := open(t, gateway.Options{})
	agent := d.agent("*")
	const deploy = `{"id":"d1","questions":[{"id":"go","kind":"boolean","text":"Deploy?"}],"approval":{"any_of":[{"need":2,"from":["os:mei","os:jo"]}]}}`
	if got := d.do(agent, "POST", "/v1/asks?session=s1", deploy).as(t); got["progress"] != "0 of 2 approvals; 2 more needed from os:mei or os:jo" {
		t.Errorf("asked: %v", got)
	}
	vote := ask.Reply{By: ask.By{Principal: "os:mei", Name: "Mei", Proof: ask.ProofOS}, Answers: []ask.Answer{{QuestionID: "go", Boolean: new(true)}}}
	if _, err := d.people.Answer(t.Context(), ask.Key{Tenant: "acme", Session: "s1", ID: "d1"}, vote); !errors.Is(err, ask.ErrVoted) {
		t.Fatal(err)
	}
	const progress, ofJo = "1 of 2 approvals: Mei; 1 more needed from os:jo", "1 of 2 approvals: Jo; 1 more needed from os:mei"
	for _, request := range [][2]string{{"POST", "/v1/asks?session=s1&wait=1ms"}, {"GET", "/v1/asks/s1/d1?wait=1ms"}, {"GET", "/v1/asks/s1/d1"}} {
		body := ""
		if request[0] == "POST" {
			body = deploy
		}
		if got := d.do(agent, request[0], request[1], body).as(t); got["progress"] != progress {
			t.Errorf("%v: %v", request, got)
		}
	}
	// A vote that was given with a token ends with it.
	tok, secret, err := d.tokens.Issue(t.Context(), token.Token{Role: token.Responder, Tenant: "acme", Principal: "os:jo", Name: "Jo"})
	if err != nil {
		t.Fatal(err)
	}
	again := strings.Replace(deploy, "d1", "d2", 1)
	d.do(agent, "POST", "/v1/asks?session=s1", again)
	if got := d.do(secret, "POST", "/v1/asks/s1/d2/answer", `{"answers":[{"question_id":"go","boolean":true}]}`).as(t); got["progress"] != ofJo {
		t.Errorf("over HTTP: %v", got)
	}
	// It is taken back there, too: by that person only, once, and never by an agent.
	if got := d.do(agent, "DELETE", "/v1/asks/s1/d2/answer", ""); got.status != http.StatusForbidden {
		t.Errorf("an agent takes a vote back: %d", got.status)
	}
	for range 2 {
		if got := d.do(secret, "DELETE", "/v1/asks/s1/d2/answer", ""); got.status != http.StatusOK || got.as(t)["progress"] != "0 of 2 approvals; 2 more needed from os:mei or os:jo" {
			t.Errorf("taken back: %d %s", got.status, got.body)
		}
	}
	if got := d.do(secret, "DELETE", "/v1/asks/s1/d1/answer", ""); got.status != http.StatusConflict {
		t.Errorf("a vote that is not there: %d %s", got.status, got.body)
	}
	d.do(secret, "POST", "/v1/asks/s1/d2/answer", `{"answers":[{"question_id":"go","boolean":true}]}`)
	if _, err := d.tokens.Revoke(t.Context(), tok.ID); err != nil {
		t.Fatal(err)
	}
	if _, err := d.people.Answer(t.Context(), ask.Key{Tenant: "acme", Session: "s1", ID: "d2"}, vote); !errors.Is(err, ask.ErrVoted) || !strings.Contains(err.Error(), progress) {
		t.Errorf("after the token was revoked: %v", err)
	}
}
