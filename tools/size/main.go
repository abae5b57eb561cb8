// Command size prints how large the root module is, by package: lines of code and of tests, exported names,
// and modules of others that the code imports. With -before it shows what changed since that commit.
//
//	go -C tools run ./size -repo .. -before v0.1.0
package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
)

func main() {
	repo := flag.String("repo", ".", "folder of the repository")
	before := flag.String("before", "", "a commit to compare with")
	after := flag.String("after", "HEAD", "the commit to measure")
	flag.Parse()
	if err := run(*repo, *before, *after); err != nil {
		fmt.Fprintln(os.Stderr, "size:", err)
		os.Exit(1)
	}
}

func run(repo, before, after string) error {
	var was map[string]size
	is, err := at(repo, after)
	if err == nil && before != "" {
		was, err = at(repo, before)
	}
	if err != nil {
		return err
	}
	table(os.Stdout, was, is)
	return nil
}

func at(repo, commit string) (map[string]size, error) {
	out, err := exec.CommandContext(context.Background(), "git", "-C", repo, "archive", "--format=tar", commit).Output() //nolint:gosec // G204: the developer who runs it names both
	if err != nil {
		return nil, fmt.Errorf("git archive %s: %w", commit, err)
	}
	return measure(bytes.NewReader(out))
}
