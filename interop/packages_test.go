package interop_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/askbus/askbus/internal/cli"
	"github.com/askbus/askbus/pkg/ask"
)

//go:generate node ../pkg/typescript/generate.mjs

// ours are the packages for other languages as they are published: packed, and
// installed into an empty project without network.
type ours struct {
	dir    string
	python string // what PYTHONPATH needs
	sizes  string // what packing printed
}

func (o ours) node() string { return filepath.Join(o.dir, "node_modules", "askbus") }

// installedDir is the directory of installed, for TestMain to remove.
var installedDir string

var installed = sync.OnceValues(func() (ours, error) {
	dir, err := os.MkdirTemp("", "askbus-packages")
	if err != nil {
		return ours{}, err
	}
	installedDir = dir
	o := ours{dir: dir, python: filepath.Join(dir, "site")}
	run := func(name string, args ...string) error {
		cmd := exec.Command(name, args...)
		if name != "../hack/packages" {
			cmd.Dir = dir
		}
		out, err := cmd.CombinedOutput()
		if err != nil {
			return fmt.Errorf("%s %s: %w: %s", name, strings.Join(args, " "), err, out)
		}
		o.sizes += string(out)
		return nil
	}
	if err := run("../hack/packages", dir); err != nil {
		return o, err
	}
	if err := os.WriteFile(filepath.Join(dir, "package.json"), []byte(`{"private": true, "type": "module"}`), 0o600); err != nil {
		return o, err
	}
	sizes := o.sizes
	if err := run("npm", "install", "--offline", "--no-audit", "--no-fund", "./askbus-0.0.0.tgz"); err != nil {
		return o, err
	}
	err = run("python3", "-m", "pip", "install", "--no-index", "--no-deps", "--quiet", "--disable-pip-version-check", "--target", o.python, "askbus-0.0.0-py3-none-any.whl")
	o.sizes = sizes
	return o, err
})

func packages(t *testing.T) ours {
	t.Helper()
	if _, err := os.Stat("node_modules/.bin/tsc"); err != nil {
		t.Fatal("TypeScript is not installed: run npm ci in interop, as make test does")
	}
	o, err := installed()
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// command is a program in the project, with an address and a token.
func (o ours) command(b *bus, token, name string, args ...string) *exec.Cmd {
	cmd := exec.Command(name, args...)
	cmd.Dir = o.dir
	cmd.Env = append(os.Environ(), "ASKBUS_HTTP_URL="+b.url, "ASKBUS_TOKEN="+token, "PYTHONPATH="+o.python)
	cmd.Stderr = os.Stderr
	return cmd
}

// agents returns how the agents in interop/packages are started, by language.
func (o ours) agents(t *testing.T) map[string][]string {
	t.Helper()
	if err := os.CopyFS(filepath.Join(o.dir, t.Name()), os.DirFS("packages")); err != nil {
		t.Fatal(err)
	}
	return map[string][]string{
		"TypeScript": {"node", filepath.Join(t.Name(), "agent.mjs")},
		"Python":     {"python3", filepath.Join(t.Name(), "agent.py")},
	}
}

func TestTypesOfThePackageFollowTheSchemas(t *testing.T) {
	t.Parallel()
	if out, err := exec.Command("node", "../pkg/typescript/generate.mjs", "--check").CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
}

func TestPackagesAreSmall(t *testing.T) {
	t.Parallel()
	sizes := packages(t).sizes
	t.Log(sizes)
	for language, limit := range map[string]int{"TypeScript": 12_000, "Python": 600} {
		m := regexp.MustCompile(language + `: (\d+) `).FindStringSubmatch(sizes)
		if m == nil {
			t.Fatalf("no size of %s in %q", language, sizes)
		}
		if n, _ := strconv.Atoi(m[1]); n > limit {
			t.Errorf("the package for %s has %d, of at most %d", language, n, limit)
		}
	}
}

func TestAnswersAreTyped(t *testing.T) {
	t.Parallel()
	o := packages(t)
	data, err := os.ReadFile("packages/types.ts")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(o.dir, "types.ts"), data, 0o600); err != nil {
		t.Fatal(err)
	}
	tsc(t, o.dir, "types.ts")
	out, err := exec.Command("node", filepath.Join(frameworks(t), "zod.mjs")).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	need(t, string(out), "{ host: 'A.EXAMPLE', port: 8080 }", "unfit 99999 1")
}

// TestAnswersAreTypedForPython checks with pyright, strictly, what a program
// sees of the package, that it sees nothing without a type, and that the types
// are those of what runs.
func TestAnswersAreTypedForPython(t *testing.T) {
	t.Parallel()
	o := packages(t)
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS("packages")); err != nil {
		t.Fatal(err)
	}
	o.pyright(t, dir, "strict", "typed.py")
	o.pyright(t, dir, "strict", "--verifytypes", "askbus", "--ignoreexternal")
	cmd := exec.Command("python3", "-B", "packages/stub.py")
	cmd.Env = append(os.Environ(), "PYTHONPATH="+o.python)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
}

// pyright runs it in a directory, in one of its modes.
func (o ours) pyright(t *testing.T, dir, mode string, args ...string) {
	t.Helper()
	checker, err := filepath.Abs("node_modules/.bin/pyright")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "pyrightconfig.json"), []byte(`{"typeCheckingMode": "`+mode+`"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(checker, args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "PYTHONPATH="+o.python)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
}

// tsc checks the types of files.
func tsc(t *testing.T, dir string, files ...string) {
	t.Helper()
	compiler, err := filepath.Abs("node_modules/.bin/tsc")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(compiler, append([]string{
		"--noEmit", "--strict", "--allowJs", "--checkJs", "--module", "nodenext", "--target", "es2022", "--lib", "es2023,dom,dom.iterable,dom.asynciterable", "--typeRoots", "none",
	}, files...)...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
}

func TestAPydanticModelComesBackFilled(t *testing.T) {
	t.Parallel()
	o := packages(t)
	python := ""
	for _, name := range []string{"python3", "/usr/bin/python3"} { // Debian's package is for Debian's Python
		if python == "" && exec.Command(name, "-c", "import pydantic").Run() == nil {
			python = name
		}
	}
	if python == "" {
		t.Fatal("Pydantic is not installed: run hack/deps, as make test does")
	}
	for _, version := range []string{"v1", "newest"} {
		cmd := exec.Command(python, "-B", "packages/model.py", version)
		cmd.Env = append(os.Environ(), "PYTHONPATH="+o.python)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		need(t, string(out), "Database.LITE 3 1.0 2026-12-01 ['blue', 'green'] None 5432",
			`["db", "choice", "Which database?", true, null, null]`, `["replicas", "number", "Replicas?", true, {"min": 1, "max": 9, "integer": true}, null]`,
			`["note", "text", "Note?", false, {"max_length": 20}, null]`, "Unfit {'number': 3} True False")
	}
}

// everyKind answers what the agents of each package ask with "kinds".
func (b *bus) everyKind(rec *ask.Record) {
	b.t.Helper()
	if _, err := b.screen.Answer(b.t.Context(), rec.Ask.Key(), ask.Reply{By: ask.By{Principal: "os:mei", Name: "Mei", Proof: ask.ProofOS}, Answers: []ask.Answer{
		{QuestionID: "one", Selected: []string{"lite"}, Notes: "keep backups"},
		{QuestionID: "some", Selected: []string{"pg", "lite"}, Other: "DuckDB"},
		{QuestionID: "own", Other: "none, really"},
		{QuestionID: "words", Text: "Grüße 你好 \"x\" \\ 🚀\n  second "},
		{QuestionID: "share", Number: new(0.30000000000000004)},
		{QuestionID: "large", Number: new(9007199254740991.0)},
		{QuestionID: "no", Boolean: new(false)},
		{QuestionID: "day", Date: "2028-02-29"},
	}, Response: "and hurry"}); err != nil {
		b.t.Error(err)
	}
}

// saysOfEveryKind returns what the agents print then, by language.
func saysOfEveryKind() map[string]string {
	return map[string]string{
		"TypeScript": `["answered",{"one":"lite","some":["pg","lite",{"other":"DuckDB"}],"own":{"other":"none, really"},"words":"Grüße 你好 \"x\" \\ 🚀\n  second ","share":0.30000000000000004,"large":9007199254740991,"no":false,"day":"2028-02-29"},"Mei","one: keep backups\nand hurry"]`,
		"Python":     `{'one': 'lite', 'some': ['pg', 'lite', Other(text='DuckDB')], 'own': Other(text='none, really'), 'words': 'Grüße 你好 "x" \\ 🚀\n  second ', 'share': 0.30000000000000004, 'large': 9007199254740991, 'no': False, 'day': datetime.date(2028, 2, 29), 'left': None} Mei keep backups`,
	}
}

func TestPackagesReturnExactAnswersOfEveryKind(t *testing.T) {
	t.Parallel()
	o, b := packages(t), up(t)
	for language, agent := range o.agents(t) {
		cmd := o.command(b, b.token(language), agent[0], agent[1], `{"do": "kinds"}`)
		done := make(chan string, 1)
		go func() {
			out, err := cmd.Output()
			if err != nil {
				t.Errorf("%s: %v", language, err)
			}
			done <- strings.TrimSpace(string(out))
		}()
		rec := b.next()
		if rec.Ask.Agent.Name != "tester" {
			t.Errorf("%s: asked by %+v", language, rec.Ask.Agent)
		}
		b.everyKind(&rec)
		if got, want := <-done, "asked\n"+saysOfEveryKind()[language]; got != want {
			t.Errorf("%s:\n got %s\nwant %s", language, got, want)
		}
	}
}

func TestPackagesAskForApprovals(t *testing.T) {
	t.Parallel()
	o, b := packages(t), up(t)
	for language, agent := range o.agents(t) {
		p := b.start(b.token(language), "", []string{"PYTHONPATH=" + o.python}, agent[0], filepath.Join(o.dir, agent[1]), `{"do": "approval"}`)
		rec := b.next()
		if a := rec.Ask.Approval; a == nil || len(a.AnyOf) != 1 || len(rec.Ask.Exclude) != 1 || len(rec.Ask.Files) != 1 || rec.Ask.Files[0].Name != "plan.txt" {
			t.Errorf("%s asked %+v", language, rec.Ask)
		}
		if _, err := b.screen.Answer(t.Context(), rec.Ask.Key(), ask.Reply{By: ask.By{Principal: "os:mei", Proof: ask.ProofOS}, Answers: []ask.Answer{{QuestionID: "answer", Boolean: new(true)}}}); err != nil {
			t.Error(err)
		}
		need(t, p.end(), map[string]string{"TypeScript": "answered true", "Python": "True"}[language])
	}
}

func TestWebhooksAreVerified(t *testing.T) {
	t.Parallel()
	o := packages(t)
	o.agents(t)
	const valid, refused = "msg_p5jXN8AQM9LWM0D4loKWxJek 2432232314", "AskbusError forbidden "
	for _, program := range [][]string{{"node", "webhook.mjs"}, {"python3", "webhook.py"}} {
		cmd := o.command(&bus{}, "", program[0], filepath.Join(t.Name(), program[1]))
		out, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		need(t, "\n"+string(out), "\nvector "+valid, "\nrequest "+valid, "\nrotated "+valid, "\nbody "+refused, "\nid "+refused, "\nsecret "+refused,
			"\nold "+refused, "\nearly "+refused, "\nnan "+refused, "\nheader "+refused, `the secret of a webhook is "whsec_" and base64`)
	}
}

// TestMistakesAreToldAtOnce: an option that is dropped unseen, such as a misspelt proof, asks for less than was meant.
func TestMistakesAreToldAtOnce(t *testing.T) {
	t.Parallel()
	o := packages(t)
	o.agents(t)
	for program, says := range map[string][]string{
		"node faults.mjs":   {`address TypeError invalid address "localhost:8420"`, "option TypeError unknown: min_proof; give ", "field TypeError unknown: maximum; give ", "form TypeError unknown: at_deadline; give ", "decide Nobody decided: no room for files", "cut call true"},
		"python3 faults.py": {"address ValueError invalid address 'localhost:8420'", "option TypeError unknown: minProof; an ask has ", "decide Nobody decided: no room for files", "half True 1"},
	} {
		name, file, _ := strings.Cut(program, " ")
		out, err := o.command(&bus{}, "fake", name, filepath.Join(t.Name(), file)).Output()
		if err != nil {
			t.Fatal(err)
		}
		need(t, "\n"+string(out)+"\n", append(says, "\nall nothing\n", "\ncut nothing\n", "\ntwice AskbusError unknown token\n", "\nmoved AskbusError the response is not of askbus: 301 to /there\n", "\naway AskbusError the response is not of askbus: 500\n")...)
	}
}

// TestAgentsAndBusAreKilledWhileTheyWait kills the agents of both packages, and
// then the bus, with SIGKILL, and starts them again: each question is asked
// once, and its answer arrives, with an id and without, in every kind, and also
// that of an agent that asks while the bus is away.
func TestAgentsAndBusAreKilledWhileTheyWait(t *testing.T) {
	t.Parallel()
	o := packages(t)
	b, process, at := killable(t)

	type running struct {
		cmd   *exec.Cmd
		lines *bufio.Scanner
	}
	tokens := map[string]string{} // by session
	plans := map[string][]string{}
	for language, agent := range o.agents(t) {
		for name, plan := range map[string]string{"named": `{"do": "wait", "id": "ticket/1"}`, "unnamed": `{"do": "wait"}`, "kinds": `{"do": "kinds"}`, "late": `{"do": "wait", "id": "late"}`} {
			session := language + "-" + name
			tokens[session] = b.token(session)
			plans[session] = append(agent, plan)
		}
	}
	loop := b.start(b.token("loop"), "", nil, "python3", "../examples/python/ask.py", "loop")
	launch := func(session string) running {
		cmd := o.command(b, tokens[session], plans[session][0], plans[session][1:]...)
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
		return running{cmd, bufio.NewScanner(out)}
	}
	says := func(session string, r running, want string) {
		t.Helper()
		if !r.lines.Scan() || !strings.Contains(r.lines.Text(), want) {
			t.Fatalf("%s said %q, want %s", session, r.lines.Text(), want)
		}
	}
	start := func() map[string]running {
		all := map[string]running{}
		for session := range plans {
			if !strings.HasSuffix(session, "-late") {
				all[session] = launch(session)
			}
		}
		for session, r := range all {
			says(session, r, "asked")
		}
		return all
	}
	for _, r := range start() {
		_ = r.cmd.Process.Kill()
		_ = r.cmd.Wait()
	}
	again := start()
	_ = process.Process.Kill()
	_ = process.Wait()
	late := map[string]running{} // they ask while the bus is away
	tried := make(chan string, 100)
	away := &http.Server{Addr: strings.TrimPrefix(at.HTTPURL, "http://"), Handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			tried <- strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
		}
		panic(http.ErrAbortHandler) // the connection breaks
	})}
	socket, err := net.Listen("tcp", away.Addr)
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = away.Serve(socket) }()
	missing := map[string]bool{}
	for session := range plans {
		if strings.HasSuffix(session, "-late") {
			late[session] = launch(session)
			missing[tokens[session]] = true
		}
	}
	for len(missing) > 0 {
		delete(missing, <-tried)
	}
	if err := away.Close(); err != nil {
		t.Error(err)
	}
	b.process(strings.TrimPrefix(at.NATSURL, "nats://"), strings.TrimPrefix(at.HTTPURL, "http://"))

	b.attend()
	asked := map[string]int{} // by session
	for len(asked) < len(plans)+1 {
		rec := b.next()
		asked[rec.Ask.Session]++
		if strings.HasSuffix(rec.Ask.Session, "-kinds") {
			b.everyKind(&rec)
			continue
		}
		reply := ask.Reply{By: ask.By{Principal: "os:mei", Proof: ask.ProofOS}, Answers: []ask.Answer{{QuestionID: "answer", Text: "for " + rec.Ask.Session}}}
		if rec.Ask.Session == "loop" {
			reply.Answers = []ask.Answer{{QuestionID: "n", Number: new(3.0)}}
		}
		if _, err := b.screen.Answer(t.Context(), rec.Ask.Key(), reply); err != nil {
			t.Error(err)
		}
	}
	need(t, loop.end(), `answered [{"question_id": "n", "number": 3}]`)
	for session, r := range late {
		says(session, r, "asked")
		again[session] = r
	}
	for session, r := range again {
		want := `"for ` + session + `"`
		if language, kinds := strings.CutSuffix(session, "-kinds"); kinds {
			want = saysOfEveryKind()[language]
		}
		says(session, r, want)
		if err := r.cmd.Wait(); err != nil {
			t.Errorf("%s: %v", session, err)
		}
	}
	var all struct {
		Items []any `json:"items"`
	}
	if err := json.Unmarshal(b.request(b.issue("--role", "responder"), http.MethodGet, "/v1/asks", ""), &all); err != nil || len(all.Items) != len(asked) {
		t.Errorf("%v: people were asked %d times, of %v", err, len(all.Items), asked)
	}
}

// TestTheReferencesOfAsyncAPIAreInTheCheckout follows the references of
// docs/asyncapi.yaml to other files.
func TestTheReferencesOfAsyncAPIAreInTheCheckout(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("../docs/asyncapi.yaml")
	if err != nil {
		t.Fatal(err)
	}
	refs := regexp.MustCompile(`\$ref: "?([^#"][^"# }]*)`).FindAllSubmatch(data, -1)
	for _, ref := range refs {
		if _, err := os.Stat(filepath.Join("../docs", string(ref[1]))); err != nil {
			t.Error(err)
		}
	}
	if len(refs) < 10 {
		t.Errorf("only %d references", len(refs))
	}
}

// TestTheLoopOfTheDocsIsTheExample compares the snippet with the program that
// the tests run.
func TestTheLoopOfTheDocsIsTheExample(t *testing.T) {
	t.Parallel()
	docs, err := os.ReadFile("../docs/http.md")
	if err != nil {
		t.Fatal(err)
	}
	example, err := os.ReadFile("../examples/python/ask.py")
	if err != nil {
		t.Fatal(err)
	}
	snippet := regexp.MustCompile("(?s)```python\n(.*?)```").FindSubmatch(docs)
	if snippet == nil || !bytes.Contains(example, snippet[1]) {
		t.Error("the loop in docs/http.md is not that of examples/python/ask.py")
	}
}

// killable starts "askbus up" as a process, without a surface.
func killable(t *testing.T) (*bus, *exec.Cmd, cli.Context) {
	t.Helper()
	b := &bus{t: t, dir: t.TempDir(), asked: make(chan ask.Record, 100), ended: make(chan ask.Record, 100)}
	var err error
	if b.binary, err = binary(); err != nil {
		t.Fatal(err)
	}
	process := b.process("127.0.0.1:0", "127.0.0.1:0")
	at, err := cli.ReadContext(b.dir)
	if err != nil {
		t.Fatal(err)
	}
	b.url = at.HTTPURL
	return b, process, at
}

// process starts "askbus up" at these addresses.
func (b *bus) process(nats, http string) *exec.Cmd {
	b.t.Helper()
	cmd := exec.Command(b.binary, "up", "--dir", b.dir, "--nats-addr", nats, "--http-addr", http, "--no-open")
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		b.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() {
		if cmd.Process.Signal(syscall.SIGTERM) == nil {
			_ = cmd.Wait()
		}
	})
	lines := bufio.NewReader(out)
	for line := ""; !strings.Contains(line, "askbus is up"); {
		if line, err = lines.ReadString('\n'); err != nil {
			b.t.Fatalf("askbus up did not say that it is: %v", err)
		}
	}
	go func() { _, _ = io.Copy(io.Discard, lines) }()
	return cmd
}

// request sends a request with a token and returns the body.
func (b *bus) request(token, method, path, body string) []byte {
	b.t.Helper()
	req, err := http.NewRequestWithContext(b.t.Context(), method, b.url+path, strings.NewReader(body))
	if err != nil {
		b.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+token)
	req.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		b.t.Fatal(err)
	}
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode >= 300 {
		b.t.Fatalf("%s %s: %s %v: %s", method, path, res.Status, err, data)
	}
	return data
}

// TestReadmesOfThePackagesRunAsPasted runs the snippets of each README, in
// order, in an empty project. What follows an arrow in a comment is what the
// line prints.
func TestReadmesOfThePackagesRunAsPasted(t *testing.T) {
	t.Parallel()
	o, b := packages(t), up(t)
	go b.oblige()
	for _, c := range []struct{ readme, fence, program, extension, install, instead string }{
		{"../pkg/typescript/README.md", "js", "node", ".mjs", "npm install askbus", "ln -s " + filepath.Join(o.dir, "node_modules") + " ."},
		{"../pkg/python/README.md", "python", "python3", ".py", "pip install askbus", "export PYTHONPATH=" + o.python},
	} {
		text, err := os.ReadFile(c.readme)
		if err != nil {
			t.Fatal(err)
		}
		dir := t.TempDir()
		snippets := regexp.MustCompile("(?ms)^```(sh|"+c.fence+")\n(.*?)^```$").FindAllStringSubmatch(string(text), -1)
		script := "set -e\naskbus() { '" + b.binary + "' \"$@\"; }\n"
		var files, want []string
		for i, s := range snippets {
			if s[1] == "sh" {
				script += strings.NewReplacer(c.install, c.instead, "http://127.0.0.1:8420", b.url, "build-42", "readme-"+c.fence).Replace(s[2])
				continue
			}
			name := fmt.Sprintf("snippet-%d%s", i, c.extension)
			if err := os.WriteFile(filepath.Join(dir, name), []byte(s[2]), 0o600); err != nil {
				t.Fatal(err)
			}
			files = append(files, name)
			script += c.program + " " + name + "\n"
			for _, line := range regexp.MustCompile(`(?m)(?://|#) → (.*)$`).FindAllStringSubmatch(s[2], -1) {
				want = append(want, line[1])
			}
		}
		cmd := exec.Command("bash", "-c", script)
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "ASKBUS_DIR="+b.dir)
		var failure bytes.Buffer
		cmd.Stderr = &failure
		out, err := cmd.Output()
		if err != nil {
			t.Errorf("%s: %v: %s", c.readme, err, failure.String())
		}
		if got := strings.TrimSpace(string(out)); len(files) < 5 || got != strings.Join(want, "\n") {
			t.Errorf("%s prints\n%s\nand says that it prints\n%s", c.readme, got, strings.Join(want, "\n"))
		}
		if c.fence == "js" {
			tsc(t, dir, files...)
		} else {
			o.pyright(t, dir, "standard", files...)
		}
	}
}

// oblige answers everything but what a README wants to expire or withdraws.
func (b *bus) oblige() {
	for {
		var rec ask.Record
		select {
		case rec = <-b.asked:
		case <-b.ended:
			continue
		case <-b.t.Context().Done():
			return
		}
		reply := ask.Reply{By: ask.By{Principal: "os:mei", Name: "Mei", Proof: ask.ProofOS}}
		unwanted := false
		for _, q := range rec.Ask.Questions {
			unwanted = unwanted || rec.Ask.ID == "nobody" || rec.Ask.ID == "moot" || q.Text == "Moot?"
			a := ask.Answer{QuestionID: q.ID}
			switch q.Kind {
			case ask.KindChoice:
				a.Selected = []string{q.Options[0].ID}
			case ask.KindNumber:
				a.Number = new(3.0)
			case ask.KindBoolean:
				a.Boolean = new(true)
			case ask.KindDate:
				a.Date = "2026-12-01"
			case ask.KindText:
				a.Text = "ledger"
			}
			reply.Answers = append(reply.Answers, a)
		}
		if unwanted {
			continue
		}
		if _, err := b.screen.Answer(b.t.Context(), rec.Ask.Key(), reply); err != nil && b.t.Context().Err() == nil {
			b.t.Errorf("%s: %v", rec.Ask.ID, err)
		}
	}
}
