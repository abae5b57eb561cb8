package doctor

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/askbus/askbus/internal/process/file"
	"github.com/askbus/askbus/internal/process/finding"
	"github.com/askbus/askbus/internal/server/natsd"
)

// secretFiles are the files of a bus's directory with which others could act as somebody: keys, and context.json,
// which may have a credential.
func secretFiles() []string {
	return []string{"auth/keys.json", "auth/operator.nk", "context.json", "tls.key", "ssh_host_key"}
}

// Files reports which secrets in a bus's directory other users of the machine can read. Without secrets there is no
// finding.
func Files(dir string) finding.List {
	var l finding.List
	there := false
	var open []string
	for _, name := range secretFiles() {
		path := filepath.Join(dir, filepath.FromSlash(name))
		info, err := os.Stat(path)
		if err != nil {
			continue
		}
		there = true
		if info.Mode().Perm()&0o007 != 0 && entered(dir) && entered(filepath.Dir(path)) {
			open = append(open, path)
		}
	}
	switch {
	case len(open) > 0:
		l.Say("keys", finding.Broken, `other users of this machine can read %s, and so act as anybody: run "chmod -R go= %s"; if one of them may have done it, replace the keys ("askbus auth rotate ROLE --drop-old")`, strings.Join(open, ", "), dir)
	case there:
		l.Say("keys", finding.Good, "other users of this machine cannot read them")
	}
	return l
}

// Disk reports whether the disk of a bus's directory has room for its store. Without a store there is no finding.
func Disk(dir string) finding.List {
	var l finding.List
	switch free, full, err := natsd.NearlyFull(dir); {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		l.Say("disk", finding.Missing, "it cannot be measured: %v", err)
	case full:
		l.Say("disk", finding.Broken, "%s are free on the disk of %s, too little to store asks and answers: make room there, and a running server goes on by itself; to move the store, stop askbus and move the whole directory", file.SizeText(free), dir)
	default:
		l.Say("disk", finding.Good, "%s are free on that of %s", file.SizeText(free), dir)
	}
	return l
}

// entered reports whether other users can reach the files of a directory.
func entered(dir string) bool {
	info, err := os.Stat(dir)
	return err == nil && info.Mode().Perm()&0o001 != 0
}
