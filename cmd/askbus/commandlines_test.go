package main

import (
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/askbus/askbus/internal/answering/auth"
	"github.com/askbus/askbus/internal/answering/chat/discord"
	"github.com/askbus/askbus/internal/answering/chat/email"
	"github.com/askbus/askbus/internal/answering/chat/slack"
	"github.com/askbus/askbus/internal/answering/webhooks"
	"github.com/askbus/askbus/internal/asking/guard"
	"github.com/askbus/askbus/internal/bus/approvals"
	"github.com/askbus/askbus/internal/bus/quota"
	"github.com/askbus/askbus/internal/cli"
	"github.com/askbus/askbus/internal/cli/person"
	"github.com/askbus/askbus/internal/lab/command"
	"github.com/askbus/askbus/internal/server/exchange"
)

// Every command line of askbus on a page, whether a test runs it or not, names a command, flags and
// arguments that exist: in blocks whole, in the text without what the sentence leaves out.
func TestTheCommandLinesOfThePagesParse(t *testing.T) {
	t.Parallel()
	root := filepath.Join("..", "..")
	inBlocks, inText := 0, 0
	seen := map[string]bool{}
	for _, page := range everyPage(t, root) {
		raw, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range fence.FindAllSubmatchIndex(raw, -1) {
			line := 1 + strings.Count(string(raw[:m[0]]), "\n")
			text := string(raw[m[6]:m[7]])
			if language := string(raw[m[4]:m[5]]); !slices.Contains([]string{"sh", "bash", "fish", "zsh"}, language) {
				text = strings.Join(afterPrompt.FindAllString(text, -1), "\n") // of a session, what the person types
			}
			for _, c := range commandLines(text) {
				inBlocks++
				if err := c.parses(true); err != nil {
					t.Errorf("%s:%d: %s %s: %v", page, line, c.of.Name, strings.Join(c.words, " "), err)
				}
			}
		}
		for _, m := range inlineCode.FindAllStringSubmatch(fence.ReplaceAllString(string(raw), ""), -1) {
			if strings.HasSuffix(m[1], " ROLE") { // stands for a command
				continue
			}
			for _, c := range commandLines(placeholder.ReplaceAllString(m[1], "1")) {
				inText++
				line := c.of.Name + " " + strings.Join(c.words, " ")
				if seen[line] {
					continue
				}
				seen[line] = true
				if err := c.parses(false); err != nil {
					t.Errorf("%s: `%s`: %v", page, m[1], err)
				}
			}
		}
	}
	if inBlocks < 50 || inText < 100 {
		t.Errorf("found %d command lines in blocks and %d in the text", inBlocks, inText)
	}
}

// A page that writes a key or a credential to a file says before how only its owner can read it.
func TestKeyFilesOfThePagesAreTheirOwners(t *testing.T) {
	t.Parallel()
	writes := regexp.MustCompile(`(?m)^.*(askbus auth (agent|responder|host|gateway|operator|auditor|broker|issuer|maintenance)[^#\n]*|/v1/credentials"?) > .*$`)
	found := 0
	for _, page := range everyPage(t, filepath.Join("..", "..")) {
		raw, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range fence.FindAllStringSubmatch(string(raw), -1) {
			if at := writes.FindStringIndex(m[3]); at != nil {
				if found++; !strings.Contains(m[3][:at[1]], "umask 077") {
					t.Errorf("%s: no umask 077 before %s", page, m[3][at[0]:at[1]])
				}
			}
		}
	}
	if found < 4 {
		t.Errorf("only %d such blocks were found", found)
	}
}

// everyPage returns the pages that people read: README, docs, and what lies beside chart, examples and
// contributing.
func everyPage(t *testing.T, root string) []string {
	t.Helper()
	var pages []string
	for _, pattern := range []string{"README.md", "docs/*.md", ".github/*.md", "charts/*/*.md", "examples/*/*.md", "pkg/*/*.md"} {
		found, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil {
			t.Fatal(err)
		}
		pages = append(pages, found...)
	}
	return pages
}

var (
	inlineCode  = regexp.MustCompile("`([^`\n]+)`")
	placeholder = regexp.MustCompile(`<[^<>]+>|\b[A-Z]{1,8}\b`) // the name of a value
	afterPrompt = regexp.MustCompile(`(?m)^[ \t]*\$ .*$`)
	continued   = regexp.MustCompile(`\\\n\s*`)
	runsAskbus  = regexp.MustCompile(`(?:^(?:\$ )?|[|&;(]|\b(?:do|then|until|while|exec \S+)|--)\s*(?:[A-Z_]+=\S+\s+)*(?:go run \./cmd/|/)?(askbus|askbus-lab)(?:\s+|$)`)
)

// commandLine is a command of a shell script: a program of ours, and the words after it.
type commandLine struct {
	of    cli.Program
	words []string
}

// commandLines returns the commands of a shell script that start a program of ours.
func commandLines(script string) []commandLine {
	programs := map[string]cli.Program{"askbus": program(), "askbus-lab": command.Program()}
	var all []commandLine
	for line := range strings.Lines(continued.ReplaceAllString(script, " ")) {
		line = strings.TrimSpace(line)
		for _, at := range runsAskbus.FindAllStringSubmatchIndex(line, -1) {
			all = append(all, commandLine{programs[line[at[2]:at[3]]], shellWords(line[at[1]:])})
		}
	}
	return all
}

// shellWords splits a command of a shell script into words, and leaves out what follows the command.
// It keeps substitutions as they are.
func shellWords(script string) []string {
	var words []string
	word, inWord, quote, depth := strings.Builder{}, false, rune(0), 0
	end := func() {
		if inWord {
			words = append(words, word.String())
		}
		word.Reset()
		inWord = false
	}
	for _, c := range script {
		switch {
		case quote != 0 && c == quote:
			quote = 0
			continue
		case quote == 0 && (c == '"' || c == '\''):
			quote, inWord = c, true
			continue
		case quote == 0 && depth == 0 && strings.ContainsRune(" \t", c):
			end()
			continue
		case quote == 0 && c == '(' && strings.HasSuffix(word.String(), "$"):
			depth++
		case quote == 0 && depth > 0 && c == ')':
			depth--
		case quote == 0 && depth == 0 && (strings.ContainsRune("|;&<>)", c) || c == '#' && !inWord):
			if _, err := strconv.Atoi(word.String()); err == nil && (c == '<' || c == '>') {
				inWord = false // the descriptor of a redirection
			}
			end()
			return words
		}
		inWord = true
		word.WriteRune(c)
	}
	end()
	return words
}

// parses returns the error of a program for a command line that it refuses before it runs it. Unless
// the line is whole, arguments may be missing; an ellipsis stands for any.
func (c commandLine) parses(whole bool) error {
	a := &cli.App{Stdout: io.Discard, Stderr: io.Discard}
	root, err := c.of.Root(a)
	if err != nil {
		return err
	}
	given := slices.DeleteFunc(slices.Clone(c.words), func(w string) bool { return w == "…" })
	whole = whole && len(given) == len(c.words)
	cmd, rest, err := root.Find(given)
	if err != nil {
		return err
	}
	cmd.InitDefaultHelpFlag()
	if err := cmd.ParseFlags(rest); err != nil && (whole || !strings.HasPrefix(err.Error(), "flag needs an argument")) {
		return err
	}
	if err := cmd.ValidateFlagGroups(); err != nil {
		return err
	}
	if args := cmd.Flags().Args(); whole || len(args) > 0 {
		return cmd.ValidateArgs(args)
	}
	return nil
}

// The code that reads a file accepts the YAML that the pages show for it.
func TestTheFilesOfThePagesAreAccepted(t *testing.T) {
	t.Parallel()
	root, dir := filepath.Join("..", ".."), t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "jwks.json"), []byte(`{"keys": []}`), 0o600); err != nil {
		t.Fatal(err)
	}
	exchanges := func(data []byte) error {
		_, err := exchange.ParseRules(data, dir, "")
		return err
	}
	policy := func(data []byte) error {
		_, err := quota.Parse(data)
		return err
	}
	approved := func(data []byte) error {
		_, err := approvals.Parse(data)
		return err
	}
	hooks := func(data []byte) error {
		for _, name := range []string{"builder.secret", "n8n.secret", "ntfy.secret", "ntfy.token"} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"), 0o600); err != nil {
				return err
			}
		}
		_, err := webhooks.ParseFile(data, dir, slog.New(slog.DiscardHandler))
		return err
	}
	values := func([]byte) error { return nil } // TestTheValuesOfThePagesRender of tools/deploytest
	type reader struct {
		begins string
		read   func([]byte) error
	}
	readers := []reader{
		{"nats_url: ", exchanges},
		{"issuers:", exchanges},
		{"default:\n", policy},
		{"tenants:", policy},
		{"policies:\n", approved},
		{"schedules:\n", approved},
		{"calendars:\n", approved},
		{"break_glass:\n", approved},
		{"rules:\n", func(data []byte) error {
			_, err := auth.ParseRules(data)
			return err
		}},
		{"otherwise: ", func(data []byte) error {
			_, err := guard.ReadRules(data)
			return err
		}},
		{"allow: ", func(data []byte) error {
			_, err := email.ParsePeople(data)
			return err
		}},
		{"default: {channel: \"1", func(data []byte) error {
			_, err := discord.ParseRoutes(data)
			return err
		}},
		{"default: {channel", func(data []byte) error {
			_, err := slack.ParseRoutes(data)
			return err
		}},
		{"next: ", func(data []byte) error {
			file := filepath.Join(dir, "keys.yaml")
			if err := os.WriteFile(file, data, 0o600); err != nil {
				return err
			}
			_, err := person.ReadKeys(file)
			return err
		}},
		{"callbacks:", hooks},
		{"surfaces:", hooks},
		{"responders:", values},
		{"backup:", values},
		{"issuer:", values},
		{"leafNodes:", values},
		{"tls:", values},
	}
	found := 0
	for _, page := range everyPage(t, root) {
		raw, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range fence.FindAllStringSubmatch(string(raw), -1) {
			if m[2] != "yaml" {
				continue
			}
			found++
			text := strings.ReplaceAll("\n"+m[3], "\n"+m[1], "\n")[1:]
			for strings.HasPrefix(text, "#") {
				_, text, _ = strings.Cut(text, "\n")
			}
			at := slices.IndexFunc(readers, func(r reader) bool { return strings.HasPrefix(text, r.begins) })
			if at < 0 {
				t.Errorf("%s: no code is known that reads\n%s", page, text)
			} else if err := readers[at].read([]byte(text)); err != nil {
				t.Errorf("%s: %v\n%s", page, err, text)
			}
		}
	}
	if found < 10 {
		t.Errorf("found %d blocks of YAML", found)
	}
}
