package natsd

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/askbus/askbus/internal/server/storecheck"
)

func TestAnOpenDirectoryIsRefusedWithTheCommandThatMendsIt(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		dir, auth os.FileMode
		says      string
	}{
		"closed":               {0o700, 0o700, ""},
		"a group's volume":     {0o770, 0o770, ""},
		"everybody may read":   {0o755, 0o700, ""},
		"everybody may write":  {0o777, 0o700, "chmod o-w "},
		"the keys can be read": {0o755, 0o755, "chmod o-rwx "},
	} {
		dir := t.TempDir()
		auth := filepath.Join(dir, "auth")
		if err := os.Mkdir(auth, 0o700); err != nil {
			t.Fatal(err)
		}
		for path, mode := range map[string]os.FileMode{auth: c.auth, dir: c.dir} {
			if err := os.Chmod(path, mode); err != nil { // umask applies to Mkdir
				t.Fatal(err)
			}
		}
		lock, err := storecheck.Lock(dir)
		if lock != nil {
			_ = lock.Close()
		}
		if c.says == "" && err != nil || c.says != "" && (err == nil || !strings.Contains(err.Error(), c.says+dir)) {
			t.Errorf("%s: %v, want %q", name, err, c.says)
		}
	}
}
