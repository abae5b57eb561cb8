package doctor

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/askbus/askbus/internal/process/finding"
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

// entered reports whether other users can reach the files of a directory.
func entered(dir string) bool {
	info, err := os.Stat(dir)
	return err == nil && info.Mode().Perm()&0o001 != 0
}
