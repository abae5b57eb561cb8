package card

import (
	"testing"
	"time"

	"github.com/askbus/askbus/internal/process/lang"
)

func TestSpans(t *testing.T) {
	t.Parallel()
	w := lang.Of(lang.English)
	for d, want := range map[time.Duration]string{
		-time.Second: "0 s", 59 * time.Second: "59 s", time.Minute: "1 min", 59*time.Minute + 59*time.Second: "59 min",
		time.Hour: "1 h", 47 * time.Hour: "47 h", 48 * time.Hour: "2 days", 30 * 24 * time.Hour: "30 days",
	} {
		if got := span(w, d); got != want {
			t.Errorf("%s: %q, want %q", d, got, want)
		}
	}
	if ago(w, 9*time.Second) != "just now" || ago(w, time.Minute) != "1 min ago" || until(w, 0) != "now" || until(w, time.Hour) != "in 1 h" {
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
		if got := until(lang.Of(lang.English), d); got != want {
			t.Errorf("of %s are left %q, want %q", d, got, want)
		}
	}
}
