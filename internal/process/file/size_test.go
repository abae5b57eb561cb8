package file_test

import (
	"strings"
	"testing"

	"github.com/askbus/askbus/internal/process/file"
)

func TestParse(t *testing.T) {
	t.Parallel()
	for s, want := range map[string]int64{
		"1": 1, "1048576": 1 << 20, "10GiB": 10 << 30, "10 GiB": 10 << 30, "512MB": 512e6, "3k": 3 << 10, "3kB": 3000, "3KiB": 3 << 10, "2T": 2 << 40, "5b": 5, "7tib": 7 << 40,
	} {
		if got, err := file.ParseSize(s); err != nil || got != want {
			t.Errorf("%q is %d, %v; want %d", s, got, err, want)
		}
	}
	for _, s := range []string{"", "GiB", "-1", "0", "1.5GiB", "10 GiBs", "1e9", "99999999999999999999", "9999999999TiB", "x1", "1 0", "0x10", "1_000", "+5"} {
		if got, err := file.ParseSize(s); err == nil {
			t.Errorf("%q is %d", s, got)
		} else if !strings.Contains(err.Error(), "10GiB") {
			t.Errorf("%q: no example in %v", s, err)
		}
	}
}
