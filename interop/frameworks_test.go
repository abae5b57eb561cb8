package interop_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/responder"
)

// frameworks returns a directory with the examples, the models that the tests
// run them with, the real packages of the frameworks, and ours as it is packed.
func frameworks(t *testing.T) string {
	t.Helper()
	dir, own := t.TempDir(), packages(t)
	for _, from := range []string{"../examples/frameworks", "frameworks"} {
		if err := os.CopyFS(dir, os.DirFS(from)); err != nil {
			t.Fatal(err)
		}
	}
	foreign, err := filepath.Abs("node_modules")
	if err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(foreign)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, "node_modules"), 0o700); err != nil {
		t.Fatal(err)
	}
	link := func(from, name string) {
		if err := os.Symlink(from, filepath.Join(dir, "node_modules", name)); err != nil {
			t.Fatal(err)
		}
	}
	for _, e := range entries {
		link(filepath.Join(foreign, e.Name()), e.Name())
	}
	link(own.node(), "askbus")
	return dir
}

// TestFrameworksPauseForPeople runs each example twice: people approve, and
// people refuse with a reason. Those in JavaScript run with the framework's real
// package, those in Python read a frame in its shape.
func TestFrameworksPauseForPeople(t *testing.T) {
	t.Parallel()
	dir, b := frameworks(t), up(t)
	env := []string{"CLAUDE_CODE=" + filepath.Join(dir, "claude-code.mjs"), "PYTHONPATH=" + packages(t).python}
	frame := func(name string) string {
		data, err := os.ReadFile(filepath.Join("frameworks/frames", name))
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	pick := func(option, notes string) func(ask.Question) ask.Answer {
		return func(q ask.Question) ask.Answer {
			if q.Kind == ask.KindBoolean {
				return ask.Answer{QuestionID: q.ID, Boolean: new(option == "approve"), Notes: notes}
			}
			if q.Option(option) == nil { // a question that is not a permission
				return ask.Answer{QuestionID: q.ID, Selected: []string{q.Options[1].ID}}
			}
			return ask.Answer{QuestionID: q.ID, Selected: []string{option}, Notes: notes}
		}
	}
	for name, c := range map[string]struct {
		asks              int
		approved, refused string
		frame             string // on standard input
	}{
		"langgraph.mjs":            {1, "deployed to production", "not deployed: not on a Friday", ""},
		"langchain-middleware.mjs": {1, "ran: staging, production; told: deployed to staging, deployed to production", "ran: ; told: not on a Friday, not on a Friday", ""},
		"ai-sdk.mjs":               {1, "deployed to production", "execution-denied: not on a Friday", ""},
		"ai-sdk-parallel.mjs":      {1, "deploy ran, drop never, read ran", "deploy not on a Friday, drop never, read ran", ""},
		"ai-sdk-provider.mjs":      {1, "the provider is told true undefined", "the provider is told false not on a Friday", ""},
		"openai-agents.mjs":        {1, "deployed to production", "not on a Friday", ""},
		"claude-agent.mjs":         {2, `[{"Which database?":"SQLite"},{"command":"make deploy"}]`, `[{"Which database?":"SQLite"},"not on a Friday"]`, ""},
		"mcp-elicitation.mjs":      {1, `{"action":"accept","content":{"ok":true}}`, `"action":"accept","content":{"ok":false}}`, ""},
		"langgraph_pause.py":       {1, `{"9c1b2f0e6d5a4b3c8e7f60718293a4b5": {"decisions": [{"type": "approve"}]}}`, `[{"type": "reject", "message": "not on a Friday"}]`, frame("langgraph.json")},
		"openai_agents_pause.py":   {1, "[true, ", `[false, "not on a Friday"]`, frame("openai-agents.json")},
	} {
		program := "node"
		if filepath.Ext(name) == ".py" {
			program = "python3"
		}
		for i, want := range []string{c.approved, c.refused} {
			answer := pick("approve", "")
			if want == c.refused {
				answer = pick("reject", "not on a Friday")
			}
			session := fmt.Sprintf("%s-%d", ask.Token(name), i) // the frames have one id
			p := b.start(b.issue("--session", session), c.frame, env, program, filepath.Join(dir, name))
			for range c.asks {
				rec := b.next()
				reply := ask.Reply{By: ask.By{Principal: "os:mei", Name: "Mei", Proof: ask.ProofOS}}
				for _, q := range rec.Ask.Questions {
					if !q.Optional {
						reply.Answers = append(reply.Answers, answer(q))
					}
				}
				if _, err := b.screen.Answer(t.Context(), rec.Ask.Key(), reply); err != nil {
					t.Errorf("%s: %v", name, err)
				}
			}
			need(t, p.end(), want)
		}
	}
}

// TestPeopleSeeWhatACallWithoutArgumentsDoes permits the calls of the OpenAI Agents SDK that have a name
// and arguments of their own kind. What runs is shown as code: Markdown would hide characters of it.
func TestPeopleSeeWhatACallWithoutArgumentsDoes(t *testing.T) {
	t.Parallel()
	dir, b := frameworks(t), up(t)
	frame, err := os.ReadFile("frameworks/frames/openai-agents-shell.json")
	if err != nil {
		t.Fatal(err)
	}
	command := "```\n{\n  \"action\": {\n    \"commands\": [\n      \"rm -rf `pwd`/*build*\"\n    ]"
	for _, c := range []struct {
		program, name, frame, printed string
		shown                         map[string]string
	}{
		{"node", "openai-agents-shell.mjs", "", "done", map[string]string{
			"May Release call shell?":       command,
			"May Release call apply_patch?": `"path": "notes.txt"`,
		}},
		{"python3", "openai_agents_pause.py", string(frame), "[true, ", map[string]string{
			"May Release call shell_call?": strings.Replace(command, "\n    ]", "\n    ],\n    \"timeout_ms\": 1000", 1),
		}},
	} {
		p := b.start(b.issue("--session", ask.Token(c.name)), c.frame, []string{"PYTHONPATH=" + packages(t).python}, c.program, filepath.Join(dir, c.name))
		for range c.shown {
			rec := b.next()
			q := rec.Ask.Questions[0]
			if want, ok := c.shown[q.Text]; !ok || !strings.Contains(rec.Ask.Context, want) || !rec.Ask.Permits() {
				t.Errorf("%s asks %q and shows %q, want %q", c.name, q.Text, rec.Ask.Context, want)
			}
			reply := ask.Reply{By: ask.By{Principal: "os:mei", Name: "Mei", Proof: ask.ProofOS}, Answers: []ask.Answer{{QuestionID: q.ID, Boolean: new(true)}}}
			if _, err := b.screen.Answer(t.Context(), rec.Ask.Key(), reply); err != nil {
				t.Error(err)
			}
		}
		need(t, p.end(), c.printed)
	}
}

// A call of a framework is a permission, which chats do not offer unless they show it whole, and of a long one all is in a file.
func TestALongCallIsAPermissionWithAFile(t *testing.T) {
	t.Parallel()
	dir, b := frameworks(t), up(t)
	for program, args := range map[string][]string{"node": {"long-call.mjs", "allow true"}, "python3": {"long_call.py", "allow True"}} {
		p := b.start(b.issue("--session", ask.Token(args[0])), "", []string{"PYTHONPATH=" + packages(t).python}, program, filepath.Join(dir, args[0]))
		rec := b.next()
		if len(rec.Ask.Files) != 1 {
			t.Fatalf("%s: the ask has the files %v", args[0], rec.Ask.Files)
		}
		_, data, err := b.screen.File(t.Context(), rec.Ask.Key().InSession(), rec.Ask.Files[0].ID)
		if whole := string(data); err != nil || !strings.Contains(whole, "x; rm -rf ~; y") || strings.Contains(whole, "left out") || !rec.Ask.Permits() || !strings.HasPrefix(rec.Ask.Context, "This is too long to be shown whole here. All of it is in the file `call.txt`") {
			t.Errorf("%s: %v, the file has %d bytes, the card %.200q", args[0], err, len(whole), rec.Ask.Context)
		}
		reply := ask.Reply{By: ask.By{Principal: "os:mei", Name: "Mei", Proof: ask.ProofOS}, Answers: []ask.Answer{{QuestionID: rec.Ask.Questions[0].ID, Boolean: new(true)}}}
		if _, err := b.screen.Answer(t.Context(), rec.Ask.Key(), reply); err != nil {
			t.Error(err)
		}
		need(t, p.end(), args[1])
	}
}

// TestInterruptsOfOneTaskAreAsksOfTheirOwn asks about two interrupts that LangGraph for Python gave one id,
// because one task paused twice.
func TestInterruptsOfOneTaskAreAsksOfTheirOwn(t *testing.T) {
	t.Parallel()
	dir, b := frameworks(t), up(t)
	data, err := os.ReadFile("frameworks/frames/langgraph.json")
	if err != nil {
		t.Fatal(err)
	}
	token := b.issue("--session", "graph")
	for _, tool := range []string{"deploy", "drop"} {
		frame := strings.ReplaceAll(string(data), "deploy", tool)
		for _, asked := range []bool{true, false} { // the same interrupt again is the same ask
			p := b.start(token, frame, []string{"PYTHONPATH=" + packages(t).python}, "python3", filepath.Join(dir, "langgraph_pause.py"))
			if asked {
				rec := b.next()
				reply := ask.Reply{By: ask.By{Principal: "os:mei", Name: "Mei", Proof: ask.ProofOS}, Answers: []ask.Answer{{QuestionID: rec.Ask.Questions[0].ID, Selected: []string{"approve"}}}}
				if _, err := b.screen.Answer(t.Context(), rec.Ask.Key(), reply); err != nil {
					t.Fatal(err)
				}
			}
			need(t, p.end(), `{"9c1b2f0e6d5a4b3c8e7f60718293a4b5": {"decisions": [{"type": "approve"}]}}`)
		}
	}
}

// TestGraphsAskQuestionsOfTheirOwn answers the two interrupts of a graph that are no requests to review calls, and
// declines them: no text would be safe to resume the graph with.
func TestGraphsAskQuestionsOfTheirOwn(t *testing.T) {
	t.Parallel()
	dir, b := frameworks(t), up(t)
	for i, want := range []string{"city Bern; mail Keep a draft", "still interrupted: declined: not on a Friday (by Mei on the web); no decision was made"} {
		p := b.start(b.issue("--session", fmt.Sprint("questions-", i)), "", nil, "node", filepath.Join(dir, "langgraph-question.mjs"))
		rec := b.next()
		by := ask.By{Principal: "os:mei", Name: "Mei", Proof: ask.ProofOS}
		reply := ask.Reply{By: by}
		for _, q := range rec.Ask.Questions {
			if q.Kind == ask.KindText {
				reply.Answers = append(reply.Answers, ask.Answer{QuestionID: q.ID, Text: "Bern"})
			} else {
				reply.Answers = append(reply.Answers, ask.Answer{QuestionID: q.ID, Selected: []string{q.Options[1].ID}})
			}
		}
		var err error
		if i == 0 {
			_, err = b.screen.Answer(t.Context(), rec.Ask.Key(), reply)
		} else {
			_, err = b.screen.Cancel(t.Context(), rec.Ask.Key(), responder.Decline{Reason: "not on a Friday", By: by})
		}
		if err != nil {
			t.Fatal(err)
		}
		need(t, p.end(), want)
	}
}
