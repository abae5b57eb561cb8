package doctor_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/askbus/askbus/internal/process/finding"
	"github.com/askbus/askbus/internal/role/doctor"
)

func TestFilesThatOthersCanReadAreReported(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if l := doctor.Files(dir); len(l) != 0 {
		t.Errorf("an empty directory: %v", l)
	}
	keys := filepath.Join(dir, "auth", "keys.json")
	if err := os.Mkdir(filepath.Dir(keys), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(keys, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		top, auth, file os.FileMode
		want            finding.State
	}{
		{0o700, 0o700, 0o600, finding.Good},
		{0o755, 0o755, 0o640, finding.Good}, // a mounted Secret
		{0o700, 0o755, 0o644, finding.Good}, // nobody else comes so far
		{0o755, 0o700, 0o644, finding.Good},
		{0o755, 0o755, 0o644, finding.Broken},
	} {
		for path, mode := range map[string]os.FileMode{dir: c.top, filepath.Dir(keys): c.auth, keys: c.file} {
			if err := os.Chmod(path, mode); err != nil {
				t.Fatal(err)
			}
		}
		l := doctor.Files(dir)
		if len(l) != 1 || l[0].State != c.want || (c.want == finding.Broken) != strings.Contains(l[0].Words, "chmod -R go= "+dir) {
			t.Errorf("%o %o %o: %v", c.top, c.auth, c.file, l)
		}
	}
}
