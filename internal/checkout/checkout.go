// Package checkout says which repository and branch a directory is of, for the
// asks of agents that work there. It reads a few small files of Git's and runs
// nothing, so that an ask costs no process. It promises that no credential of a
// remote's URL is in what it returns, and an empty answer for everything that
// it does not understand.
package checkout

import (
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/askbus/askbus/pkg/ask"
)

// Bounds of what is read.
const (
	maxFile = 64 << 10 // bytes of one file
	maxUp   = 40       // directories above
)

// Checkout is what a directory is a checkout of. The zero value: of nothing.
type Checkout struct {
	Repository string // "acme/payments", or the directory's name without a remote
	Branch     string // empty: no branch is checked out
	Link       string // the repository's page; empty: it has no remote that has one
}

// Fill puts into an agent what it does not say itself. An agent that names its
// repository is not told about another one's branch.
func (c Checkout) Fill(a *ask.Agent) {
	if a.Repository == "" && a.Branch == "" && a.Link == "" {
		a.Repository, a.Branch, a.Link = c.Repository, c.Branch, c.Link
	}
}

// Of finds the checkout that a directory lies in.
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

// gitDir is where Git keeps a work tree's HEAD: .git, or where a file of that
// name points to.
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
	common := git // of a further work tree, the configuration lies in the first one's
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

// bounded leaves out what no ask may have.
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

// file is the beginning of a file, or nothing.
func file(name string) string {
	f, err := os.Open(name)
	if err != nil {
		return ""
	}
	defer f.Close() //nolint:errcheck // only read
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return ""
	}
	data, err := io.ReadAll(io.LimitReader(f, maxFile))
	if err != nil {
		return ""
	}
	return string(data)
}

// remotePattern are the two ways to write a remote: a URL, and "user@host:path".
func remotePattern() *regexp.Regexp {
	return regexp.MustCompile(`^(?:(?:https?|ssh|git)://(?:[^@/]*@)?([A-Za-z0-9.-]+)(?::[0-9]+)?/|(?:[^@/:]+@)?([A-Za-z0-9.-]+):)/?([^?#]+?)(?:\.git)?/?$`)
}

// remote is the host and the path of "origin", else of the first remote.
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
		if first == "" {
			first = value
		}
		if section == `[remote "origin"]` {
			origin = value
		}
	}
	if origin == "" {
		origin = first
	}
	m := remotePattern().FindStringSubmatch(origin)
	if m == nil {
		return "", ""
	}
	return m[1] + m[2], m[3]
}
