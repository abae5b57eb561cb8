package hostcall_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/askbus/askbus/internal/hook/hostcall"
	"github.com/askbus/askbus/pkg/ask"
)

var update = flag.Bool("update", false, "rewrite the golden files")

var (
	asked    = time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC)
	mei      = &ask.By{Principal: "slack:T01/U02", Name: "Mei", Responder: "slack", Proof: "slack-signature"}
	deadline = asked.Add(time.Hour)
)

const input = `{"questions":[
 {"question":"Which layout should the page have?","header":"Layout","multiSelect":false,"options":[
  {"label":"Sidebar (Recommended)","description":"Navigation on the left","preview":"+--+----+\n|  |    |\n+--+----+"},
  {"label":"Top bar","description":"Navigation above","markdown":"+-------+\n|       |"}]},
 {"question":"Which features?","header":"Features","multiSelect":true,"options":[{"label":"Search, full text"},{"label":"Export","description":""},{"label":"Login"}]}],
 "answers":{"Which features?":"Login"},"annotations":[1],"metadata":{"source":"remember"}}`

// outcomes returns an outcome for each way in which an ask ends, and some combinations.
func outcomes(a *ask.Ask) []named {
	human := ask.Outcome{AskID: a.ID, Status: ask.StatusAnswered, Source: ask.SourceHuman, By: mei, At: asked.Add(time.Minute), Ask: a}
	end := func(status ask.Status, change func(o *ask.Outcome)) ask.Outcome {
		o := ask.Outcome{AskID: a.ID, Status: status, At: asked.Add(time.Minute), Ask: a}
		if change != nil {
			change(&o)
		}
		return o
	}
	answered := human
	answered.Answers = answersTo(a)
	noted := answered
	noted.Answers = append([]ask.Answer(nil), answered.Answers...)
	noted.Answers[0].Notes = "keep 14 days of backups"
	noted.Response = "and thank you"
	response := human
	response.Response = "ask me again tomorrow"
	for i := range a.Questions {
		response.Answers = append(response.Answers, ask.Answer{QuestionID: a.Questions[i].ID, Skipped: true})
	}
	policy := answered
	policy.Source, policy.By = ask.SourcePolicy, nil
	skipped := answered
	skipped.Answers = append([]ask.Answer(nil), answered.Answers...)
	last := len(skipped.Answers) - 1
	skipped.Answers[last] = ask.Answer{QuestionID: a.Questions[last].ID, Skipped: true}
	rows := []named{
		{"answered", answered},
		{"answered with notes and a response", noted},
		{"answered with response only", response},
		{"answered by a policy", policy},
		{"answered with a question skipped", skipped},
	}
	if q := &a.Questions[0]; len(q.Options) > 0 {
		rows = append(rows, named{"cancelled by option", end(ask.StatusCancelled, func(o *ask.Outcome) {
			o.By, o.CancelledBy = mei, &ask.CancelledBy{QuestionID: q.ID, OptionID: q.Options[len(q.Options)-1].ID}
		})})
	}
	return append(rows,
		named{"cancelled (declined)", end(ask.StatusCancelled, func(o *ask.Outcome) { o.By, o.Reason = mei, "not my decision" })},
		named{"withdrawn", end(ask.StatusWithdrawn, func(o *ask.Outcome) { o.Reason = "found it in the docs" })},
		named{"aborted", end(ask.StatusAborted, nil)},
		named{"expired", end(ask.StatusExpired, func(o *ask.Outcome) { o.At = deadline })},
		named{"expired with declared defaults", end(ask.StatusExpired, func(o *ask.Outcome) {
			o.At, o.Source, o.Answers = deadline, ask.SourceDefault, answered.Answers
		})},
	)
}

type named struct {
	name    string
	outcome ask.Outcome
}

// answersTo answers every choice with everything that it allows.
func answersTo(a *ask.Ask) []ask.Answer {
	var answers []ask.Answer
	for i := range a.Questions {
		q := &a.Questions[i]
		ans := ask.Answer{QuestionID: q.ID, Selected: []string{q.Options[0].ID}}
		if q.Multiple {
			ans.Selected, ans.Other = append(ans.Selected, q.Options[1].ID), "mine, too"
		}
		answers = append(answers, ans)
	}
	return answers
}

func TestWhatTheHostIsToldForEveryOutcome(t *testing.T) {
	t.Parallel()
	hook := func(event, id string) hostcall.Event {
		call, ok, err := hostcall.ReadEvent([]byte(`{"session_id":"sess-1","cwd":"/home/mei","permission_mode":"default","hook_event_name":"` + event +
			`","tool_name":"AskUserQuestion",` + id + `"tool_input":` + input + `}`))
		if err != nil || !ok {
			t.Fatalf("%v, %v", ok, err)
		}
		call.Ask.Deadline = deadline
		return call
	}
	pre, dialog := hook(hostcall.PreToolUse, `"tool_use_id":"toolu_01",`), hook(hostcall.PermissionRequest, "")
	callback, err := hostcall.ReadCallback([]byte(input))
	if err != nil {
		t.Fatal(err)
	}
	callback.Ask.Deadline = deadline
	for name, door := range map[string]struct {
		ask    ask.Ask
		decide func(o *ask.Outcome) []byte
	}{"pretooluse": {pre.Ask, pre.Decide}, "permissionrequest": {dialog.Ask, dialog.Decide}, "callback": {callback.Ask, callback.Decide}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var b strings.Builder
			for _, row := range outcomes(&door.ask) {
				fmt.Fprintf(&b, "-- %s --\n%s\n", row.name, orNothing(door.decide(&row.outcome)))
			}
			path := "testdata/" + name + ".golden"
			if *update {
				if err := os.WriteFile(path, []byte(b.String()), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			want, err := os.ReadFile(path)
			if err != nil || b.String() != string(want) {
				t.Errorf("%s differs (%v); read it, and if it is right run with -update:\n%s", path, err, b.String())
			}
		})
	}
	if got, want := string(pre.Defer()), `"permissionDecision":"defer"`; !strings.Contains(got, want) {
		t.Errorf("defer is %s", got)
	}
	if dialog.Defer() != nil {
		t.Error("a permission request defers")
	}
}

func orNothing(out []byte) string {
	if out == nil {
		return "(prints nothing)"
	}
	var b bytes.Buffer
	if json.Indent(&b, out, "", "  ") != nil {
		return string(out)
	}
	return b.String()
}

// FuzzCalls checks that no input panics, and that nothing is allowed without an answer.
func FuzzCalls(f *testing.F) {
	for _, seed := range []string{
		input, `{"input":` + input + `}`, `{`, `[]`, `{"tool_name":"AskUserQuestion","input":{"questions":[]}}`,
		`{"hook_event_name":"PreToolUse","tool_name":"AskUserQuestion","tool_use_id":"t","tool_input":` + oneQuestion + `}`,
		`{"hook_event_name":"PostToolUse","tool_name":"AskUserQuestion","tool_input":` + oneQuestion + `,"tool_response":"\"Sure?\"=\"Yes\""}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		check := func(out []byte) {
			if out != nil && !json.Valid(out) || strings.Contains(string(out), `"behavior":"allow"`) && strings.Contains(string(out), `"answers":{}`) && !strings.Contains(string(out), `"response":`) {
				t.Fatalf("it is told %s", out)
			}
		}
		if e, ok, err := hostcall.ReadEvent(body); err == nil && ok {
			e.Native()
			for _, row := range outcomes(&e.Ask) {
				check(e.Decide(&row.outcome))
			}
		}
		if c, err := hostcall.ReadCallback(body); err == nil {
			for _, row := range outcomes(&c.Ask) {
				check(c.Decide(&row.outcome))
			}
		}
	})
}
