package checkout_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/askbus/askbus/internal/asking/checkout"
	"github.com/askbus/askbus/pkg/ask"
)

// tree writes files by path.
func tree(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, body := range files {
		at := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(at), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, []byte(strings.ReplaceAll(body, "DIR", dir)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestADirectoryIsOfARepositoryAndABranch(t *testing.T) {
	t.Parallel()
	const head = "ref: refs/heads/fix/ledger\n"
	origin := func(url string) map[string]string {
		return map[string]string{"app/.git/HEAD": head, "app/.git/config": "[core]\n\tbare = false\n[remote \"origin\"]\n\turl = " + url + "\n\tfetch = x\n"}
	}
	payments := checkout.Checkout{Repository: "acme/payments", Branch: "fix/ledger", Link: "https://git.example.com/acme/payments"}
	for _, c := range []struct {
		name  string
		files map[string]string
		at    string
		want  checkout.Checkout
	}{
		{"https", origin("https://git.example.com/acme/payments.git"), "app", payments},
		{"below", origin("https://git.example.com/acme/payments/"), "app/.git/..", payments},
		{"a token is left out", origin("https://oauth2:s3cret@git.example.com/acme/payments.git"), "app", payments},
		{"ssh", origin("ssh://git@git.example.com:2222/acme/payments.git"), "app", payments},
		{"scp format", origin("git@git.example.com:acme/payments.git"), "app", payments},
		{"a path on this machine", origin("/srv/git/payments.git"), "app", checkout.Checkout{Repository: "app", Branch: "fix/ledger"}},
		{"no remote", map[string]string{"app/.git/HEAD": head}, "app", checkout.Checkout{Repository: "app", Branch: "fix/ledger"}},
		{"no branch", map[string]string{"app/.git/HEAD": "0123456789abcdef\n"}, "app", checkout.Checkout{Repository: "app"}},
		{"a linked work tree", map[string]string{
			"tree/.git": "gitdir: DIR/app/.git/worktrees/tree\n", "app/.git/worktrees/tree/HEAD": head, "app/.git/worktrees/tree/commondir": "../..\n",
			"app/.git/config": "[remote \"up\"]\n\turl = git@git.example.com:acme/payments\n",
		}, "tree", payments},
		{"no repository", map[string]string{"app/x": ""}, "app", checkout.Checkout{}},
		{"an invalid .git file", map[string]string{"app/.git": "hello"}, "app", checkout.Checkout{}},
		{"an endless branch", map[string]string{"app/.git/HEAD": "ref: refs/heads/" + strings.Repeat("x", 1000)}, "app", checkout.Checkout{Repository: "app"}},
		{"a branch with an escape", map[string]string{"app/.git/HEAD": "ref: refs/heads/a\x1b[31mb"}, "app", checkout.Checkout{Repository: "app", Branch: "ab"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if got := checkout.Of(filepath.Join(tree(t, c.files), c.at)); got != c.want {
				t.Errorf("%+v", got)
			}
		})
	}
}

func TestWhatAnAgentSaysItselfStays(t *testing.T) {
	t.Parallel()
	c := checkout.Checkout{Repository: "acme/payments", Branch: "main", Link: "https://git.example.com/acme/payments"}
	a := ask.Agent{Name: "builder"}
	c.Fill(&a)
	if want := (ask.Agent{Name: "builder", Repository: c.Repository, Branch: c.Branch, Link: c.Link}); a != want {
		t.Errorf("%+v", a)
	}
	other := ask.Agent{Repository: "acme/other"}
	c.Fill(&other)
	if other.Branch != "" || other.Link != "" {
		t.Errorf("%+v", other)
	}
}
