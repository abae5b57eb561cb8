package present

import (
	"reflect"
	"testing"
	"time"
)

// TestEveryLanguageIsWhole: a word that is forgotten would be an empty place.
func TestEveryLanguageIsWhole(t *testing.T) {
	t.Parallel()
	for _, w := range catalogues {
		whole(t, w.lang, reflect.ValueOf(*w))
	}
	for _, tag := range []string{"", "en", "en-GB", "EN_us", "tlh", "zh-Hant-TW"} {
		if w := catalogueOf(tag); w.lang != "en" {
			t.Errorf("%q gives %s", tag, w.lang)
		}
	}
}

func whole(t *testing.T, name string, v reflect.Value) {
	t.Helper()
	for i := range v.NumField() {
		at := name + "." + v.Type().Field(i).Name
		if v.Field(i).IsZero() {
			t.Errorf("%s is missing", at)
		}
		if v.Field(i).Kind() == reflect.Struct {
			whole(t, at, v.Field(i))
		}
	}
}

func TestFill(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		pattern string
		values  []string
		want    string
	}{
		{"{} asks {}", []string{"{} {2}", "x"}, "{} {2} asks x"},
		{"{2} of {1}", []string{"{2}", "b"}, "b of {2}"},
		{"nothing", []string{"a"}, "nothing"},
	} {
		if got := fill(c.pattern, c.values...); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}

func TestSpans(t *testing.T) {
	t.Parallel()
	w := english()
	for d, want := range map[time.Duration]string{
		-time.Second: "0 s", 59 * time.Second: "59 s", time.Minute: "1 min", 59*time.Minute + 59*time.Second: "59 min",
		time.Hour: "1 h", 47 * time.Hour: "47 h", 48 * time.Hour: "2 days", 30 * 24 * time.Hour: "30 days",
	} {
		if got := w.span(d); got != want {
			t.Errorf("%s: %q, want %q", d, got, want)
		}
	}
	if w.ago(9*time.Second) != "just now" || w.ago(time.Minute) != "1 min ago" || w.until(0) != "now" || w.until(time.Hour) != "in 1 h" {
		t.Error("ago or until")
	}
}

func TestDirection(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{"Hello": "ltr", "שלום": "rtl", "1. مرحبا": "rtl", "数据库": "ltr", "42": "ltr", "Hi שלום": "ltr"} {
		if got := Direction(text); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}
