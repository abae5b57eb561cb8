package dialect_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"image"
	"image/png"
	"strings"
	"testing"

	"github.com/askbus/askbus/internal/testkit/asktest"
	"github.com/askbus/askbus/pkg/ask"
	"github.com/askbus/askbus/pkg/dialect"
)

func pixel(t *testing.T) (data []byte, encoded string) {
	t.Helper()
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewNRGBA(image.Rect(0, 0, 1, 1))); err != nil {
		t.Fatal(err)
	}
	return b.Bytes(), base64.StdEncoding.EncodeToString(b.Bytes())
}

// What an agent of any dialect reads of an answer names the files that came with it, and says how to read them; what a
// screen of any dialect shows of an ask names its files, with their links.
func TestNoDialectLosesAFile(t *testing.T) {
	t.Parallel()
	shot := ask.File{ID: ask.FileID([]byte("x")), Name: "shot.png", MediaType: ask.MediaPNG, Size: 48213}
	for _, d := range dialect.All() {
		a := basic(t, d, d.Name+"-basic")
		o := ask.Outcome{AskID: a.ID, Status: ask.StatusAnswered, Source: ask.SourceHuman, By: asktest.Mei, At: asktest.Asked, Ask: &a, Answers: asktest.AnswersTo(&a)}
		o.Answers[0].Files = []ask.File{shot}
		told := string(d.Answer(&a, &o).Body)
		for _, part := range []string{"shot.png (image/png, 47 KiB)", "/v1/files/" + shot.ID + "?session=" + a.Session} {
			if !strings.Contains(told, part) {
				t.Errorf("an agent in %s is not told %q:\n%s", d.Name, part, told)
			}
		}
		if o.Answers[0].Notes != "" {
			t.Errorf("%s changed the outcome", d.Name)
		}
		shown := bigAsk(t, pick("a b"))
		shown.Files = []ask.File{shot}
		shown.Questions[0].Options[1].File = &ask.File{ID: ask.FileID([]byte("y")), Name: "tabs.png", MediaType: ask.MediaPNG, Size: 900}
		body, warnings := d.ShowAt(shown, "http://inbox/ask/big")
		for _, part := range []string{"shot.png (image/png, 47 KiB)", "http://inbox/ask/big/file/" + shot.ID, "tabs.png (image/png, 900 B)"} {
			if !strings.Contains(string(body), part) {
				t.Errorf("a screen in %s does not show %q:\n%s", d.Name, part, body)
			}
		}
		if d.Name != "a2a" && !strings.Contains(lines(warnings), "/files: ") {
			t.Errorf("a screen in %s is not warned: %v", d.Name, warnings)
		}
		if shown.Context != "" {
			t.Errorf("%s changed the ask", d.Name)
		}
	}
}

// Requests in shapes with a place for files hold them; whoever does not upload them names them.
func TestRequestsHoldFiles(t *testing.T) {
	t.Parallel()
	data, encoded := pixel(t)
	text := base64.RawURLEncoding.EncodeToString([]byte("plan?>"))
	for name, body := range map[string]string{
		"a2a": `{"message":{"messageId":"m1","parts":[{"text":"Ship it?"},{"raw":"` + encoded + `","filename":"shot.png","mediaType":"image/png"},{"raw":"` + text + `","filename":"plan.txt"},{"url":"https://example.com/x.png","filename":"far.png"}]}}`,
		"a2a 0.3": `{"message":{"messageId":"m1","parts":[{"kind":"text","text":"Ship it?"},{"kind":"file","file":{"bytes":"` + encoded + `","name":"shot.png","mimeType":"image/png"}},
			{"kind":"file","file":{"bytes":"` + text + `","name":"plan.txt"}},{"kind":"file","file":{"uri":"https://example.com/x.png","name":"far.png"}}]}}`,
		"acp-permission": `{"sessionId":"s1","toolCall":{"toolCallId":"t1","title":"Publish the page","content":[{"type":"content","content":{"type":"text","text":"It looks so."}},
			{"type":"content","content":{"type":"image","data":"` + encoded + `","mimeType":"image/png","uri":"file:///tmp/shot.png"}},{"type":"content","content":{"type":"resource","resource":{"uri":"file:///tmp/plan.txt","text":"plan?>"}}},
			{"type":"content","content":{"type":"resource_link","name":"far.png","uri":"https://example.com/x.png"}}]},"options":[{"optionId":"y","name":"Yes","kind":"allow_once"},{"optionId":"n","name":"No","kind":"reject_once"}]}`,
		"ai-sdk": `[{"type":"file","data":"` + encoded + `","mediaType":"image/png","filename":"shot.png"},{"type":"file","data":{"type":"text","text":"plan?>"},"mediaType":"text/plain","filename":"plan.txt"},{"type":"file","url":"https://example.com/x.png","filename":"far.png"},
			{"type":"tool-call","toolCallId":"c1","toolName":"publish","input":{}},{"type":"tool-approval-request","approvalId":"p1","toolCallId":"c1"}]`,
	} {
		d := in(t, strings.TrimSuffix(name, " 0.3"))
		a, uploads, warnings, err := d.AskFiles([]byte(body))
		if err != nil || len(a.Files) != 2 || len(uploads) != 2 {
			t.Fatalf("%s: %v, files %v", name, err, a.Files)
		}
		if f := a.Files[0]; f.Name != "shot.png" || f.MediaType != ask.MediaPNG || f.ID != ask.FileID(data) || !bytes.Equal(uploads[0].Data, data) {
			t.Errorf("%s: the first file is %+v", name, f)
		}
		if f := a.Files[1]; f.Name != "plan.txt" || f.MediaType != ask.MediaText || string(uploads[1].Data) != "plan?>" {
			t.Errorf("%s: the second file is %+v", name, f)
		}
		if !strings.Contains(a.Context, "Files that are not shown here: far.png https://example.com/x.png") || strings.Contains(a.Context, "shot.png") || len(warnings) > 0 {
			t.Errorf("%s: context %q, warnings %v", name, a.Context, warnings)
		}
		a, _, err = d.Ask([]byte(body))
		if err != nil || len(a.Files) != 0 || !strings.Contains(a.Context, "shot.png, plan.txt, far.png") {
			t.Errorf("%s: without uploads: %v, %q", name, err, a.Context)
		}
	}
	if in(t, "codex").HoldsFiles() || !in(t, "acp").HoldsFiles() {
		t.Error("other dialects hold files")
	}
}

// What a person permits is shown with the characters that hide, and with its end.
func TestAPermissionHidesNothing(t *testing.T) {
	t.Parallel()
	a, _, err := in(t, "acp-permission").Ask([]byte(`{"sessionId":"s1","permissionId":"p1","title":"Run it","subject":{"type":"command","command":"echo \u202egpj\u200b ` + strings.Repeat("x", 20_000) + ` ; rm -rf /"},
		"toolCall":{"toolCallId":"t1","title":"Run it","rawInput":{"command":"echo \u202egpj\u200b ` + strings.Repeat("x", 20_000) + ` ; rm -rf /"}},"options":[{"optionId":"y","name":"Yes","kind":"allow_once"},{"optionId":"n","name":"No","kind":"reject_once"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"echo ⟨U+202E⟩gpj⟨U+200B⟩ " + strings.Repeat("x", 20_000) + " ; rm -rf /"} {
		if !strings.Contains(a.Context, want) {
			t.Errorf("no %q in %d bytes: %.200s", want, len(a.Context), a.Context)
		}
	}
}

// The arguments of a call that waits for approval are in its question, unless a screen would fold them there, or read them
// as markup: then they are whole in the context.
func TestNoArgumentOfAnApprovalIsCut(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		command string
		above   bool
	}{"a short one": {"ls", false}, "a long one": {strings.Repeat("x", 20_000) + " ; rm -rf /", true}, "one with marks": {"echo `id`", true}} {
		a, _, err := in(t, "langchain").Ask([]byte(`{"action_requests":[{"name":"run","args":{"command":"` + c.command + `"}}],"review_configs":[{"action_name":"run","allowed_decisions":["approve","reject"]}]}`))
		if err != nil {
			t.Fatal(err)
		}
		if text := a.Questions[0].Text; strings.Contains(a.Context, c.command) != c.above || strings.Contains(text, c.command) == c.above || !strings.Contains(text, "run") {
			t.Errorf("%s: the question is %.200q, the context %.200q", name, text, a.Context)
		}
	}
}

// A file that no ask can have is named, and does not keep the question from people.
func TestFilesThatNoAskCanHave(t *testing.T) {
	t.Parallel()
	part := func(name, raw string) string {
		return fmt.Sprintf(`,{"raw":%q,"filename":%q}`, raw, name)
	}
	parts := part("a.gif", base64.StdEncoding.EncodeToString([]byte("GIF89a\x00"))) + part("b.png", "%%%") + part("c.svg", base64.StdEncoding.EncodeToString([]byte("<svg onload='alert(1)'/>")))
	for i := range ask.MaxFiles {
		parts += part(fmt.Sprintf("%d.txt", i), base64.StdEncoding.EncodeToString([]byte{'0' + byte(i)}))
	}
	a, uploads, warnings, err := in(t, "a2a").AskFiles([]byte(`{"message":{"messageId":"m1","parts":[{"text":"Ship it?"}` + parts + `]}}`))
	if err != nil || len(a.Files) != ask.MaxFiles || len(uploads) != ask.MaxFiles || a.Files[0].MediaType != ask.MediaText {
		t.Fatalf("%v, %v", err, a.Files)
	}
	if !strings.HasSuffix(a.Context, ": a.gif, b.png, 7.txt") {
		t.Errorf("context %q", a.Context)
	}
	said := lines(warnings)
	for _, want := range []string{"/message/parts/1: ", "/message/parts/2: is not base64", "/message/parts/11: is more than the 8 files"} {
		if !strings.Contains(said, want) {
			t.Errorf("no warning %q in\n%s", want, said)
		}
	}
}

// However many files a request has, an ask gets the work of eight: one file twice is one, and what does not fit into the
// context is not named there.
func TestManyFilesInARequest(t *testing.T) {
	t.Parallel()
	d := in(t, "a2a")
	same := strings.Repeat(`,{"raw":"cGxhbg==","filename":"plan.txt"}`, 500)
	if a, uploads, _, err := d.AskFiles([]byte(`{"message":{"parts":[{"text":"Ship it?"}` + same + `]}}`)); err != nil || len(a.Files) != 1 || len(uploads) != 1 {
		t.Errorf("one file 500 times: %v, %d files, %d uploads", err, len(a.Files), len(uploads))
	}
	far := strings.Repeat(`,{"url":"https://example.com/x.png","filename":"far.png"}`, 500)
	a, _, _, err := d.AskFiles([]byte(`{"message":{"parts":[{"text":"Ship it?"}` + far + `]}}`))
	if err != nil || strings.Count(a.Context, "far.png") != 20 || !strings.HasSuffix(a.Context, ", …") {
		t.Errorf("500 files elsewhere: %v, %q", err, a.Context)
	}
	full := strings.Repeat("x", ask.MaxLong-10)
	a, _, _, err = d.AskFiles([]byte(`{"message":{"parts":[{"data":{"context":"` + full + `","questions":[{"text":"Ship it?","kind":"boolean"}]}}` + far + `]}}`))
	if err != nil || a.Context != full {
		t.Errorf("beside a context that is nearly full: %v, %d bytes", err, len(a.Context))
	}
	_, err = d.Reply(bigAsk(t, pick("a b")), []byte(`{"message":{"parts":[{"text":"2"}`+same+`]}}`))
	if said := problems(t, err); !strings.HasSuffix(strings.TrimSpace(said), "/message/parts/9: has 500 files; use at most 8") {
		t.Errorf("a reply with 500 files: %s", said)
	}
}

// A screen of A2A answers with a file; what is none is refused where it is.
func TestARepliedFile(t *testing.T) {
	t.Parallel()
	_, encoded := pixel(t)
	a, d := bigAsk(t, pick("a b")), in(t, "a2a")
	given, err := d.Reply(a, []byte(`{"message":{"parts":[{"text":"2"},{"raw":"`+encoded+`","filename":"mine.png"}]}}`))
	if err != nil || len(given.Files) != 1 || len(given.Reply.Answers) != 1 || len(given.Reply.Answers[0].Files) != 1 || given.Reply.Answers[0].Files[0].Name != "mine.png" {
		t.Fatalf("%v, %+v", err, given.Reply)
	}
	_, err = d.Reply(a, []byte(`{"message":{"parts":[{"text":"2"},{"url":"https://example.com/x.png"},{"raw":"R0lGODlhAA=="}]}}`))
	if said := problems(t, err); !strings.Contains(said, "/message/parts/1") || !strings.Contains(said, "/message/parts/2") {
		t.Errorf("%s", said)
	}
	// The task of the outcome carries the file as bytes or as an address, in both versions.
	o := ask.Outcome{AskID: a.ID, Status: ask.StatusAnswered, Source: ask.SourceHuman, By: asktest.Mei, At: asktest.Asked, Ask: a, Answers: given.Reply.Answers}
	for _, c := range []struct {
		data []byte
		url  string
		now  string
		then string
	}{
		{given.Files[0].Data, "", `{"raw":"` + encoded + `","filename":"mine.png","mediaType":"image/png"}`, `{"file":{"bytes":"` + encoded + `","mimeType":"image/png","name":"mine.png"},"kind":"file"}`},
		{nil, "http://bus/f", `{"url":"http://bus/f","filename":"mine.png","mediaType":"image/png"}`, `{"file":{"mimeType":"image/png","name":"mine.png","uri":"http://bus/f"},"kind":"file"}`},
	} {
		task := dialect.A2ATask(a, &o, "", func(*ask.File) ([]byte, string) { return c.data, c.url })
		old, err := dialect.A2AVersion03(task)
		if err != nil || !strings.Contains(string(task), c.now) || !strings.Contains(string(old), c.then) || !json.Valid(task) {
			t.Errorf("%v\n%s\n%s", err, task, old)
		}
	}
}

// A permission that is too long for the context of an ask is a file, and refused where nobody uploads it.
func TestALongPermissionIsAFile(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 100_000) + "END" + strings.Repeat("y", 100_000)
	for name, body := range map[string]string{
		"acp-permission": `{"sessionId":"s1","toolCall":{"toolCallId":"t1","title":"Run","rawInput":{"command":"` + long + `"}},"options":[{"optionId":"y","name":"Yes","kind":"allow_once"},{"optionId":"n","name":"No","kind":"reject_once"}]}`,
		"ai-sdk":         `[{"type":"tool-call","toolCallId":"c1","toolName":"publish","input":{"page":"` + long + `"}},{"type":"tool-approval-request","approvalId":"p1","toolCallId":"c1"}]`,
		"langchain":      `[{"id":"i1","value":{"actionRequests":[{"name":"run","args":{"command":"` + long + `"}}],"reviewConfigs":[{"actionName":"run","allowedDecisions":["approve","reject"]}]}}]`,
		"langgraph":      `[{"action_request":{"action":"run","args":{"command":"` + long + `"}},"config":{"allow_accept":true,"allow_ignore":true,"allow_edit":false,"allow_respond":false}}]`,
		"eve":            `{"requestId":"r1","kind":"tool-approval","prompt":"Run it?","action":{"kind":"tool-call","callId":"c1","toolName":"run","input":{"command":"` + long + `"}},"options":[{"id":"approve","label":"Approve"},{"id":"deny","label":"Deny"}]}`,
		"ag-ui":          `[{"id":"i1","reason":"tool_call","message":"Run it?","toolCallId":"c1","metadata":{"toolName":"run","toolArgs":{"command":"` + long + `"}}}]`,
	} {
		d := in(t, name)
		a, uploads, _, err := d.AskFiles([]byte(body))
		if err != nil || len(uploads) != 1 || len(a.Files) != 1 || !strings.Contains(string(uploads[0].Data), long) {
			t.Errorf("%s: %v, %d files", name, err, len(uploads))
			continue
		}
		if !strings.HasPrefix(a.Context, "This is too long to be shown whole here. All of it is in the file `call.txt`") || !a.Permits() {
			t.Errorf("%s: context %.200s", name, a.Context)
		}
		if whole, err := json.Marshal(a); err != nil || len(whole) > ask.MaxEventBytes/2 {
			t.Errorf("%s: the ask has %d bytes, %v", name, len(whole), err)
		}
		if screen, _ := d.Show(&a); (name == "ai-sdk" || name == "langchain" || name == "eve") && !strings.Contains(string(screen), "All of it is in the file") {
			t.Errorf("%s: a screen is shown %.200s", name, screen)
		}
		if _, _, err := d.Ask([]byte(body)); err == nil {
			t.Errorf("%s: asked without its file", name)
		}
	}
}
