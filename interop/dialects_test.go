package interop_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/testkit/asktest"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/dialect"
)

// TestDialectsFitTheRealSchemas parses requests and answers with the schemas of
// the frameworks' own packages.
func TestDialectsFitTheRealSchemas(t *testing.T) {
	t.Parallel()
	answered := func(name, request string) (in, out json.RawMessage) {
		d, _ := dialect.Lookup(name)
		a, _, err := d.Ask([]byte(request))
		if err != nil {
			t.Fatal(err)
		}
		a.ID = "ask-1"
		o := ask.Outcome{AskID: a.ID, Status: ask.StatusAnswered, Source: ask.SourceHuman, By: &ask.By{Name: "Mei", Responder: "web"}, At: time.Now(), Ask: &a}
		for i := range a.Questions {
			q := &a.Questions[i]
			ans := ask.Answer{QuestionID: q.ID, Notes: "as agreed"}
			if q.Kind == ask.KindChoice {
				ans.Selected = []string{q.Options[0].ID}
			} else {
				ans.Text = "main"
			}
			o.Answers = append(o.Answers, ans)
		}
		return json.RawMessage(request), d.Answer(&a, &o).Body
	}
	aiIn, aiOut := answered("ai-sdk", `[{"type":"tool-call","toolCallId":"tc-1","toolName":"deploy","input":{"to":"production"}},{"type":"tool-approval-request","approvalId":"ap-1","toolCallId":"tc-1","signature":"s1:abc"}]`)
	agIn, agOut := answered("ag-ui", `{"type":"RUN_FINISHED","threadId":"t","runId":"r","outcome":{"type":"interrupt","interrupts":[{"id":"int-1","reason":"input_required","message":"Choose","responseSchema":{"type":"object","properties":{"plan":{"type":"string","enum":["basic","pro"]}}}},{"id":"int-2","reason":"tool_call","message":"Delete?","toolCallId":"tc"},{"id":"int-3","reason":"input_required","message":"Name?"}]}}`)
	s := run(t, "dialects/check.mjs", map[string]any{
		"ai": map[string]any{"request": aiIn, "answer": aiOut}, "agui": map[string]any{"request": agIn, "answer": agOut}, "eve": eveMessages(t),
	})
	if e := s.result(); e.Text != "" {
		t.Errorf("%s\n%s\n%s", e.Text, aiOut, agOut)
	}
}

// eveMessages returns what askbus reads and writes for eve, with every end of an
// ask that has a place in its shapes.
func eveMessages(t *testing.T) map[string][]json.RawMessage {
	t.Helper()
	d, _ := dialect.Lookup("eve")
	messages := make(map[string][]json.RawMessage)
	for _, c := range []struct{ in, out, request string }{
		{"inputs", "outputs", `{"question":"Which database?","options":[{"label":"PostgreSQL (Recommended)","description":"known"},{"label":"SQLite","description":"small"}]}`},
		{"inputs", "outputs", `{"question":"Which branch?"}`},
		{"requests", "responses", `{"action":{"callId":"c1","input":{"command":"rm"},"kind":"tool-call","toolName":"bash"},"allowFreeform":false,"display":"confirmation","kind":"tool-approval","options":[{"id":"approve","label":"Approve"},{"id":"cancel","label":"Cancel"}],"prompt":"Approve Bash?","requestId":"ap_1"}`},
		{"requests", "responses", `{"action":{"callId":"c2","input":{},"kind":"tool-call","toolName":"ask_question"},"allowFreeform":true,"display":"text","kind":"question","prompt":"Which branch?","requestId":"req_1"}`},
	} {
		a, _, err := d.Ask([]byte(c.request))
		if err != nil {
			t.Fatal(err)
		}
		a.ID = "ask-1"
		messages[c.in] = append(messages[c.in], json.RawMessage(c.request))
		shown, _ := d.Show(&a)
		messages["requests"] = append(messages["requests"], shown)
		for _, row := range asktest.Outcomes(&a) {
			if told := d.Answer(&a, &row.Outcome); told.Status == 200 {
				messages[c.out] = append(messages[c.out], told.Body)
			}
		}
	}
	return messages
}

// TestDialectsFitTheRealTypes compiles requests, what screens are shown, and
// answers with the types of packages that have no schemas.
func TestDialectsFitTheRealTypes(t *testing.T) {
	t.Parallel()
	var text strings.Builder
	n := 0
	constant := func(typ string, body []byte) {
		n++
		fmt.Fprintf(&text, "export const c%d: %s = %s\n", n, typ, body)
	}
	text.WriteString(`import type { EventQuestionV2Asked, QuestionV2Reply, QuestionV2Request } from '@opencode-ai/sdk/v2'
import type { ElicitationContext, ElicitationResult, SessionConfig } from '@github/copilot-sdk'
import type { HITLRequest, HITLResponse } from 'langchain'
type UserInput = NonNullable<SessionConfig['onUserInputRequest']>
type UserInputRequest = Parameters<UserInput>[0]
type UserInputResponse = Awaited<ReturnType<UserInput>> & { text?: string } // notes, which it has no place for
type FormResult = ElicitationResult & { _meta?: object }
`)
	for _, c := range []struct {
		dialect, asked, shown, answer string
		in                            string
	}{
		{
			"opencode", "EventQuestionV2Asked", "QuestionV2Request", "QuestionV2Reply",
			`{"id":"evt_1","type":"question.v2.asked","properties":{"id":"que_01","sessionID":"ses_7","questions":[{"question":"Which database?","header":"Database","multiple":true,"options":[{"label":"PostgreSQL","description":"known"},{"label":"SQLite","description":""}]}],"tool":{"messageID":"m","callID":"c"}}}`,
		},
		{"copilot", "UserInputRequest", "UserInputRequest", "UserInputResponse", `{"question":"Which database?","choices":["PostgreSQL","SQLite"],"allowFreeform":false}`},
		{
			"copilot", "ElicitationContext", "", "FormResult",
			`{"sessionId":"s-1","message":"Which database?","mode":"form","requestedSchema":{"type":"object","properties":{"db":{"type":"string","title":"Database","oneOf":[{"const":"pg","title":"PostgreSQL"},{"const":"lite","title":"SQLite"}]}},"required":["db"]}}`,
		},
		{
			"langchain", "HITLRequest", "HITLRequest", "HITLResponse",
			`{"actionRequests":[{"name":"deploy","args":{"to":"production"},"description":"Deploy?"},{"name":"mail","args":{"to":"mei"}}],"reviewConfigs":[{"actionName":"deploy","allowedDecisions":["approve","reject"]},{"actionName":"mail","allowedDecisions":["approve","edit","reject"]}]}`,
		},
	} {
		d, _ := dialect.Lookup(c.dialect)
		a, warnings, err := d.Ask([]byte(c.in))
		if err != nil || len(warnings) > 0 {
			t.Fatal(c.asked, err, warnings)
		}
		answered := ask.Outcome{AskID: a.ID, Status: ask.StatusAnswered, Source: ask.SourceHuman, By: &ask.By{Name: "Mei", Responder: "web"}, At: time.Now(), Ask: &a}
		for i := range a.Questions {
			if q := &a.Questions[i]; len(q.Options) > 0 {
				answered.Answers = append(answered.Answers, ask.Answer{QuestionID: q.ID, Selected: []string{q.Options[i%len(q.Options)].ID}, Notes: "as agreed"})
			} else {
				answered.Answers = append(answered.Answers, ask.Answer{QuestionID: q.ID, Text: "{}"})
			}
		}
		declined := ask.Outcome{AskID: a.ID, Status: ask.StatusCancelled, Reason: "too risky", By: answered.By, At: time.Now(), Ask: &a}
		constant(c.asked, []byte(c.in))
		if c.shown != "" {
			shown, _ := d.Show(&a)
			constant(c.shown, shown)
		}
		constant(c.answer, d.Answer(&a, &answered).Body)
		if c.dialect != "opencode" { // whose refusal is another request
			constant(c.answer, d.Answer(&a, &declined).Body)
		}
	}
	dir := frameworks(t)
	if err := os.WriteFile(filepath.Join(dir, "types.ts"), []byte(text.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(t.Context(), "node_modules/.bin/tsc", "--strict", "--noEmit", "--skipLibCheck", "--typeRoots", "none",
		"--module", "esnext", "--moduleResolution", "bundler", "--target", "es2022", "--lib", "es2022,dom", filepath.Join(dir, "types.ts")).CombinedOutput()
	if err != nil {
		t.Errorf("%v: %s\n%s", err, out, text.String())
	}
}
