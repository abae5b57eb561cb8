package deploytest_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"
)

func TestTheChartsReadmeIsThatOfItsSchema(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, file := range []string{"values.yaml", "values.schema.json"} {
		data, err := os.ReadFile(filepath.Join(chartDir, file))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, file), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if out, err := exec.CommandContext(t.Context(), "go", "run", "./chartdoc", dir).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	want, err := os.ReadFile(filepath.Join(dir, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(filepath.Join(chartDir, "README.md"))
	if err != nil || string(got) != string(want) {
		t.Errorf("charts/askbus/README.md is not current: run \"make generate\" (%v)", err)
	}
}

// The chart accepts the values that docs/operations.md shows.
func TestTheValuesOfThePagesRender(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "operations.md"))
	if err != nil {
		t.Fatal(err)
	}
	blocks := regexp.MustCompile("(?s)```yaml\n((?:responders|issuer|tls|leafNodes):.*?)```").FindAllStringSubmatch(string(page), -1)
	if len(blocks) != 5 {
		t.Errorf("found %d blocks of values", len(blocks))
	}
	for _, m := range blocks {
		if _, err := render(t.Context(), "askbus", "shape: cluster\n"+m[1]); err != nil {
			t.Errorf("%v\n%s", err, m[1])
		}
	}
}
