package interop_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

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
		"ai": map[string]any{"request": aiIn, "answer": aiOut}, "agui": map[string]any{"request": agIn, "answer": agOut},
	})
	if e := s.result(); e.Text != "" {
		t.Errorf("%s\n%s\n%s", e.Text, aiOut, agOut)
	}
}

// TestDialectsFitTheRealTypes compiles requests and answers with the types of
// a package that has no schemas.
func TestDialectsFitTheRealTypes(t *testing.T) {
	t.Parallel()
	const event = `{"id":"evt_1","type":"question.v2.asked","properties":{"id":"que_01","sessionID":"ses_7","questions":[{"question":"Which database?","header":"Database","multiple":true,"options":[{"label":"PostgreSQL","description":"known"},{"label":"SQLite","description":""}]}],"tool":{"messageID":"m","callID":"c"}}}`
	d, _ := dialect.Lookup("opencode")
	a, warnings, err := d.Ask([]byte(event))
	if err != nil || len(warnings) > 0 {
		t.Fatal(err, warnings)
	}
	o := ask.Outcome{
		AskID: a.ID, Status: ask.StatusAnswered, Source: ask.SourceHuman, By: &ask.By{Name: "Mei", Responder: "web"}, At: time.Now(), Ask: &a,
		Answers: []ask.Answer{{QuestionID: a.Questions[0].ID, Selected: []string{"o1", "o2"}, Notes: "as agreed"}},
	}
	shown, _ := d.Show(&a)
	dir := frameworks(t)
	text := fmt.Sprintf(`import type { EventQuestionV2Asked, QuestionV2Reply, QuestionV2Request } from '@opencode-ai/sdk/v2'
export const asked: EventQuestionV2Asked = %s
export const shown: QuestionV2Request = %s
export const reply: QuestionV2Reply = %s
`, event, shown, d.Answer(&a, &o).Body)
	if err := os.WriteFile(filepath.Join(dir, "types.ts"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(t.Context(), "node_modules/.bin/tsc", "--strict", "--noEmit", "--skipLibCheck", "--types", "",
		"--module", "esnext", "--moduleResolution", "bundler", "--target", "es2022", "--lib", "es2022,dom", filepath.Join(dir, "types.ts")).CombinedOutput()
	if err != nil {
		t.Errorf("%v: %s\n%s", err, out, text)
	}
}
