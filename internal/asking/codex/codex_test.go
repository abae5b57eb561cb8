package codex_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/askbus/askbus/internal/asking/codex"
	"github.com/askbus/askbus/internal/asking/relay"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/dialect"
)

func protocol(minProof string) *codex.Protocol {
	return codex.New(codex.Options{Session: func(dir string) string { return ask.Token("codex" + dir) }, MinProof: minProof})
}

// tell gives the protocol a message of the server.
func tell(p *codex.Protocol, method, id, params string) relay.Effect {
	return p.FromAgent(nil, &relay.Message{Method: method, ID: json.RawMessage(id), Params: json.RawMessage(params)})
}

const (
	command = `{"kind":"command","threadId":"t","turnId":"u","itemId":"i","environmentId":"local","reason":"because","command":"/bin/bash -lc 'touch a'","cwd":"/w",
		"proposedExecpolicyAmendment":["touch","a b"],"availableDecisions":%s}`
	network = `{"kind":"command","threadId":"t","itemId":"i","cwd":"/w","command":null,"networkApprovalContext":{"host":"a.example","protocol":"https"},
		"proposedNetworkPolicyAmendments":[{"host":"a.example","action":"allow"},{"host":"a.example","action":"deny"}]}`
	all  = `["accept","acceptForSession",{"acceptWithExecpolicyAmendment":{"execpolicy_amendment":["touch","a b"]}},"cancel"]`
	some = `["accept",{"acceptWithExecpolicyAmendment":{"execpolicy_amendment":["touch","a b"]}},"cancel"]`
	tool = `{"threadId":"t","turnId":"u","serverName":"db","mode":"form","message":"?","requestedSchema":{"type":"object","properties":{}},
		"_meta":{"codex_approval_kind":"mcp_tool_call","tool_name":"drop","tool_params":{"table":"users"},"tool_annotations":{"destructiveHint":true},"persist":["session","always"]}}`
	rights  = `{"threadId":"t","turnId":"u","itemId":"i","cwd":"/w","reason":null,"permissions":{"network":{"enabled":true},"fileSystem":null}}`
	changed = `{"threadId":"t","turnId":"u","itemId":"f","reason":"tidy","grantRoot":null}`
	item    = `{"threadId":"t","item":{"type":"fileChange","id":"f","changes":[{"path":"/w/a","kind":{"type":"add"},"diff":"one\ntwo"},{"path":"/w/b","kind":{"type":"update"},"diff":"@@ -1 +1 @@\n-x\n+y\n"}]}}`
	oldCmd  = `{"conversationId":"t","callId":"c","approvalId":null,"command":["sh","-c","rm it's"],"cwd":"/w","reason":null,"parsedCmd":[]}`
	oldDiff = `{"conversationId":"t","callId":"c","fileChanges":{"/w/a":{"type":"delete","content":"one\n"}},"reason":null,"grantRoot":null}`
)

// Each decision of a person, and what the server gets for it; the client's same decision is recorded as that option.
func TestApprovals(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		method, params, proof string
		shows                 []string
		results               string // option=result, in the order of the options
	}{
		"a command": {"item/commandExecution/requestApproval", fmt.Sprintf(command, all), "os", []string{"touch a", "because", "/w", "`bash(touch 'a b' …)`"}, `allow={"decision":"accept"}
			scope-0={"decision":"acceptForSession"}
			scope-1={"decision":{"acceptWithExecpolicyAmendment":{"execpolicy_amendment":["touch","a b"]}}}
			refuse={"decision":"decline"}
			stop={"decision":"cancel"}`},
		"a command without a proof": {"item/commandExecution/requestApproval", fmt.Sprintf(command, some), "", []string{"not told why"}, `allow={"decision":"accept"}
			refuse={"decision":"decline"}
			stop={"decision":"cancel"}`},
		"a command of a person": {"item/commandExecution/requestApproval", strings.Replace(fmt.Sprintf(command, "null"), `"command",`, `"humanCommand",`, 1), "os", []string{"humanCommand"}, `allow={"decision":"accept"}
			refuse={"decision":"decline"}
			stop={"decision":"cancel"}`},
		"the network": {"item/commandExecution/requestApproval", network, "os", []string{"a.example", "https"}, `allow={"decision":"accept"}
			scope-0={"decision":"acceptForSession"}
			scope-1={"decision":{"applyNetworkPolicyAmendment":{"network_policy_amendment":{"host":"a.example","action":"allow"}}}}
			refuse={"decision":"decline"}
			stop={"decision":"cancel"}`},
		"files": {"item/fileChange/requestApproval", changed, "", []string{"--- /dev/null\n+++ /w/a\n+one\n+two\n--- /w/b\n+++ /w/b\n@@ -1 +1 @@\n-x\n+y", "tidy", "/w/a, /w/b"}, `allow={"decision":"accept"}
			scope-0={"decision":"acceptForSession"}
			refuse={"decision":"decline"}
			stop={"decision":"cancel"}`},
		"an MCP tool": {"mcpServer/elicitation/request", tool, "", []string{`"table": "users"`, "`drop` of the MCP server `db`"}, `allow={"action":"accept","content":{},"_meta":null}
			scope-0={"action":"accept","content":{},"_meta":{"persist":"session"}}
			refuse={"action":"decline","content":null,"_meta":null}
			stop={"action":"cancel","content":null,"_meta":null}`},
		"permissions": {"item/permissions/requestApproval", rights, "", []string{`"enabled": true`}, `allow={"permissions":{"network":{"enabled":true}},"scope":"turn"}
			scope-0={"permissions":{"network":{"enabled":true}},"scope":"session"}
			refuse={"permissions":{},"scope":"turn"}`},
		"an older command": {"execCommandApproval", oldCmd, "os", []string{`sh -c 'rm it'\''s'`}, `allow={"decision":"approved"}
			scope-0={"decision":"approved_for_session"}
			refuse={"decision":{"denied":{"rejection":"refused by a person"}}}
			stop={"decision":"abort"}`},
		"an older file change": {"applyPatchApproval", oldDiff, "", []string{"+++ /dev/null\n-one"}, `allow={"decision":"approved"}
			scope-0={"decision":"approved_for_session"}
			refuse={"decision":{"denied":{"rejection":"refused by a person"}}}
			stop={"decision":"abort"}`},
	} {
		p := protocol(c.proof)
		tell(p, "item/started", "", item)
		q := tell(p, c.method, "7", c.params).Asks
		if q == nil || q.Unfit != nil || !q.Shown || q.Withdrawn(true) != nil {
			t.Fatalf("%s: %+v", name, q)
		}
		shown, err := json.Marshal(&q.Ask)
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range c.shows {
			if text, _ := json.Marshal(want); !strings.Contains(string(shown), strings.Trim(string(text), `"`)) {
				t.Errorf("%s: no %s in\n%s", name, text, shown)
			}
		}
		var got []string
		for _, o := range q.Ask.Questions[0].Options {
			outcome := ask.Outcome{Status: ask.StatusAnswered, Source: ask.SourceHuman, Answers: []ask.Answer{{QuestionID: "permission", Selected: []string{o.ID}}}}
			result := q.Answer(&outcome)
			got = append(got, o.ID+"="+strings.TrimSpace(string(result)))
			given, err := q.Reply(result)
			if err != nil || given.Decision != dialect.Replied || given.Reply.Answers[0].Selected[0] != o.ID {
				t.Errorf("%s: the client's %s is %+v, %v", name, o.ID, given, err)
			}
			outcome.Source = ask.SourceDefault
			if r := q.Answer(&outcome); r != nil {
				t.Errorf("%s: a default decides %s", name, r)
			}
		}
		if want := strings.ReplaceAll(c.results, "\t", ""); strings.Join(got, "\n") != want {
			t.Errorf("%s: got\n%s\nwant\n%s", name, strings.Join(got, "\n"), want)
		}
		if r := q.Answer(&ask.Outcome{Status: ask.StatusExpired}); r != nil {
			t.Errorf("%s: an expiry decides %s", name, r)
		}
		if _, err := q.Reply(json.RawMessage(`{"decision":"somethingNew"}`)); err == nil {
			t.Errorf("%s: a decision without words is recorded", name)
		}
	}
}

// What the card could not show, only the client shows; other requests are not questions.
func TestOnlyTheClientAsks(t *testing.T) {
	t.Parallel()
	p := protocol("")
	if q := tell(p, "item/fileChange/requestApproval", "1", changed).Asks; q == nil || q.Unfit == nil {
		t.Error("unknown files are asked about")
	}
	tell(p, "item/started", "", item)
	tell(p, "item/completed", "", item)
	if q := tell(p, "item/fileChange/requestApproval", "1", changed).Asks; q == nil || q.Unfit == nil {
		t.Error("an ended change is remembered")
	}
	if q := tell(p, "item/tool/requestUserInput", "1", `{"threadId":"t","itemId":"i","questions":[{"id":"q","header":"H","question":"Key?","isOther":true,"isSecret":true,"options":null}],"isBlocking":true}`).Asks; q == nil || q.Unfit == nil {
		t.Error("a secret is asked for")
	}
	for _, method := range []string{"attestation/generate", "item/tool/call", "account/chatgptAuthTokens/refresh"} {
		if tell(p, method, "1", `{}`).Asks != nil {
			t.Errorf("%s is a question", method)
		}
	}
	if tell(p, "mcpServer/elicitation/request", "1", `{"mode":"url","serverName":"s","url":"https://a.example"}`).Asks != nil {
		t.Error("a URL is a question")
	}
	if e := tell(p, "serverRequest/resolved", "", `{"threadId":"t","requestId":7}`); string(e.TakenBack) != "7" {
		t.Errorf("resolved is %+v", e)
	}
}

func TestQuestionsAndForms(t *testing.T) {
	t.Parallel()
	p := protocol("os")
	p.FromAgent(nil, &relay.Message{ID: json.RawMessage("1"), Result: json.RawMessage(`{"thread":{"id":"t","cwd":"/w"}}`)})
	q := tell(p, "item/tool/requestUserInput", "1", `{"threadId":"t","itemId":"i","questions":[{"id":"q","header":"H","question":"Which?","isOther":true,"isSecret":false,"options":[{"label":"a","description":""},{"label":"b","description":""}]}],"isBlocking":false}`).Asks
	if q == nil || q.Unfit != nil || q.Ask.Session != ask.Token("codex/w") || q.Ask.MinProof != "" {
		t.Fatalf("%+v", q)
	}
	answered := ask.Outcome{Status: ask.StatusAnswered, Source: ask.SourceHuman, Answers: []ask.Answer{{QuestionID: q.Ask.Questions[0].ID, Selected: []string{q.Ask.Questions[0].Options[1].ID}}}}
	if got := strings.TrimSpace(string(q.Answer(&answered))); got != `{"answers":{"q":{"answers":["b"]}}}` {
		t.Errorf("the answer is %s", got)
	}
	if got := q.Answer(&ask.Outcome{Status: ask.StatusExpired}); got != nil {
		t.Errorf("an expiry answers %s", got)
	}
	given, err := q.Reply(json.RawMessage(`{"answers":{"q":{"answers":["b"]}}}`))
	if err != nil || len(given.Reply.Answers) != 1 || given.Reply.Answers[0].Selected[0] != answered.Answers[0].Selected[0] {
		t.Errorf("the client's answer is %+v, %v", given, err)
	}

	f := tell(p, "mcpServer/elicitation/request", "2", `{"threadId":"t","turnId":null,"serverName":"s","mode":"form","_meta":null,"message":"Go?","requestedSchema":{"type":"object","properties":{"go":{"type":"boolean"}},"required":["go"]}}`).Asks
	if f == nil || f.Unfit != nil {
		t.Fatalf("%+v", f)
	}
	yes := true
	outcome := ask.Outcome{Status: ask.StatusAnswered, Source: ask.SourceHuman, Answers: []ask.Answer{{QuestionID: f.Ask.Questions[0].ID, Boolean: &yes}}}
	if got := strings.TrimSpace(string(f.Answer(&outcome))); got != `{"action":"accept","content":{"go":true},"_meta":null}` {
		t.Errorf("the form is %s", got)
	}
	if got := strings.TrimSpace(string(f.Answer(&ask.Outcome{Status: ask.StatusCancelled}))); !strings.Contains(got, `"action":"decline"`) {
		t.Errorf("the decline is %s", got)
	}
	for _, s := range []ask.Status{ask.StatusExpired, ask.StatusAborted, ask.StatusWithdrawn} {
		if got := f.Answer(&ask.Outcome{Status: s}); got != nil {
			t.Errorf("%s answers %s in a person's name", s, got)
		}
	}
}

// Two thousand threads and changes leave a bounded memory behind.
func TestTheMemoryIsBounded(t *testing.T) {
	t.Parallel()
	p := protocol("")
	for i := range 2000 {
		tell(p, "thread/started", "", fmt.Sprintf(`{"thread":{"id":"t%d","cwd":"/w"}}`, i))
		tell(p, "item/started", "", strings.Replace(item, `"id":"f"`, fmt.Sprintf(`"id":"f%d"`, i), 1))
	}
	if threads, items := p.Remembered(); threads > 64 || items > 64 {
		t.Errorf("%d threads and %d items", threads, items)
	}
}
