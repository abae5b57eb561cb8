//go:build linux

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var snippetFence = regexp.MustCompile("(?s)```([a-z]+)\n(.*?)```")

// snippet returns the block of docs/terminal.md in a language that contains text.
func snippet(t *testing.T, language, text string) string {
	t.Helper()
	if !slices.Contains(guideSnippets[language], text) {
		t.Fatalf("guideSnippets has no %s with %s", language, text)
	}
	doc, err := os.ReadFile(filepath.Join("..", "..", "docs", "terminal.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range snippetFence.FindAllStringSubmatch(string(doc), -1) {
		if m[1] == language && strings.Contains(m[2], text) {
			return m[2]
		}
	}
	t.Fatalf("docs/terminal.md has no %s with %s", language, text)
	return ""
}

// shell runs a script in bash, with askbus on PATH and the home in pl.
func (pl place) shell(script string, env ...string) string {
	pl.t.Helper()
	return pl.shellOf([]string{"bash", "--norc", "--noprofile"}, script, env...)
}

// shellOf is shell in another shell, with arguments that skip its configuration. Without that shell
// it skips the test.
func (pl place) shellOf(shell []string, script string, env ...string) string {
	pl.t.Helper()
	if _, err := exec.LookPath(shell[0]); err != nil {
		pl.t.Skipf("no %s here; install it to run the guide's lines for it", shell[0])
	}
	bin := pl.t.TempDir()
	if err := os.Symlink(plain(pl.t, "askbus"), filepath.Join(bin, "askbus")); err != nil {
		pl.t.Fatal(err)
	}
	cmd := exec.CommandContext(pl.t.Context(), shell[0], append(shell[1:], "-c", script)...)
	cmd.Env = append(append(os.Environ(), asMain+"=1", "ASKBUS_DIR="+pl.dir, "PATH="+bin+":"+os.Getenv("PATH")), env...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		pl.t.Fatalf("%v:\n%s\n%s", err, script, out)
	}
	return string(out)
}

func TestThePromptOfTheGuide(t *testing.T) {
	t.Parallel()
	// The prompt shows what the previous prompt's job wrote.
	const untilWritten = `
file=$XDG_RUNTIME_DIR/.askbus-status
until
	rm -f "$file"
	__askbus
	until [ -e "$file" ]; do sleep 0.1; done
	[ WRITTEN "$file" ]
do :; done
`
	shells := map[string]struct {
		shell       []string
		loop, shows string
	}{
		"bash": {[]string{"bash", "--norc", "--noprofile"}, untilWritten, `printf '%s' "${PS1@P}"`},
		"zsh":  {[]string{"zsh", "-f"}, untilWritten, `print -Pn -- "${(e)PROMPT}"`},
		"fish": {[]string{"fish", "--no-config"}, `
set -l file $XDG_RUNTIME_DIR/.askbus-status
while true
	rm -f $file
	__askbus
	while not test -e $file; sleep 0.1; end
	test WRITTEN $file; and break
end
`, "fish_prompt"},
	}
	for name, s := range shells {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pl, _ := up(t)
			dir, err := os.MkdirTemp("", "prompt") //nolint:usetesting // the last job may still write
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = os.RemoveAll(dir) })
			prompt := func(written string) string {
				return pl.shellOf(s.shell, snippet(t, name, "__askbus")+strings.ReplaceAll(s.loop, "WRITTEN", written)+s.shows, "XDG_RUNTIME_DIR="+dir)
			}
			if got := prompt("-e"); strings.Contains(got, "waiting") {
				t.Errorf("with nothing waiting the prompt is %q", got)
			}
			pl.must(3, "ask", "--question", "Deploy?", "--text", "--session", "s", "--wait", "0")
			if got := prompt("-s"); !strings.Contains(got, "◆ 1 waiting, oldest ") {
				t.Errorf("with one ask waiting the prompt is %q", got)
			}
		})
	}
}

func TestTheNotificationOfTheGuide(t *testing.T) {
	t.Parallel()
	pl, _ := up(t)
	pl.must(3, "ask", "--question", "Deploy?", "--text", "--session", "s", "--wait", "0")
	// Three rounds, the first of which finds a waiting ask.
	stubs := `n=0
sleep() { ((n++ < 3)); }
notify-send() { printf 'notified: %s\n' "$*"; }
`
	got := pl.shell(stubs + snippet(t, "bash", "notify-send"))
	if strings.Count(got, "notified: askbus ◆ 1 waiting") != 1 {
		t.Errorf("want one notification, got %q", got)
	}
}

func TestTheCompletionOfTheGuide(t *testing.T) {
	t.Parallel()
	pl, _ := up(t)
	pl.must(3, "ask", "--id", "deploy", "--question", "Deploy?", "--text", "--session", "s", "--wait", "0")
	load, _, _ := strings.Cut(snippet(t, "bash", "completion bash"), "\n")
	// These are provided by bash-completion, which the guide requires, and by bash while Tab is
	// pressed.
	words := `
compopt() { :; }
_get_comp_words_by_ref() { cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} words=("${COMP_WORDS[@]}") cword=$COMP_CWORD; }
`
	got := pl.shell(words + load + `
COMP_WORDS=(askbus answer s/d) COMP_CWORD=2 COMP_LINE="askbus answer s/d" COMP_POINT=17 COMP_TYPE=9
__start_askbus
printf '%s\n' "${COMPREPLY[@]}"`)
	if !strings.HasPrefix(got, "s/deploy") {
		t.Errorf("completes %q", got)
	}
}

func TestTheCompletionOfTheGuideInOtherShells(t *testing.T) { //nolint:tparallel // subtests in turn: parallel ones begin after every other test, and its server would run until then
	t.Parallel()
	pl, _ := up(t)
	pl.must(3, "ask", "--id", "deploy", "--question", "Which database?", "--option", "PostgreSQL", "--option", "SQLite", "--session", "s", "--wait", "0")
	t.Run("fish", func(t *testing.T) {
		load := snippet(t, "fish", "completion fish")
		for line, want := range map[string]string{
			"askbus answer s/d":              "s/deploy\t",
			"askbus answer deploy --select ": "o1\tPostgreSQL",
			"askbus list --session ":         "s\t1 waits",
			"askbus sta":                     "status\t",
		} {
			if got := (place{t, pl.dir}).shellOf([]string{"fish", "--no-config"}, load+"\ncomplete -C '"+line+"'"); !strings.Contains(got, want) {
				t.Errorf("%q completes %q, want %q", line, got, want)
			}
		}
	})
	t.Run("zsh", func(t *testing.T) {
		// Presses Tab in a terminal within zsh, and again after a while, as a person does: on a busy machine the
		// bus may not reply in the time that completion has. Missing output ends with the script's timeout.
		const press = `
zmodload zsh/zpty
( sleep 60; kill $$ ) >/dev/null 2>&1 &!
zpty inner "env TERM=vt100 zsh -f -i"
zpty -w inner "source $LOAD; bindkey '^I' complete-word; PS1=; print -r -- READY\$((40+2))"
until [[ $out = *READY42* ]]; do zpty -r inner got && out+=$got; done
tries=0
until [[ $out = *s/deploy* ]]; do
	(( tries++ % 300 )) || zpty -w -n inner $'askbus answer s/d\t\C-a: \C-e\n'
	if zpty -r -t inner got; then out+=$got; else sleep 0.01; fi
done
zpty -d inner
print completed
`
		load := filepath.Join(t.TempDir(), "load.zsh")
		// -u avoids zsh's prompt about world-writable directories.
		lines := strings.Replace(snippet(t, "zsh", "completion zsh"), "&& compinit", "&& compinit -u", 1)
		if err := os.WriteFile(load, []byte(lines), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := (place{t, pl.dir}).shellOf([]string{"zsh", "-f"}, press, "LOAD="+load, "ZDOTDIR="+t.TempDir()); !strings.Contains(got, "completed") {
			t.Errorf("zsh completes nothing: %q", got)
		}
	})
}

func TestTheTmuxLinesOfTheGuide(t *testing.T) {
	t.Parallel()
	pl, _ := up(t)
	m := inTmux(t, 80, 24, "tui", "--dir", pl.dir)
	file := filepath.Join(t.TempDir(), "tmux.conf")
	conf := snippet(t, "tmux", "status-right") + snippet(t, "tmux", "allow-passthrough")
	if err := os.WriteFile(file, []byte(conf), 0o600); err != nil {
		t.Fatal(err)
	}
	m.do("source-file", file)
	for command, want := range map[string]string{
		"show -gv status-right":      "#(askbus status --format tmux 2>/dev/null)",
		"show -gv allow-passthrough": "on",
		"list-keys -T prefix a":      `display-popup -E -h "80%" -w "90%" "askbus next"`,
	} {
		if got := m.do(strings.Fields(command)...); !strings.Contains(got, want) {
			t.Errorf("%s: %q, want %s", command, got, want)
		}
	}
}
