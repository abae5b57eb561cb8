package attack_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestTheThreatModelNamesTestsThatExist keeps docs/threat-model.md correct when
// tests are renamed or removed.
func TestTheThreatModelNamesTestsThatExist(t *testing.T) {
	t.Parallel()
	model, err := os.ReadFile("../../../docs/threat-model.md")
	if err != nil {
		t.Fatal(err)
	}
	var code strings.Builder
	for _, dir := range []string{"../..", "../../../pkg", "../../../cmd", "../../../interop"} {
		if err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, "_test.go") {
				return err
			}
			data, err := os.ReadFile(path)
			code.Write(data)
			return err
		}); err != nil {
			t.Fatal(err)
		}
	}
	named := regexp.MustCompile("`(Test[A-Za-z0-9]+)`").FindAllSubmatch(model, -1)
	if len(named) < 25 {
		t.Fatalf("the threat model names %d tests", len(named))
	}
	for _, name := range named {
		if !strings.Contains(code.String(), "func "+string(name[1])+"(") {
			t.Errorf("the threat model names %s, which does not exist", name[1])
		}
	}
}
