package file

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
)

// SizeText formats a number of bytes for people, as in "10 GiB".
func SizeText(n int64) string {
	for _, u := range []struct {
		bytes int64
		name  string
	}{{1 << 40, "TiB"}, {1 << 30, "GiB"}, {1 << 20, "MiB"}, {1 << 10, "KiB"}} {
		if n >= u.bytes {
			return fmt.Sprintf("%.4g %s", float64(n)/float64(u.bytes), u.name)
		}
	}
	return fmt.Sprintf("%d bytes", n)
}

// ParseSize parses a size such as "10GiB", "512MB" or "1048576".
func ParseSize(s string) (int64, error) {
	number := strings.TrimRightFunc(s, func(r rune) bool { return !unicode.IsDigit(r) })
	n, err := strconv.ParseInt(number, 10, 64)
	if err != nil || n <= 0 || !unicode.IsDigit(rune(number[0])) {
		return 0, fmt.Errorf(`invalid size %q; use one such as "10GiB" or "512MB"`, s)
	}
	units := map[string]int64{
		"": 1, "b": 1, "k": 1 << 10, "kb": 1000, "kib": 1 << 10, "m": 1 << 20, "mb": 1e6, "mib": 1 << 20,
		"g": 1 << 30, "gb": 1e9, "gib": 1 << 30, "t": 1 << 40, "tb": 1e12, "tib": 1 << 40,
	}
	unit, ok := units[strings.ToLower(strings.TrimSpace(s[len(number):]))]
	if !ok || n > (1<<62)/unit {
		return 0, fmt.Errorf(`invalid size %q; use one such as "10GiB" or "512MB"`, s)
	}
	return n * unit, nil
}
