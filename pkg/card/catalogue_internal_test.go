package card

import (
	"reflect"
	"testing"
	"time"
)

// A missing text would leave an empty place on the card.
func TestEveryLanguageIsComplete(t *testing.T) {
	t.Parallel()
	for _, w := range catalogues() {
		whole(t, w.Tag, reflect.ValueOf(*w))
	}
	for tag, want := range map[string]string{"": "en", "en": "en", "en-GB": "en", "EN_us": "en", "tlh": "en", "zh": "zh-Hans", "zh-CN": "zh-Hans", "zh-Hant-TW": "zh-Hans"} {
		if w := catalogueOf(tag); w.Tag != want {
			t.Errorf("%q gives %s", tag, w.Tag)
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
		{"%s asks %s", []string{"%s %[2]s", "x"}, "%s %[2]s asks x"},
		{"%[2]s of %[1]s", []string{"%s", "b"}, "b of %s"},
		{"nothing", nil, "nothing"},
	} {
		if got := fill(c.pattern, c.values...); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}

func TestSpans(t *testing.T) {
	t.Parallel()
	w := catalogueOf("en")
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
		if got := direction(text); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}

// Time that is left is never a whole unit too short.
func TestTimeLeftIsRounded(t *testing.T) {
	t.Parallel()
	for d, want := range map[time.Duration]string{
		time.Hour + 59*time.Minute: "in 2 h", 89 * time.Minute: "in 1 h", 59*time.Minute + 40*time.Second: "in 1 h", 59*time.Second + 600*time.Millisecond: "in 1 min",
		29*time.Minute + 59*time.Second: "in 30 min", 47*time.Hour + 40*time.Minute: "in 2 days", 3*24*time.Hour - time.Minute: "in 3 days", 1500 * time.Millisecond: "in 2 s", 0: "now",
	} {
		if got := catalogueOf("en").until(d); got != want {
			t.Errorf("of %s are left %q, want %q", d, got, want)
		}
	}
}
