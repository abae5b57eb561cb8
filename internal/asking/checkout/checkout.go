// Package checkout finds the repository and branch of a directory, for the asks of agents that work
// there. It reads a few small files of Git and runs no process. It promises that its result
// contains no credential of a remote's URL, and that it returns the zero value for everything that
// it does not understand.
package checkout

import (
	"cmp"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/askbus/askbus/pkg/ask"
)

// Limits of what is read.
const (
	maxFile = 64 << 10 // bytes of one file
	maxUp   = 40       // parent directories
)

// Checkout describes the checkout of a directory. The zero value: none.
type Checkout struct {
	Repository string // "acme/payments", or the directory's name without a remote
	Branch     string // empty: no branch is checked out
	Link       string // URL of the repository's page; empty: unknown
}

// Fill sets missing fields of an agent. It sets no branch if the agent names another repository.
func (c Checkout) Fill(a *ask.Agent) {
	if a.Repository == "" && a.Branch == "" && a.Link == "" {
		a.Repository, a.Branch, a.Link = c.Repository, c.Branch, c.Link
	}
}

// Of returns the checkout that contains a directory.
func Of(dir string) Checkout {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return Checkout{}
	}
	for range maxUp {
		if git := gitDir(dir); git != "" {
			return read(dir, git)
		}
		up := filepath.Dir(dir)
		if up == dir {
			break
		}
		dir = up
	}
	return Checkout{}
}

// gitDir returns the directory of a work tree's HEAD: .git, or the target of a file of that name.
func gitDir(dir string) string {
	git := filepath.Join(dir, ".git")
	info, err := os.Stat(git)
	switch {
	case err != nil:
		return ""
	case info.IsDir():
		return git
	}
	to, ok := strings.CutPrefix(file(git), "gitdir: ")
	if !ok {
		return ""
	}
	return join(dir, strings.TrimSpace(to))
}

func read(dir, git string) Checkout {
	c := Checkout{Repository: filepath.Base(dir)}
	if branch, ok := strings.CutPrefix(file(filepath.Join(git, "HEAD")), "ref: refs/heads/"); ok {
		c.Branch = strings.TrimSpace(branch)
	}
	common := git // a linked work tree shares the main one's configuration
	if to := strings.TrimSpace(file(filepath.Join(git, "commondir"))); to != "" {
		common = join(git, to)
	}
	host, path := remote(file(filepath.Join(common, "config")))
	if path == "" {
		return c.bounded()
	}
	c.Repository = path
	if link := "https://" + host + "/" + path; host != "" && ask.ValidLink(link) {
		c.Link = link
	}
	return c.bounded()
}

// bounded drops values that an ask may not have.
func (c Checkout) bounded() Checkout {
	for _, s := range []*string{&c.Repository, &c.Branch} {
		if *s = ask.CleanLine(*s); len([]rune(*s)) > ask.MaxName {
			*s = ""
		}
	}
	if len(c.Link) > ask.MaxLink {
		c.Link = ""
	}
	return c
}

func join(dir, to string) string {
	if filepath.IsAbs(to) {
		return to
	}
	return filepath.Join(dir, to)
}

// file returns the beginning of a file, or "".
func file(name string) string {
	f, err := os.Open(name)
	if err != nil {
		return ""
	}
	defer f.Close() //nolint:errcheck // read-only
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return ""
	}
	data, err := io.ReadAll(io.LimitReader(f, maxFile))
	if err != nil {
		return ""
	}
	return string(data)
}

// remotePattern matches the two formats of a remote: a URL, and "user@host:path".
func remotePattern() *regexp.Regexp {
	return regexp.MustCompile(`^(?:(?:https?|ssh|git)://(?:[^@/]*@)?([A-Za-z0-9.-]+)(?::[0-9]+)?/|(?:[^@/:]+@)?([A-Za-z0-9.-]+):)/?([^?#]+?)(?:\.git)?/?$`)
}

// remote returns the host and the path of "origin", else of the first remote.
func remote(config string) (host, path string) {
	section, first, origin := "", "", ""
	for line := range strings.Lines(config) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "[") {
			section = line
			continue
		}
		name, value, ok := strings.Cut(line, "=")
		if !ok || strings.TrimSpace(name) != "url" || !strings.HasPrefix(section, `[remote "`) {
			continue
		}
		value = strings.TrimSpace(value)
		first = cmp.Or(first, value)
		if section == `[remote "origin"]` {
			origin = value
		}
	}
	origin = cmp.Or(origin, first)
	m := remotePattern().FindStringSubmatch(origin)
	if m == nil {
		return "", ""
	}
	return m[1] + m[2], m[3]
}
