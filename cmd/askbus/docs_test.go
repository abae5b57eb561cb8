package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"unicode/utf8"

	"github.com/askbus/askbus/internal/testkit/waittest"
)

// shellBlock is a shell block of a page, with the options of the comment before it:
//
//	<!-- background, until: COMMAND -->   runs until the test ends; COMMAND succeeds when it is ready
//	<!-- answered with: REPLY -->         waits for a person, who sends this reply
//	<!-- exits: CODE -->                  exits with this code; default 0
//	<!-- not run: WHY -->                 is not run here; WHY names the test or script that runs it instead, if any
//
// [TestTheCommandLinesOfThePagesParse] parses all of them.
type shellBlock struct {
	line                 int
	text                 string
	until, reply, notRun string
	exits                int
}

var (
	fence      = regexp.MustCompile("(?m)^([ \t]*)```([a-z]*)[^\n]*\n((?s).*?)\n[ \t]*```")
	ourCommand = regexp.MustCompile(`(?m)^[ \t]*(askbus|askbus-lab|curl|docker|export|go|helm|kubectl|make|nats|node|npm) `)
	path       = regexp.MustCompile(`\b(?:cmd|examples|hack|internal|interop|tools)/[a-z_/.-]*[a-z]`)
	note       = regexp.MustCompile(`<!-- (background, until|answered with|exits|not run): (.+?) -->\s*$`)
)

func shellBlocks(t *testing.T, page string) []shellBlock {
	t.Helper()
	raw, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	text := string(raw)
	var all []shellBlock
	for _, m := range fence.FindAllStringSubmatchIndex(text, -1) {
		line := 1 + strings.Count(text[:m[0]], "\n")
		if language := text[m[4]:m[5]]; language != "sh" {
			checkUnrun(t, fmt.Sprintf("%s:%d", page, line), language, text[m[6]:m[7]])
			continue
		}
		b := shellBlock{line: line, text: strings.ReplaceAll(text[m[6]:m[7]], "\n"+text[m[2]:m[3]], "\n")}
		if says := note.FindStringSubmatch(text[:m[0]]); says != nil {
			switch says[1] {
			case "background, until":
				b.until = says[2]
			case "answered with":
				b.reply = says[2]
			case "not run":
				b.notRun = says[2]
				for _, name := range path.FindAllString(b.notRun, -1) {
					if _, err := os.Stat(filepath.Join("..", "..", name)); err != nil {
						t.Errorf("%s:%d: the comment says who runs the block: %v", page, line, err)
					}
				}
			case "exits":
				if b.exits, err = strconv.Atoi(says[2]); err != nil {
					t.Fatalf("%s:%d: %v", page, b.line, err)
				}
			}
		}
		all = append(all, b)
	}
	return all
}

// guideSnippets are the shell snippets that tests run one by one, by language and a text that each
// contains.
var guideSnippets = map[string][]string{
	"bash": {"__askbus", "notify-send", "completion bash"},
	"fish": {"__askbus", "completion fish"},
	"tmux": {"status-right", "allow-passthrough"},
	"zsh":  {"__askbus", "completion zsh"},
}

// checkUnrun fails for a block that holds commands, but is neither sh nor one of the snippets.
func checkUnrun(t *testing.T, at, language, text string) {
	t.Helper()
	switch language {
	case "bash", "fish", "tmux", "zsh":
		if !strings.Contains(at, "terminal.md") || !slices.ContainsFunc(guideSnippets[language], func(s string) bool { return strings.Contains(text, s) }) {
			t.Errorf("%s: no test runs this %s: mark it sh, or add a test for it to snippets_test.go", at, language)
		}
	case "", "go", "html", "json", "mermaid", "text", "yaml":
		if ourCommand.MatchString(text) {
			t.Errorf("%s: a block of commands with the language %q is not run: mark it sh", at, language)
		}
	case "js", "python", "ts": // interop: TestReadmesOfThePackagesRunAsPasted and the loop of docs/http.md
	default:
		t.Errorf("%s: no test knows the language %q", at, language)
	}
}

// script returns a script that runs the blocks of a page one after the other in one shell, as a
// reader pastes them.
func script(page string, blocks []shellBlock) string {
	var s strings.Builder
	s.WriteString(`set -uo pipefail
go() { # this test's askbus is on PATH already
	case "$*" in
	"install ./cmd/askbus") ;;
	"run ./cmd/askbus "*) shift 2; askbus "$@" ;;
	*) command go "$@" ;;
	esac
}
until_ok() { for _ in $(seq 600); do "$@" >/dev/null 2>&1 && return; sleep 0.1; done; echo "never ready: $*" >&2; return 1; }
waiting() { askbus list --output json | tr ',' '\n' | sed -n 's/.*"ask":{"id":"\([^"]*\)".*/\1/p' | tail -1; }
pending() { [ -n "$(waiting)" ]; }
trap 'failed=$BASH_COMMAND' ERR
`)
	for _, b := range blocks {
		if b.notRun != "" {
			continue
		}
		fmt.Fprintf(&s, "at=%s:%d; failed=; echo \"== $at\" >&2\n", page, b.line)
		switch {
		case b.until != "":
			fmt.Fprintf(&s, "{ %s\n} & \nuntil_ok %s || exit 1\n", b.text, b.until)
		case b.reply != "":
			fmt.Fprintf(&s, "{ %s\n} & asked=$!\nuntil_ok pending || exit 1\naskbus answer \"$(waiting)\" --reply %s || exit 1\nwait $asked\n", b.text, b.reply)
		default:
			s.WriteString(b.text + "\n")
		}
		if b.until == "" {
			fmt.Fprintf(&s, "code=$?; [ $code = %d ] || { echo \"$at: exit code $code\" >&2; exit 1; }\n", b.exits)
		}
		if b.until == "" && b.exits == 0 {
			s.WriteString("[ -z \"$failed\" ] || { echo \"$at: $failed\" >&2; exit 1; }\n")
		}
	}
	return s.String()
}

// Runs every command of the pages as pasted, in order, unless a comment before its block says why not.
// A page that does not start a bus runs with one already up. With -v it lists the blocks.
func TestTheCommandsOfThePagesRun(t *testing.T) {
	t.Parallel()
	root := filepath.Join("..", "..")
	for _, path := range everyPage(t, root) {
		blocks := shellBlocks(t, path)
		for _, b := range blocks {
			t.Logf("%s:%d: %s", path, b.line, cmp.Or(b.notRun, "run"))
		}
		if !slices.ContainsFunc(blocks, func(b shellBlock) bool { return b.notRun == "" }) {
			continue
		}
		page, err := filepath.Rel(root, path)
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasPrefix(page, "pkg"+string(filepath.Separator)) { // TestReadmesOfThePackagesRunAsPasted of interop
			continue
		}
		t.Run(page, func(t *testing.T) {
			t.Parallel()
			if !slices.ContainsFunc(blocks, func(b shellBlock) bool { return b.until != "" }) {
				blocks = append([]shellBlock{{text: "askbus up", until: "askbus status"}}, blocks...)
			}
			runAsPasted(t, script(page, blocks))
		})
	}
}

// README names, in its first 40 lines, exactly one command that starts askbus and exactly one that runs
// the tests, which is what CI runs.
func TestREADMENamesTheCommandsNearItsTop(t *testing.T) {
	t.Parallel()
	root := filepath.Join("..", "..")
	read := func(name string) string {
		t.Helper()
		raw, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			t.Fatal(err)
		}
		return string(raw)
	}
	lines := strings.Split(read("README.md"), "\n")
	top := strings.Join(lines[:40], "\n")
	starts := regexp.MustCompile(`(?m)\b(?:go run \./cmd/askbus|askbus) up\b`).FindAllString(top, -1)
	if !slices.Equal(starts, []string{"go run ./cmd/askbus up"}) || !strings.Contains(top, "```sh\ngo run ./cmd/askbus up\n```") {
		t.Errorf("README starts askbus with %q; want a block with go run ./cmd/askbus up alone", starts)
	}
	tests := regexp.MustCompile(`\b(?:make|go) (?:test|race|check)\b[^`+"`"+`\n]*`).FindAllString(top, -1)
	if !slices.Equal(tests, []string{"make test"}) {
		t.Errorf("README runs the tests with %q; want make test", tests)
	}
	if !regexp.MustCompile(`(?m)^step test make (?:--\S+ )*test$`).MatchString(read(".ci/run")) {
		t.Error(".ci/run does not run make test")
	}
	if install := strings.Index(top, "go install ./cmd/askbus"); install < strings.Index(top, starts[0]) {
		t.Error("go install is for those who keep it, and stands after the first start")
	}
}

// The architecture, which is the page of the whole, links to every other page of docs.
func TestTheArchitectureLinksToEveryPage(t *testing.T) {
	t.Parallel()
	docs := filepath.Join("..", "..", "docs")
	links := linksOf(t, filepath.Join(docs, "architecture.md"))
	pages, err := filepath.Glob(filepath.Join(docs, "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, page := range pages {
		if name := filepath.Base(page); name != "architecture.md" && !slices.Contains(links, name) {
			t.Errorf("docs/architecture.md does not link to %s", name)
		}
	}
}

// Every link of a page to another page or to a heading has a target.
func TestTheLinksOfThePagesWork(t *testing.T) {
	t.Parallel()
	links := 0
	for _, page := range pages(t) {
		for _, link := range linksOf(t, page) {
			target, anchor, _ := strings.Cut(link, "#")
			to := page
			if target != "" {
				to = filepath.Join(filepath.Dir(page), target)
			}
			links++
			if _, err := os.Stat(to); err != nil {
				t.Errorf("%s: %s does not exist", page, link)
			} else if anchor != "" && strings.HasSuffix(to, ".md") && !slices.Contains(anchors(t, to), anchor) {
				t.Errorf("%s: %s has no such heading", page, link)
			}
		}
	}
	if links < 50 {
		t.Errorf("found only %d links", links)
	}
}

// cellMost is how many characters a cell of a table has at most. A longer one is
// unreadable as text and on a page: shorten it, split the row, or say it below.
const cellMost = 200

func TestNoTableOfThePagesHasALongCell(t *testing.T) {
	t.Parallel()
	for _, page := range pages(t) {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range longCells(string(text)) {
			t.Errorf("%s:%s", page, found)
		}
	}
	const table = "| a | b |\n|---|---|\n| %s | c \\| d |\n"
	for n, want := range map[int]int{cellMost: 0, cellMost + 1: 1} {
		if got := longCells(fmt.Sprintf(table, strings.Repeat("é", n))); len(got) != want {
			t.Errorf("a cell of %d characters: %q", n, got)
		}
	}
	if got := longCells("```\n" + fmt.Sprintf(table, strings.Repeat("x", 2*cellMost)) + "```\n"); len(got) != 0 {
		t.Errorf("a block of code is a table: %q", got)
	}
}

// longCells names the line and the beginning of each cell of a table that is too
// long.
func longCells(page string) (found []string) {
	code := false
	n := 0
	for line := range strings.Lines(page) {
		n++
		if strings.HasPrefix(line, "```") {
			code = !code
		}
		if code || !strings.HasPrefix(line, "|") {
			continue
		}
		for cell := range strings.SplitSeq(strings.ReplaceAll(line, `\|`, "/"), "|") {
			cell = strings.TrimSpace(cell)
			if length := utf8.RuneCountInString(cell); length > cellMost {
				found = append(found, fmt.Sprintf("%d: a cell has %d characters, more than %d: %.40s…", n, length, cellMost, cell))
			}
		}
	}
	return found
}

// pages returns the Markdown pages of the repository.
func pages(t *testing.T) []string {
	t.Helper()
	var all []string
	for _, pattern := range []string{"*.md", "docs/*.md", "docs/adr/*.md", ".github/*.md", "charts/*/*.md", "examples/*/*.md", "pkg/*/*.md"} {
		found, err := filepath.Glob(filepath.Join("..", "..", pattern))
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, slices.DeleteFunc(found, func(p string) bool { return filepath.Base(p) == "template.md" })...)
	}
	return all
}

var (
	link    = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	heading = regexp.MustCompile(`(?m)^#+ +(.+?) *$`)
	noSlug  = regexp.MustCompile(`[^\p{L}\p{N} _-]`)
)

func linksOf(t *testing.T, page string) []string {
	t.Helper()
	var all []string
	for _, m := range link.FindAllStringSubmatch(prose(t, page), -1) {
		if !strings.Contains(m[1], "://") && !strings.HasPrefix(m[1], "mailto:") {
			all = append(all, m[1])
		}
	}
	return all
}

// anchors returns the link names of a page's headings.
func anchors(t *testing.T, page string) []string {
	t.Helper()
	var all []string
	for _, m := range heading.FindAllStringSubmatch(prose(t, page), -1) {
		all = append(all, strings.ReplaceAll(noSlug.ReplaceAllString(strings.ToLower(m[1]), ""), " ", "-"))
	}
	return all
}

// prose returns a page without its code blocks.
func prose(t *testing.T, page string) string {
	t.Helper()
	raw, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	return fence.ReplaceAllString(string(raw), "")
}

func runAsPasted(t *testing.T, script string) {
	t.Helper()
	home := t.TempDir()
	root, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"bin", "clone"} {
		if err := os.Mkdir(filepath.Join(home, dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"askbus", "askbus-lab"} {
		starts := fmt.Sprintf("#!/bin/sh\n%s=%s exec %s \"$@\"\n", asMain, name, plain(t, name))
		if err := os.WriteFile(filepath.Join(home, "bin", name), []byte(starts), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"examples", "docs", "deploy", "charts"} {
		if err := os.Symlink(filepath.Join(root, name), filepath.Join(home, "clone", name)); err != nil {
			t.Fatal(err)
		}
	}
	file := filepath.Join(home, "page.sh")
	if err := os.WriteFile(file, []byte(script), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 3*waittest.Limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, "bash", file)
	cmd.Dir = filepath.Join(home, "clone")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // signals reach its children
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.Env = []string{
		"PATH=" + filepath.Join(home, "bin") + ":" + os.Getenv("PATH"), "HOME=" + home, "USER=mei", "LANG=C.UTF-8",
		"ASKBUS_NATS_ADDR=127.0.0.1:0", "ASKBUS_HTTP_ADDR=127.0.0.1:0",
	}
	out, err := os.Create(filepath.Join(home, "out")) // a file, because processes that outlive the page would hold a pipe open
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdout, cmd.Stderr = out, out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	failed := cmd.Wait()
	_ = cmd.Cancel()
	if failed != nil {
		said, err := os.ReadFile(out.Name())
		t.Errorf("%v, %v\n%s", failed, err, said)
	}
}
