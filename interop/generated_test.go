package interop_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/askbus/askbus/pkg/ask"
)

const described = "../internal/asking/gateway/openapi.yaml"

// generated is a directory with the programs in interop/generated, in which packages are found.
func generated(t *testing.T) string {
	t.Helper()
	if _, err := os.Stat("node_modules/openapi-typescript"); err != nil {
		t.Fatal("the generators are not installed: run npm ci in interop, as make test does")
	}
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS("generated")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "package.json"), []byte(`{"private": true, "type": "module"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	packages, err := filepath.Abs("node_modules")
	if err == nil {
		err = os.Symlink(packages, filepath.Join(dir, "node_modules"))
	}
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func node(t *testing.T, args ...string) string {
	t.Helper()
	out, err := exec.Command("node", args...).CombinedOutput()
	if err != nil {
		t.Fatalf("node %v: %v: %s", args, err, out)
	}
	return string(out)
}

// TestAClientOfOpenAPITypeScript asks with types that openapi-typescript makes of the description.
func TestAClientOfOpenAPITypeScript(t *testing.T) {
	t.Parallel()
	dir := generated(t)
	node(t, filepath.Join(dir, "types.mjs"), described, filepath.Join(dir, "api.d.ts"))
	tsc(t, dir, "fetch.mjs")
	b := up(t)
	p := b.start(b.issue("--session", "*"), "", nil, "node", filepath.Join(dir, "fetch.mjs"))
	b.choose(b.next(), "b")
	need(t, p.end(), `{"status":200,"ends":"answered","answers":[{"question_id":"db",`, `"selected":["b"]`, `{"read":200,"state":"resolved"}`, `{"none":"not_found"}`)
}

// TestAClientOfHeyAPI asks with a whole client that another generator makes.
func TestAClientOfHeyAPI(t *testing.T) {
	t.Parallel()
	dir := generated(t)
	node(t, filepath.Join(dir, "sdk.mjs"), described, filepath.Join(dir, "client"))
	tsc(t, dir, "--noEmit", "false", "sdk.ts")
	b := up(t)
	p := b.start(b.issue("--session", "*"), "", nil, "node", filepath.Join(dir, "sdk.js"))
	b.choose(b.next(), "b")
	need(t, p.end(), `{"status":200,"ends":"answered",`, `"selected":["b"]`, `{"none":"not_found"}`)
}

// TestPythonTypesOfQuicktype asks with Python types that quicktype makes of the description: every request and response is
// equal to what they read of it.
func TestPythonTypesOfQuicktype(t *testing.T) {
	t.Parallel()
	dir := generated(t)
	node(t, filepath.Join(dir, "python.mjs"), described, filepath.Join(dir, "models.py"))
	b := up(t)
	p := b.start(b.issue("--session", "*"), "", nil, "python3", filepath.Join(dir, "ask.py"))
	yes := true
	for range 2 {
		rec := b.next()
		answers := []ask.Answer{{QuestionID: "db", Boolean: &yes}}
		if rec.Ask.Approval == nil {
			answers = []ask.Answer{
				{QuestionID: "db", Selected: []string{"b"}, Notes: "small"},
				{QuestionID: "words", Text: "Grüße"},
				{QuestionID: "n", Number: new(2.5)},
				{QuestionID: "yes", Boolean: &yes},
				{QuestionID: "day", Date: "2028-02-29"},
			}
		}
		if _, err := b.screen.Answer(t.Context(), rec.Ask.Key(), ask.Reply{By: ask.By{Principal: "os:mei", Name: "Mei", Proof: ask.ProofOS}, Answers: answers}); err != nil {
			t.Fatal(err)
		}
	}
	need(t, p.end(), "pending resolved answered [(['b'], 'small'), ('Grüße', None), (2.5, None), (True, None), ('2028-02-29', None)", "pending resolved answered [(True, None)] ['approve']", "not_found", "/questions/0/text")
}

// TestAsyncAPIIsRead reads the description of NATS with the parser of the AsyncAPI project, also where
// the documentation has it.
func TestAsyncAPIIsRead(t *testing.T) {
	t.Parallel()
	generated(t)
	for _, at := range []string{"../internal/asking/gateway/asyncapi.yaml", "../docs/asyncapi.yaml"} {
		if out := node(t, "generated/async.mjs", at); out != "" {
			t.Errorf("%s: %s", at, out)
		}
	}
}
